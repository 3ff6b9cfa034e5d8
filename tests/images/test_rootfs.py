import re
import tarfile
import tracemalloc

import pytest

from images import deb
from images.rootfs import write_first_layer
from schema.errors import KitError
from tests.images.fakes_archives import EPOCH, Item, folder, link, sha256, symlink, tar
from tests.images.fakes_archives import deb as make_deb

BASE = [
    folder("./"),
    folder("./usr"),
    folder("./usr/bin"),
    folder("./usr/lib"),
    symlink("./bin", "usr/bin"),
    symlink("./lib", "usr/lib"),
    Item("./usr/lib/os-release", b"NAME=x\n", mtime=EPOCH + 9),
]


@pytest.fixture
def layer(tmp_path):
    """Lay out packages, {name: items or bytes}, and return the tar's members."""

    def do(packages):
        paths = []
        for name, content in packages.items():
            data = content if isinstance(content, bytes) else make_deb(content)
            path = tmp_path / sha256(data)  # as the store calls it
            path.write_bytes(data)
            paths.append((name, path))
        counted = []
        blob = write_first_layer(paths, tmp_path / "first.tar", epoch=EPOCH, advance=lambda: counted.append(1))
        assert len(counted) == len(packages)
        assert blob.size == (tmp_path / "first.tar").stat().st_size
        assert [path.name for path in tmp_path.glob(".tmp-*")] == []
        with tarfile.open(tmp_path / "first.tar") as file:
            return {info.name: info for info in file}

    return do


def test_files_land_behind_the_links_of_a_merged_usr_and_directories_come_once(layer):
    found = layer(
        {
            "aaa": [folder("./"), folder("./bin"), Item("./bin/tool", b"t", mode=0o755), folder("./lib")],
            "base-files": BASE,
            "libc": [folder("./lib/x86", mode=0o755), Item("./lib/x86/ld.so", b"l"), symlink("./lib/ld", "x86/ld.so")],
        }
    )

    assert list(found) == sorted(found)
    assert set(found) == {
        *("bin", "lib", "usr", "usr/bin", "usr/bin/tool", "usr/lib", "usr/lib/os-release"),
        *("usr/lib/ld", "usr/lib/x86", "usr/lib/x86/ld.so"),
    }
    assert found["bin"].issym()
    assert found["usr/lib/os-release"].mtime == EPOCH


def test_hard_links_inside_a_package_stay_hard_links(layer):
    found = layer({"base-files": [*BASE, Item("./bin/perl", b"p"), link("./bin/perl5", "./bin/perl")]})

    assert (found["usr/bin/perl5"].islnk(), found["usr/bin/perl5"].linkname) == (True, "usr/bin/perl")


@pytest.mark.parametrize("compression", ["xz", "gz", ""])
def test_the_compressions_of_debian_are_read(layer, compression):
    assert "x" in layer({"base-files": make_deb([Item("./x", b"1")], compression)})


def test_the_same_packages_give_the_same_bytes(layer, tmp_path):
    packages = {"base-files": BASE, "other": [Item("./usr/b", b""), Item("./usr/a", b"")]}
    layer(packages)
    first = (tmp_path / "first.tar").read_bytes()
    layer(packages)

    assert (tmp_path / "first.tar").read_bytes() == first


GOOD = make_deb(BASE)


def claiming(data, which):
    """Return a .deb, one of whose members claims ten gigabytes."""
    data, start = bytearray(data), 8
    for _ in range(which):
        size = int(data[start + 48 : start + 58])
        start += 60 + size + size % 2
    data[start + 48 : start + 58] = b"9999999999"
    return bytes(data)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([Item("../../etc/passwd", b"x")], "leaves its root"),
        ([Item("/etc/passwd", b"x")], "leaves its root"),
        ([symlink("./up", "../../etc")], "link that leaves the root: up"),
        ([folder("./a"), symlink("./a/b", "../../../x")], "link that leaves the root"),
        ([symlink("./evil", "/usr/../../.."), Item("./evil/x", b"x")], "link that leaves the root"),
        ([link("./shadow", "../../etc/shadow")], "leaves its root"),
        ([link("./x", "./nothing")], "hard link to nothing"),
        ([Item("./dev/sda", kind="device")], "device"),
        ([Item("./pipe", kind="fifo")], "device or pipe"),
        ([symlink("./a", "b"), symlink("./b", "a"), Item("./a/x")], "in a circle"),
        ([Item("./a"), Item("./a/x")], "below a file"),
        ([folder("./a"), Item("./a", b"x")], "would replace a directory"),
        (GOOD[:-70], "cut off"),
        (GOOD[:100], "cut off"),
        (claiming(GOOD, 0), "cut off"),
        (claiming(GOOD, 1), "cut off"),
        (claiming(GOOD, 2), "cut off"),
        (b"", "not a .deb"),
        (b"!<arch>\n" + b"x" * 200, "broken"),
        (make_deb(BASE, "xz")[:-40] + b"\0" * 40, "unpack"),
        (make_deb(BASE, "bz9"), "compressed as .bz9"),
        (make_deb([], data=b"rubbish" * 300), "not a tar"),
    ],
)
def test_hostile_and_broken_packages_are_refused_by_their_own_name(layer, content, message):
    with pytest.raises(KitError, match=message) as caught:
        layer({"base-files": BASE, "hostile": content})
    assert caught.value.message.startswith("the package hostile: ")
    assert not re.search("[0-9a-f]{64}", caught.value.message)
    assert caught.value.hint


@pytest.mark.parametrize("compression", ["xz", "gz", ""])
def test_a_bomb_is_defused(layer, monkeypatch, compression):
    monkeypatch.setattr(deb, "MAX_UNPACKED_BYTES", 1 << 20)

    with pytest.raises(KitError, match=r"the package bomb: it unpacks to more than"):
        layer({"bomb": make_deb([Item("./zeros", bytes(4 << 20))], compression)})


def test_nothing_is_taken_for_a_size_that_a_header_claims(layer):
    tracemalloc.start()
    try:
        with pytest.raises(KitError, match="cut off"):
            layer({"base-files": claiming(GOOD, 2)})
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()


def test_zstd_is_read_or_its_lack_is_said_plainly(layer):
    try:
        from compression import zstd
    except ImportError:
        with pytest.raises(KitError, match=r"zstd, which Python reads from 3\.14 on"):
            layer({"x": make_deb([], "zst")})
    else:
        data = make_deb([], "zst", data=zstd.compress(tar([Item("./x", b"1")])))
        assert "x" in layer({"base-files": data})
