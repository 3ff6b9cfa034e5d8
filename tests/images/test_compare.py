import pytest

from images.compare import compare
from tests.images.fakes_archives import Item, folder, image, symlink, tar

ITEMS = [folder("d"), Item("d/f", b"same", mtime=1), symlink("d/l", "f")]


@pytest.fixture
def differences(tmp_path):
    def do(first, second, **config):
        (tmp_path / "1.tar").write_bytes(image([tar(first)]))
        (tmp_path / "2.tar").write_bytes(image([tar(second)], config=config))
        return compare(tmp_path / "1.tar", tmp_path / "2.tar")

    return do


def test_equal_images_do_not_differ(differences):
    assert differences(ITEMS, ITEMS[::-1]) == []


@pytest.mark.parametrize(
    ("item", "kind"),
    [
        (Item("d/f", b"diff", mtime=1), "content"),
        (Item("d/f", b"longer", mtime=1), "content"),
        (Item("d/f", b"same", mtime=2), "mtime"),
        (Item("d/f", b"same", mtime=1, mode=0o600), "mode"),
        (Item("d/f", b"same", mtime=1, gid=5), "owner"),
        (Item("d/f", b"same", mtime=1, pax={"SCHILY.xattr.user.x": "y"}), "xattr"),
        (Item("d/f", kind="fifo", mtime=1), "type"),
        (symlink("d/l", "elsewhere"), "link"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_kind_of_a_difference_is_named(differences, item, kind):
    [found] = differences(ITEMS, [*(one for one in ITEMS if one.name != item.name), item])

    assert (found["path"], found["kind"]) == ("/" + item.name, kind)


def test_each_path_is_counted(tmp_path):
    (tmp_path / "x.tar").write_bytes(image([tar(ITEMS)]))
    seen = []

    compare(tmp_path / "x.tar", tmp_path / "x.tar", advance=lambda: seen.append(1))

    assert len(seen) == len(ITEMS)


def test_files_on_one_side_only_are_missing_or_added(differences):
    assert [one["kind"] for one in differences(ITEMS, ITEMS[:-1])] == ["missing"]
    assert [one["kind"] for one in differences(ITEMS[:-1], ITEMS)] == ["added"]


def test_another_configuration_is_a_difference(differences):
    assert differences(ITEMS, ITEMS, Env=["X=1"]) == [{"path": "(configuration)", "kind": "config", "class": "other"}]


@pytest.mark.parametrize(
    ("path", "contents", "likely"),
    [
        ("var/log/dpkg.log", (b"1", b"x"), "log"),
        ("var/cache/apt/pkgcache.bin", (b"1", b"x"), "cache"),
        ("root/.cache/x", (b"1", b"x"), "cache"),
        ("usr/lib/python3/__pycache__/x.cpython-313.pyc", (b"1", b"x"), "pyc"),
        ("usr/lib/x.so", (b"\x7fELF1", b"\x7fELF2"), "elf"),
        ("x", (b"Mon Nov 30 19:15:35 UTC 2026\n", b"Tue Dec  1 20:16:36 UTC 2026\n"), "timestamp"),
        ("x", (b"built on a", b"built on b"), "other"),
        ("empty", (b"", b"x"), "other"),
    ],
)
def test_the_likely_cause_is_named(differences, path, contents, likely):
    [found] = differences(*([Item(path, content)] for content in contents))

    assert (found["kind"], found["class"]) == ("content", likely)


def test_a_name_that_no_text_can_hold_is_escaped(differences):
    [found] = differences([], [Item("bad-\udcff\n", b"")])

    assert found["path"] == "/bad-\\xff\\n"
