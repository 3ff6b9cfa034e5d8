"""The archive has one form; anything else is refused before it can do harm."""

import io
import tarfile

import pytest

from bundle import archive, layout, reading
from schema.errors import KitError
from tests.bundle import fakes_bundle as fakes

FILES = {
    "bundle.json": b"{}\n",
    "a/b.txt": b"hello",
    "lock.json": bytes(1000),
    "z/" + "long-" * 16 + "name/" + "more-" * 8 + "name.txt": b"x",
}


def written(files):
    out = io.BytesIO()
    archive.write(files, out)
    return out.getvalue()


def read(data, tmp_path):
    (tmp_path / "bundle.tar").write_bytes(data)
    return reading.read(tmp_path / "bundle.tar")


def entry(name, content=b"", **about):
    """Return one entry as a general tool would write it."""
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.mtime = len(content), 0o644, 0
    for key, value in about.items():
        setattr(info, key, value)
    return info.tobuf(about.get("format", tarfile.USTAR_FORMAT)) + content + bytes(-len(content) % 512)


def test_what_was_written_is_read(tmp_path):
    assert read(written(FILES), tmp_path) == FILES


def test_general_tools_can_read_it_and_find_one_folder():
    with tarfile.open(fileobj=io.BytesIO(written(FILES))) as tar:
        assert {member.name: tar.extractfile(member).read() for member in tar} == {
            f"bundle/{path}": data for path, data in FILES.items()
        }


def test_equal_files_give_equal_bytes_in_whatever_order_they_come():
    assert written(FILES) == written(dict(reversed(FILES.items())))


GOOD = entry("bundle/bundle.json", b"{}\n")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        pytest.param(GOOD + entry("bundle/../../etc/x", b"x"), "does not belong", id="a path that climbs out"),
        pytest.param(entry("/etc/x", b"x"), "does not belong", id="an absolute path"),
        pytest.param(entry("bundle//x", b"x"), "does not belong", id="an empty part"),
        pytest.param(entry("bundle/./x", b"x"), "does not belong", id="a dot"),
        pytest.param(entry("bundle/.git/x", b"x"), "does not belong", id="a hidden folder"),
        pytest.param(entry("bundle/a\\b", b"x"), "does not belong", id="a backslash"),
        pytest.param(entry("bundle/a\nb", b"x"), "does not belong", id="a newline"),
        pytest.param(entry("other/x", b"x"), "does not belong", id="another folder"),
        pytest.param(entry("bundle/a/b/c/d/e/f/g", b"x"), "does not belong", id="too deep"),
        pytest.param(entry("bundle/x", type=tarfile.SYMTYPE, linkname="/etc/passwd"), "a link", id="a link"),
        pytest.param(entry("bundle/x", type=tarfile.LNKTYPE, linkname="bundle/y"), "a hard link", id="a hard link"),
        pytest.param(entry("bundle/x", type=tarfile.CHRTYPE), "a device", id="a character device"),
        pytest.param(entry("bundle/x", type=tarfile.BLKTYPE), "a device", id="a block device"),
        pytest.param(entry("bundle/x", type=tarfile.FIFOTYPE), "a fifo", id="a fifo"),
        pytest.param(entry("bundle/x", type=tarfile.DIRTYPE), "a folder", id="a folder"),
        pytest.param(entry("bundle/x", type=b"S"), "form", id="a sparse file"),
        pytest.param(entry("bundle/x", type=b"7"), "form", id="a contiguous file"),
        pytest.param(entry("bundle/x", type=b"x"), "form", id="an extended header"),
        pytest.param(entry("bundle/x", type=b"L"), "form", id="a long name of GNU"),
        pytest.param(entry("bundle/x", mtime=1), "form", id="a time"),
        pytest.param(entry("bundle/x", mode=0o755), "form", id="a mode"),
        pytest.param(entry("bundle/x", mode=0o4644), "form", id="a set-user-id bit"),
        pytest.param(entry("bundle/x", uid=1000), "form", id="an owner"),
        pytest.param(entry("bundle/x", uname="alice"), "form", id="an owner's name"),
        pytest.param(GOOD + GOOD, "twice or out of order", id="a name twice"),
        pytest.param(entry("bundle/b") + entry("bundle/a"), "twice or out of order", id="out of order"),
        pytest.param(entry("bundle/A") + entry("bundle/a"), "upper and lower case", id="names that differ by case"),
        pytest.param(entry("bundle/bundle.json", b"{}\n")[:-1] + b"x", "after the end", id="bytes in the padding"),
        pytest.param(GOOD[:600], "middle", id="cut off in a file"),
        pytest.param(GOOD[:100], "neither a folder nor a .tar", id="cut off in the first header"),
        pytest.param(GOOD[:1124], "cut off", id="cut off in a header"),
        pytest.param(GOOD, "cut off", id="no end"),
        pytest.param(GOOD + bytes(512), "end", id="half an end"),
        pytest.param(GOOD + bytes(2048), "end", id="too long an end"),
        pytest.param(b"", "neither a folder nor a .tar", id="empty"),
        pytest.param(b"\x1f\x8b\x08" + bytes(100), "compressed", id="compressed"),
        pytest.param(b"x" * 512, "neither a folder nor a .tar", id="no archive"),
        pytest.param(b"PK\3\4" + bytes(600), "compressed", id="a zip"),
        pytest.param(GOOD[:124] + b"77777777777\0" + GOOD[136:], "form", id="a size that lies"),
    ],
)  # fmt: skip
def test_any_other_form_is_refused(tmp_path, data, words):
    whole = data if words in {"cut off", "middle", "end", "compressed"} else data + archive.END

    with pytest.raises(KitError, match=words):
        read(whole, tmp_path)


def test_a_file_larger_than_may_be_is_refused_before_it_is_read(tmp_path):
    header = archive.header("x", layout.MAX_FILE_BYTES + 1)

    with pytest.raises(KitError, match="larger than"):
        read(header + archive.END, tmp_path)


def test_more_files_than_may_be_are_refused(tmp_path):
    data = b"".join(entry(f"bundle/f{number:04}") for number in range(layout.MAX_FILES + 1))

    with pytest.raises(KitError, match="more than"):
        read(data + archive.END, tmp_path)


def test_no_changed_byte_of_an_archive_is_read_as_before(tmp_path):
    """Header, content, padding or end: whatever changes is refused or changes what is read."""
    data = written({"bundle.json": b"{}\n", "x": b"hello"})
    for place in range(len(data)):
        changed = bytearray(data)
        changed[place] ^= 0x55
        try:
            assert read(bytes(changed), tmp_path) != {"bundle.json": b"{}\n", "x": b"hello"}
        except KitError:
            continue


def test_the_archive_of_a_bundle_is_small_and_read_without_writing_anything(tmp_path):
    files = fakes.bundle()
    assert read(written(files), tmp_path) == files

    assert [path.name for path in tmp_path.iterdir()] == ["bundle.tar"]
