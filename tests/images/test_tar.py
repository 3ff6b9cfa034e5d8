import io
import os
import tarfile

import pytest

from images.tar import DIRECTORY, FILE, SYMLINK, Member, Tar, scan, show
from images.tarwriter import END, header
from schema.errors import KitError
from tests.images.fakes_archives import Item, folder, link, symlink, tar


def members(data, tmp_path):
    path = tmp_path / "some.tar"
    path.write_bytes(data)
    fd = os.open(path, os.O_RDONLY)
    try:
        return list(scan(Tar(fd, 0, len(data))))
    finally:
        os.close(fd)


LONG = "a" * 90 + "/" + "b" * 200


@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT], ids=["PAX", "GNU"])
def test_every_kind_of_member_is_read_in_both_formats(form, tmp_path):
    data = tar(
        [
            folder("./"),
            folder("./d/", mode=0o1777),
            Item("./d/file", b"content", mode=0o4755, uid=7, gid=3_000_000),
            Item(LONG, b"x"),
            symlink("d/\N{SNOWMAN}", "../" + LONG),
            link("d/same", "./d/file"),
        ],
        form,
    )

    found = members(data, tmp_path)

    assert [(m.name, m.kind) for m in found] == [
        (b"", DIRECTORY),
        (b"d", DIRECTORY),
        (b"d/file", FILE),
        (LONG.encode(), FILE),
        ("d/\N{SNOWMAN}".encode(), SYMLINK),
        (b"d/same", b"1"),
    ]
    assert (found[2].mode, found[2].uid, found[2].gid, found[2].size) == (0o4755, 7, 3_000_000, 7)
    assert data[found[2].offset :][:7] == b"content"
    assert found[4].link == b"../" + LONG.encode()
    assert found[5].link == b"d/file"


def test_ustar_prefixes_are_joined(tmp_path):
    assert members(tar([Item("p" * 120 + "/name")], tarfile.USTAR_FORMAT), tmp_path)[0].name == b"p" * 120 + b"/name"


@pytest.mark.parametrize(
    ("mtime", "seconds"), [(1.9, 1), (-1.5, -2), (-2, -2), (0, 0)], ids=["fraction", "negative", "whole", "zero"]
)
def test_times_are_rounded_down_to_seconds(mtime, seconds, tmp_path):
    assert members(tar([Item("x", mtime=mtime)]), tmp_path)[0].mtime == seconds


def test_negative_base_256_times_of_gnu_tar_are_read(tmp_path):
    assert members(tar([Item("x", mtime=-5)], tarfile.GNU_FORMAT), tmp_path)[0].mtime == -5


@pytest.mark.parametrize(
    "member",
    [
        Member(b"short", mode=0o755, uid=1, gid=2, mtime=3),
        Member(b"l" * 101 + b"/" + b"m" * 200),
        Member("d/\N{SNOWMAN}".encode()),
        Member(b"not \xff utf-8"),
        Member(b"exactly" + b"y" * 93),
        Member(b"d", DIRECTORY, mode=0o755),
        Member(b"s", SYMLINK, link=b"t" * 150),
        Member(b"old", mtime=-86400),
        Member(b"far", uid=1 << 24, gid=1 << 30, mtime=1 << 34),
        Member(b"cap", xattrs=((b"SCHILY.xattr.security.capability", b"\x01\0\0\x02\n=\0 "),)),
        Member(b"dev", b"3", major=1, minor=259),
    ],
    ids=lambda member: show(member.name)[:12],
)
def test_what_is_written_is_read_back_the_same_by_us_and_by_tarfile(member, tmp_path):
    data = header(member) + END

    [found] = members(data, tmp_path)
    with tarfile.open(fileobj=io.BytesIO(data), errors="surrogateescape") as file:
        info = file.next()

    assert found._replace(offset=0) == member
    assert len(data) % 512 == 0
    assert os.fsencode(info.name) == member.name
    assert (info.mode, info.uid, info.gid, int(info.mtime)) == (member.mode, member.uid, member.gid, member.mtime)
    assert (info.uname, info.gname) == ("", "")


GOOD = tar([Item("some/file", b"x" * 5000)])


def patched(offset, data):
    """Return GOOD with bytes changed and the checksum made right again."""
    block = bytearray(GOOD[:512])
    block[offset : offset + len(data)] = data
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block) + GOOD[512:]


def extended(kind, size):
    """Return an archive whose first header is an extended one of this size, as GNU writes what octal cannot."""
    return patched(124, (size & (1 << 96) - 1 | 1 << 95).to_bytes(12, "big") + GOOD[136:156] + kind)


def pax(text):
    return header(Member(b"x", b"x", size=len(text))) + text.ljust(512, b"\0") + GOOD


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (tar([Item("../up")]), "leaves its root: ../up"),
        (tar([Item("a/../../up")]), "leaves its root"),
        (tar([Item("/etc/passwd")]), "leaves its root: /etc/passwd"),
        (tar([link("x", "../../etc/shadow")]), "leaves its root"),
        (GOOD[:3000], "cut off in some/file"),
        (b"\x01" + GOOD[1:], "broken header at byte 0"),
        (b"no tar at all ".ljust(1024, b"."), "broken"),
        (patched(124, b"99999999999"), "broken number"),
        (patched(124, b"\xff" * 12), "negative"),
        (patched(124, b"77777777777"), "cut off"),
        (patched(156, b"S"), "no engine writes"),
        (pax(b"30 GNU.sparse.major=1\n"), "broken PAX"),
        (pax(b"22 GNU.sparse.major=1\n"), "no engine writes"),
        (pax(b"999999 path=x\n"), "broken PAX"),
        (pax(b"0 path=x\n"), "broken PAX"),
        (pax(b"12 mtime=nan\n"), "broken"),
        (pax(b"13 mtime=nan\n"), "broken time"),
        (pax(b"12 size=-10\n"), "broken number"),
        (tar([Item("/".join(["d" * 200] * 30))]), "a path of 6029 bytes"),
        (header(Member(b"x", b"x", size=2 << 20)) + bytes(2 << 20), "a header of"),
        ((header(Member(b"x", b"x", size=614400)) + b"614400 a=".ljust(614399) + b"\n") * 2 + GOOD, "a header of"),
    ],
)
def test_what_is_broken_or_leaves_the_root_is_refused(data, message, tmp_path):
    with pytest.raises(KitError, match=message):
        members(data, tmp_path)


@pytest.mark.parametrize("kind", [b"x", b"g", b"L", b"K"])
@pytest.mark.parametrize("size", [-1 << 40, -512, -1, 1 << 40])
def test_an_extended_header_is_as_long_as_one_can_be_or_refused(kind, size, tmp_path):
    with pytest.raises(KitError, match=f"the archive has a header of {size} bytes"):
        members(extended(kind, size), tmp_path)


def test_too_many_members_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("images.tar.MAX_MEMBERS", 3)

    with pytest.raises(KitError, match="more than 3 members"):
        members(tar([Item(str(number)) for number in range(4)]), tmp_path)
