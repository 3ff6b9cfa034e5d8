"""The table of locks: what each row says, in which order, and what is said of locks that cannot be built."""

import pytest

from pins import lock, table
from pins.lock import from_document
from tests.pins.fakes_archive import BASE, deb, document

WHEEL = {
    "name": "torch",
    "version": "2.9.0+rocm6.3",
    "file": "torch-2.9.0+rocm6.3-cp313-cp313-linux_x86_64.whl",
    "index": "pytorch",
    "sha256": "1" * 64,
    "size": 7,
}
ROCM = {"version": "2.6.0", "build": "rocm"}


def of(**more):
    return from_document(document([] if more.get("base") else [deb("aa", b"xxx")], **more))


def amd(name, rocm, **more):
    return of(name=name, rocm=rocm, channel="amd", base=BASE, torch=ROCM, gfx=["gfx90a", "gfx942"], **more)


STATUS = {
    "packages from a signed index": (of(), "resolved"),
    "a wheel from the index itself": (of(wheels=[WHEEL]), "resolved"),
    "a wheel from public documents": (of(wheels=[WHEEL | {"status": "recorded", "sources": ["x"]}]), "recorded"),
    "a base": (amd("a", "6.4"), "recorded"),
    "a better base": (of(channel="amd", base=BASE | {"status": "corroborated"}), "corroborated"),
    "the worst of all counts": (
        of(
            channel="wheel",
            base=BASE | {"status": "verified"},
            wheels=[WHEEL | {"status": "corroborated", "sources": ["x"]}],
        ),
        "corroborated",
    ),
    "a wheel without a hash": (of(wheels=[WHEEL | {"sha256": None}]), "unresolved"),
    "a package without a hash": (from_document(document([deb("aa", b"x", sha256=None)])), "unresolved"),
}


@pytest.mark.parametrize(("found", "status"), STATUS.values(), ids=STATUS)
def test_the_status_of_a_lock(found, status):
    assert table.status(found) == status


def test_a_row_for_programs():
    row = table.rows([amd("some", "6.4.1", python="3.12", notes="Never pulled.")], used="some")[0]

    assert row == {
        "name": "some",
        "rocm": "6.4.1",
        "channel": "amd",
        "pytorch": "2.6.0",
        "build": "rocm",
        "python": "3.12",
        "gfx": ["gfx90a", "gfx942"],
        "status": "recorded",
        "size": None,
        "support": "amd_supported",
        "unknown": [],
        "note": "Never pulled.",
        "used_here": True,
    }


def test_a_size_is_told_only_where_all_of_it_is_known():
    known, unknown = of(wheels=[WHEEL]), of(wheels=[WHEEL | {"size": None}])

    assert [row["size"] for row in table.rows([known])] == [10]
    assert [row["size"] for row in table.rows([unknown, amd("based", "6.4")])] == [None, None]


def test_rows_go_by_channel_and_from_new_to_old_numbers_as_numbers():
    locks = [
        of(name="debian"),
        amd("five-nine", "5.9"),
        amd("ten", "10.0"),
        amd("five-ten", "5.10"),
        of(name="cuda", rocm="none", channel="cuda"),
        of(name="wheel", channel="wheel"),
        of(name="models", wheels=[WHEEL]),
    ]

    names = [row["name"] for row in table.rows(locks)]

    assert names == ["ten", "five-ten", "five-nine", "wheel", "cuda", "debian", "models"]
    assert table.rows(locks)[4]["rocm"] is None


def test_people_get_aligned_columns_and_are_told_what_build_refuses():
    lines = table.text(
        table.rows([amd("some", "6.4.1"), of(name="other", channel="wheel", wheels=[WHEEL | {"sha256": None}])], "some")
    ).splitlines()

    assert lines[0].split() == ["name", "ROCm", "PyTorch", "Python", "status", "support", "size", "gfx"]
    assert lines[1].startswith("*  some ")
    assert "gfx90a 942" in lines[1]
    assert lines[2].startswith("   other")
    assert lines[1].index("2.6.0 rocm") == lines[2].index("2.6.0 cpu") == lines[0].index("PyTorch")
    assert lines[-1] == "other is refused by build: no sha256 for torch"


def test_the_locks_that_ship():
    found = {row["name"]: row for row in table.rows(lock.load_all())}

    lines = {".".join(row["rocm"].split(".")[:2]) for row in found.values() if row["channel"] == "amd"}
    assert lines >= {"5.7", "6.1", "6.2", "6.3", "6.4", "7.0", "7.1", "7.2", "7.14", "10.0"}
    assert {row["channel"] for row in found.values()} >= {"amd", "wheel", "cuda", "debian"}
    assert {row["status"] for row in found.values()} <= {"resolved", "recorded", "corroborated", "unresolved"}
    assert all(row["status"] != "unresolved" or row["note"].startswith("Unresolved:") for row in found.values())
    assert all(row["gfx"] for row in found.values() if row["build"] == "rocm")
    assert all(row["note"] for row in found.values())
