"""What runs inside images: on every Python that is here, in folders instead of root file systems."""

import json
import os
import re
import socket
import stat
import subprocess
import tarfile
from pathlib import Path

import pytest

from images.inside import install, listing, look
from tests.pythons import found

FOUND = found((3, 8), (3, 13))
ROOT = Path(__file__).parents[2]
MOUNTINFO = r"""22 1 0:21 / / rw - overlay overlay rw
23 22 0:22 / /proc rw - proc proc rw
24 22 0:23 / /with\040blank\134 rw - tmpfs tmpfs rw
25 22 8:1 /x /etc/hosts rw - ext4 /dev/sda rw
"""


def taken(root, *skip):
    return listing.take(os.fsencode(root), {os.fsencode(root / name) for name in skip})


def layer(root, before, *skip):
    """Return {name: TarInfo} of what changed since."""
    path = root.parent / "layer.tar"
    listing.write(str(path), os.fsencode(root), before, taken(root, *skip))
    with tarfile.open(path, errors="surrogateescape") as tar:
        return {info.name: info for info in tar}


@pytest.fixture
def root(tmp_path):
    made = tmp_path / "root"
    for name in ("a/b", "gone/deep", "turned", "kit"):
        (made / name).mkdir(parents=True)
    for name in ("a/file", "a/b/other", "gone/deep/x", "turned/in", "was-file", "kit/mine"):
        (made / name).write_text(name)
    return made


def test_mounted_file_systems_are_no_part_of_it():
    assert listing.mounts(MOUNTINFO) == {b"/proc", b"/with blank\\", b"/etc/hosts"}


MOUNTED = {  # sentence: where, whether a folder, whether it is the engine's own
    "a volume": ("opt", True, False),
    "one below an own place": ("var/run/other", True, False),
    "what a runtime lends": ("usr/lib/libcuda.so.1", False, True),
}


@pytest.mark.parametrize(("path", "is_folder", "own"), MOUNTED.values(), ids=MOUNTED)
def test_a_folder_that_is_mounted_where_things_are_installed_is_refused(tmp_path, path, is_folder, own):
    place = tmp_path / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.mkdir() if is_folder else place.touch()

    if own:
        listing.refuse_foreign({os.fsencode(place)})
    else:
        with pytest.raises(SystemExit, match=re.escape(str(place))):
            listing.refuse_foreign({os.fsencode(place), b"/proc"})


def test_what_engines_mount_themselves_is_no_matter():
    listing.refuse_foreign({b"/proc", b"/dev", b"/dev/shm", b"/sys/fs/cgroup", b"/etc/hosts", b"/run/secrets"})


def test_nothing_changed_is_an_empty_layer(root):
    assert layer(root, taken(root)) == {}


def test_what_changed_is_in_the_layer_and_nothing_else(root):
    before = taken(root, "kit")
    (root / "a/file").write_text("new!!!")
    (root / "a/new").mkdir(mode=0o700)
    (root / "kit/more").write_text("of the build's own")
    (root / "a/fifo").touch()
    (root / "a/fifo").unlink()
    os.mkfifo(root / "a/fifo")
    (root / "a/link").symlink_to("nowhere")

    found = layer(root, before, "kit")

    assert sorted(found) == ["a/fifo", "a/file", "a/link", "a/new"]
    assert (found["a/new"].mode, found["a/new"].isdir(), found["a/link"].linkname) == (0o700, True, "nowhere")


def test_what_is_gone_is_hidden_at_its_top(root):
    before = taken(root)
    for name in ("gone/deep/x", "turned/in", "a/b/other"):
        (root / name).unlink()
    for name in ("gone/deep", "gone", "turned"):
        (root / name).rmdir()
    (root / "turned").write_text("a file now")
    (root / "was-file").unlink()
    (root / "was-file").mkdir()

    found = layer(root, before)

    assert sorted(found) == [".wh.gone", "a/b/.wh.other", "turned", "was-file"]
    assert (found["turned"].isreg(), found["was-file"].isdir()) == (True, True)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda path: path.chmod(0o600), id="mode"),
        pytest.param(lambda path: os.utime(path, (1, 1)), id="time"),
        pytest.param(lambda path: path.write_text("A/FILE"), id="bytes"),
        pytest.param(lambda path: (path.unlink(), path.symlink_to("x")), id="kind"),
    ],
)  # fmt: skip
def test_whatever_is_changed_of_a_file_is_seen(root, change):
    before = taken(root)
    change(root / "a/file")

    assert list(layer(root, before)) == ["a/file"]


def test_a_file_rewritten_with_its_old_size_and_time_is_seen(root):
    before, path = taken(root), root / "a/file"
    times = path.stat()
    path.write_text("A/FILE")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    assert list(layer(root, before)) == ["a/file"]


def test_times_of_directories_are_nothing_and_their_modes_are(root):
    before = taken(root)
    os.utime(root / "a", (1, 1))
    (root / "turned").chmod(0o700)

    assert {name: info.mode for name, info in layer(root, before).items()} == {"turned": 0o700}


def test_hard_links_share_their_bytes_and_one_with_an_old_file_brings_it_along(root):
    before = taken(root)
    os.link(root / "a/file", root / "z-across")
    (root / "one").write_text("1")
    os.link(root / "one", root / "two")

    found = layer(root, before)

    assert sorted(found) == ["a/file", "one", "two", "z-across"]
    assert (found["two"].linkname, found["z-across"].linkname, found["a/file"].size) == ("one", "a/file", 6)


def test_names_and_capabilities_come_out_as_they_are_and_sockets_not_at_all(root):
    before = taken(root)
    odd = os.fsencode(root) + b"/caf\xc3\xa9 not-utf8-\xff"
    os.mknod(odd, stat.S_IFREG | 0o644)
    (root / ("long" * 50)).write_text("")
    (root / "tool").write_text("x")
    try:
        os.setxattr(root / "tool", "security.capability", bytes.fromhex("0100000200200000000000000000000000000000"))
    except OSError:
        pytest.skip("this user or file system sets no capabilities")
    listening = socket.socket(socket.AF_UNIX)
    here = Path.cwd()
    os.chdir(root)  # a socket's path has 108 bytes at most
    listening.bind("socket")
    os.chdir(here)

    found = layer(root, before)
    listening.close()

    assert sorted(found, key=os.fsencode) == ["caf\u00e9 not-utf8-\udcff", "long" * 50, "tool"]
    value = found["tool"].pax_headers["SCHILY.xattr.security.capability"]
    assert value.encode("utf-8", "surrogateescape").hex() == "0100000200200000000000000000000000000000"


@pytest.mark.parametrize("python", FOUND.values(), ids=FOUND.keys())
def test_it_looks_on_every_python(python, tmp_path):
    for name in ("images/inside",):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "images/__init__.py").write_text("")

    for words in (["look"], ["look", "closer"]):
        argv = [python, "-B", "-S", "-W", "error", "-m", "images.inside", *words]
        subprocess.run(argv, cwd=tmp_path, check=True, capture_output=True, timeout=60)
        seen = json.loads((tmp_path / "out/found.json").read_text())
        assert seen["python"].startswith("3.")
        assert (seen["torch"], seen["distributions"]) == (None, [])


ROCM = {
    "opt/rocm/.info/version": "6.4.1-83\n",
    "opt/rocm/.info/version-dev": "6.4.1-83",
    "opt/rocm/include/rocm-core/rocm_version.h": '#define ROCM_BUILD_INFO "6.2.1.0-96-a1b2c3d"\n',
}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (ROCM, [
            ["/opt/rocm/.info/version", "6.4.1-83"],
            ["/opt/rocm/.info/version-dev", "6.4.1-83"],
            ["rocm_version.h", "6.2.1.0-96-a1b2c3d"],
        ]),
        ({"opt/rocm/include/rocm-core/rocm_version.h": "#define X 1"}, []),
        ({"opt/rocm/.info/version": "\n"}, []),
        ({}, []),
    ],
    ids=["three sources, the best first", "a header without it", "an empty file", "no ROCm"],
)  # fmt: skip
def test_the_version_of_rocm_is_read_where_it_may_stand(tmp_path, files, expected):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    assert look.rocm(tmp_path) == expected


def test_a_rocm_that_only_its_folder_tells_is_told(tmp_path):
    (tmp_path / "opt/rocm-6.2.1").mkdir(parents=True)
    (tmp_path / "opt/rocm").symlink_to("rocm-6.2.1")

    assert look.rocm(tmp_path) == [["the folder of /opt/rocm", "6.2.1"]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "from typing import Optional as O\n__version__ = '2.6.0+x'\ncuda: O[str] = None\nhip: O[str] = '6.4.4'\n",
            {"version": "2.6.0+x", "hip": "6.4.4", "cuda": None},
        ),
        ("__version__ = '1.13'\n", {"version": "1.13", "hip": None, "cuda": None}),
        ("raise RuntimeError('odd')", {"version": None, "hip": None, "cuda": None, "error": "odd"}),
    ],
    ids=["as today", "an old one", "a broken one"],
)  # fmt: skip
def test_torch_tells_its_version_without_being_imported(tmp_path, monkeypatch, text, expected):
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch/__init__.py").write_text("raise AssertionError('imported')")
    (tmp_path / "torch/version.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))

    assert look.torch() == expected


@pytest.mark.parametrize(
    ("folders", "expected"),
    [(["backends/nvidia", "backends/amd"], True), (["backends/nvidia"], False), (["third_party"], None)],
    ids=["both back ends", "one for NVIDIA alone", "an old one"],
)
def test_triton_is_known_by_its_content(tmp_path, monkeypatch, folders, expected):
    (tmp_path / "triton").mkdir()
    (tmp_path / "triton/__init__.py").write_text("")
    for name in folders:
        (tmp_path / "triton" / name).mkdir(parents=True)
    monkeypatch.syspath_prepend(str(tmp_path))

    assert look._triton_amd() is expected


def test_settings_of_pips_and_pythons_own_are_left_outside(monkeypatch, tmp_path):
    monkeypatch.setenv("PIP_INDEX_URL", "x")
    monkeypatch.setenv("PYTHONPATH", "x")
    monkeypatch.setenv("CONDA_PREFIX", "kept")

    made = install.environment(7, tmp_path)

    assert not {"PIP_INDEX_URL", "PYTHONPATH"} & set(made)
    assert (made["CONDA_PREFIX"], made["SOURCE_DATE_EPOCH"], made["PIP_CONFIG_FILE"]) == ("kept", "7", "/dev/null")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x-1.dist-info/direct_url.json", "{}"),
        ("x-1.dist-info/RECORD", "file:///tmp/x.whl,,\n"),
        ("x-1.dist-info/RECORD", "/build/wheels/x,,\n"),
        ("bin/tool", "#!/build/venv/bin/python\n"),
    ],
)
def test_paths_of_a_build_do_not_stay(tmp_path, name, text):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    (tmp_path / "bin").mkdir(exist_ok=True)
    path.write_text(text)

    with pytest.raises(SystemExit, match="would stay in the image"):
        install._refuse_leftovers(tmp_path, tmp_path / "bin", b"/build")
    path.write_text("fine")
    if not name.endswith("json"):
        install._refuse_leftovers(tmp_path, tmp_path / "bin", b"/build")
