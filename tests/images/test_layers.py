import os

import pytest

from images.layers import apply
from images.tar import Tar
from schema.errors import KitError
from tests.images.fakes_archives import Item, folder, link, symlink, tar


@pytest.fixture
def merged(tmp_path):
    """Merge layers, each a list of items; return {path: data}."""
    fds = []

    def merge(*layers):
        tree = {}
        for number, items in enumerate(layers):
            path = tmp_path / str(number)
            path.write_bytes(tar(items))
            fds.append(os.open(path, os.O_RDONLY))
            apply(tree, Tar(fds[-1], 0, path.stat().st_size))
        return {
            path.decode(): os.pread(node.fd, node.member.size, node.member.offset)
            for path, node in sorted(tree.items())
        }

    yield merge
    for fd in fds:
        os.close(fd)


BASE = [folder("d"), Item("d/a", b"1"), Item("d/b", b"2"), folder("d/sub"), Item("d/sub/x", b"3"), Item("top", b"4")]


@pytest.mark.parametrize(
    ("layer", "left"),
    [
        ([Item("d/.wh.a")], ["d", "d/b", "d/sub", "d/sub/x", "top"]),
        ([Item("d/.wh.sub")], ["d", "d/a", "d/b", "top"]),
        ([Item(".wh.d")], ["top"]),
        ([folder("d"), Item("d/.wh..wh..opq")], ["d", "top"]),
        ([folder("d"), Item("d/+new"), Item("d/.wh..wh..opq")], ["d", "d/+new", "top"]),
        ([Item(".wh..wh..opq"), Item("only")], ["only"]),
        ([Item("d", b"now a file")], ["d", "top"]),
        ([symlink("d", "top")], ["d", "top"]),
        ([Item("d/.wh.a"), Item("d/a", b"again")], ["d", "d/a", "d/b", "d/sub", "d/sub/x", "top"]),
        ([Item(".wh..wh.plnk")], ["d", "d/a", "d/b", "d/sub", "d/sub/x", "top"]),
        ([Item("d/.wh.never")], ["d", "d/a", "d/b", "d/sub", "d/sub/x", "top"]),
    ],
    ids=[
        "a whiteout hides a file",
        "a whiteout hides a directory with all in it",
        "a whiteout at the top",
        "an opaque directory stays, empty",
        "what is new beside an opaque marker stays, though it comes before the marker",
        "an opaque root",
        "a directory became a file",
        "a directory became a symlink",
        "gone and there again in one layer",
        "bookkeeping of old drivers",
        "a whiteout of nothing",
    ],
)
def test_a_layer_hides_what_it_says(merged, layer, left):
    assert list(merged(BASE, layer)) == left


def test_a_file_that_became_a_directory(merged):
    found = merged(BASE, [folder("top"), Item("top/in", b"5")])

    assert found["top/in"] == b"5"


@pytest.mark.parametrize("swap", [False, True], ids=["target first", "link first"])
def test_hard_links_share_data_in_any_order(merged, swap):
    items = [Item("one", b"same"), link("two", "one"), link("three", "two")]

    assert merged(items[::-1] if swap else items) == {"one": b"same", "two": b"same", "three": b"same"}


def test_a_hard_link_keeps_its_data_when_its_target_is_replaced_later(merged):
    found = merged([Item("one", b"old"), link("two", "one")], [Item("one", b"new")])

    assert found == {"one": b"new", "two": b"old"}


def test_a_hard_link_may_reach_into_the_layers_below(merged):
    found = merged([Item("one", b"old")], [link("two", "one"), Item(".wh.one")])

    assert found == {"two": b"old"}


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([link("x", "nothing")], "hard link to nothing"),
        ([folder("d"), link("x", "d")], "hard link to nothing"),
        ([link("x", "y"), link("y", "x")], "in a circle"),
        ([link("x", "x")], "in a circle"),
        ([Item("d/.wh.")], "hides nothing"),
        ([Item("d/.wh...")], "hides nothing"),
    ],
)
def test_layers_that_make_no_sense_are_refused(merged, items, message):
    with pytest.raises(KitError, match=message):
        merged(items)
