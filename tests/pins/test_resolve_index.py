"""What an index offers is held against what a pin says of it, before anything is built."""

from http.client import IncompleteRead
from types import SimpleNamespace

import pytest

from pins.resolve_index import File, confirmed, files
from pins.web import Client
from schema.errors import KitError

NAME = "torch-2.9.0+rocm6.3-cp313-cp313-manylinux_2_28_x86_64.whl"
OWN, META, OTHER = "a" * 64, "b" * 64, "c" * 64
WHEEL = {
    "name": "torch",
    "version": "2.9.0+rocm6.3",
    "file": NAME,
    "index": "pytorch",
    "sha256": OWN,
    "size": None,
    "status": "recorded",
    "sources": ["a lock file"],
}


def link(name=NAME, sha256=OWN, metadata=META):
    fragment = f"#sha256={sha256}" if sha256 else ""
    about = f' data-dist-info-metadata="sha256={metadata}" data-core-metadata="sha256={metadata}"' if metadata else ""
    return f'<a href="/whl/rocm6.3/{name.replace("+", "%2B")}{fragment}"{about}>{name}</a><br/>\n'


@pytest.fixture
def page(archive):
    """A page of the index; what it links can be set."""

    def serve(*links):
        archive.files["torch/"] = ("<!DOCTYPE html><html><body>" + "".join(links) + "</body></html>").encode()
        return archive.url + "torch/"

    return serve


def test_a_page_is_read_with_both_hashes(page):
    others = [link("torch-2.9.0.tar.gz"), "<a>no address</a>", '<a href="../">up</a>', link(sha256=None, metadata=None)]

    assert files(page(link(), *others)) == [File(NAME, OWN, META), File(NAME, None, None)]


def test_a_recorded_hash_that_the_index_tells_too_is_the_indexs_own(page):
    assert confirmed(WHEEL, page(link())) == {
        "name": "torch",
        "version": "2.9.0+rocm6.3",
        "file": NAME,
        "index": "pytorch",
        "sha256": OWN,
        "size": None,
    }


def test_a_hash_that_was_unknown_is_filled_in(page):
    assert confirmed(WHEEL | {"sha256": None}, page(link()))["sha256"] == OWN


@pytest.mark.parametrize("sha256", [OWN, None])
def test_an_index_that_tells_no_hash_changes_nothing(page, sha256):
    wheel = WHEEL | {"sha256": sha256}

    assert confirmed(wheel, page(link(sha256=None))) == wheel


def test_a_page_that_is_cut_off_says_nothing_of_what_it_does_not_name(page, archive):
    address = page(*(link(f"torch-{number}.0-py3-none-any.whl") for number in range(400)), link())
    archive.faults["torch/"] = ["cut"]

    assert files(address) is None
    assert confirmed(WHEEL, address)["sha256"] == OWN, "the whole page has it"


def test_a_page_in_pieces_that_is_cut_off_says_nothing(page, monkeypatch):
    def cut(_client, _url, _start=0):
        response = SimpleNamespace(length=None, read=lambda _: (_ for _ in ()).throw(IncompleteRead(b"<a")))
        return SimpleNamespace(response=response)

    monkeypatch.setattr(Client, "get", cut)

    assert files(page(link())) is None


def test_an_index_that_does_not_answer_changes_nothing():
    assert confirmed(WHEEL, "http://127.0.0.1:9/torch/") == WHEEL


REFUSED = {  # sentence: (what is recorded, what the index links, the message, the hint)
    "the hash of the metadata": (META, [link()], "is that of its metadata", f"record the wheel's: {OWN}"),
    "the hash of the metadata, and no other": (META, [link(sha256=None)], "is that of its metadata", "another index"),
    "another hash": (OTHER, [link()], f"is {OTHER}, and .* tells {OWN}", "another index"),
    "another version": (
        OWN,
        [link("torch-2.9.1+rocm6.3-cp313-cp313-manylinux_2_28_x86_64.whl")],
        r"has no torch-2\.9\.0.*; it has torch-2\.9\.1",
        "another index",
    ),
    "another Python": (OWN, [link(NAME.replace("313", "312"))], "has no .*; it has .*cp312", "another index"),
    "nothing at all": (None, [], "it has no wheel at all", "another index"),
    "many others": (
        OWN,
        [link(f"torch-1.{number}.0-cp313-cp313-linux_x86_64.whl") for number in range(20)],
        r"it has 8 others, and last torch-1\.8\.0-.*torch-1\.19\.0-",
        "another index",
    ),
}


@pytest.mark.parametrize(("sha256", "links", "message", "hint"), REFUSED.values(), ids=REFUSED)
def test_what_the_index_has_otherwise_is_refused_and_named(page, sha256, links, message, hint):
    with pytest.raises(KitError, match=message) as caught:
        confirmed(WHEEL | {"sha256": sha256}, page(*links))

    assert hint in caught.value.hint


def test_a_project_that_the_index_does_not_have_is_refused(archive):
    with pytest.raises(KitError, match=r"the index refuses .*: HTTP 404"):
        confirmed(WHEEL, archive.url + "torch/")
