import io
import tarfile
from pathlib import Path

import pytest

from images.context import Context, dockerfile
from pins.rules import MAX_VARIABLE_BYTES
from schema.errors import KitError


@pytest.fixture
def entries(tmp_path):
    file = tmp_path / "owned by whom?"
    file.write_bytes(b"y" * (3 << 20))
    file.chmod(0o600)
    return [("Dockerfile", b"FROM x\n"), ("full block", bytes(512)), ("debs/y.deb", file), ("empty", b"")]


def test_it_is_a_plain_tar_whoever_owns_the_files(entries):
    with tarfile.open(fileobj=io.BytesIO(Context(entries, 7).read())) as file:
        found = [(info.name, info.mode, info.uid, info.mtime, file.extractfile(info).read()) for info in file]

    assert found == [
        ("Dockerfile", 0o644, 0, 7, b"FROM x\n"),
        ("full block", 0o644, 0, 7, bytes(512)),
        ("debs/y.deb", 0o644, 0, 7, b"y" * (3 << 20)),
        ("empty", 0o644, 0, 7, b""),
    ]


def test_pieces_are_never_empty_since_that_would_end_the_transfer(entries):
    pieces = list(Context(entries, 7))

    assert all(pieces)
    assert b"".join(pieces) == Context(entries, 7).read()


def test_reading_in_small_steps_then_in_pieces_gives_all(entries):
    context = Context(entries, 7)
    begin = context.read(700)

    assert begin + b"".join(context) == Context(entries, 7).read()


def test_a_file_that_shrinks_while_it_is_sent_is_an_error(entries, tmp_path):
    context = iter(Context(entries, 7))
    next(context)
    while len(next(context)) < 1 << 20:
        pass
    (tmp_path / "owned by whom?").write_bytes(b"")

    with pytest.raises(KitError, match="became shorter"):
        list(context)


def test_every_stage_knows_the_epoch_and_the_environment():
    text = dockerfile("# c\nFROM scratch AS b\nRUN x\n from b\n", 7, {"B": 'say "$HOME\\"', "A": "1"}, "l=x")

    settings = 'LABEL l=x\nARG SOURCE_DATE_EPOCH=7\nENV A="1"\nENV B="say \\"\\$HOME\\\\\\""\n'
    assert text == f"# c\nFROM scratch AS b\n{settings}RUN x\n from b\n{settings}"


def test_a_dockerfile_without_an_image_is_refused():
    with pytest.raises(KitError, match="no FROM"):
        dockerfile("RUN x\n", 7, {}, "l=x")


@pytest.mark.parametrize("char", [*'"$\\x', "\N{SNOWMAN}"])
def test_a_line_is_never_longer_than_a_dockerfile_may_have_it(char):
    value = char * ((MAX_VARIABLE_BYTES - len("A=")) // len(char.encode()))

    line = dockerfile("FROM scratch\n", 7, {"A": value}, "l=x").splitlines()[-1]

    assert len(line.encode()) <= 65_535
    assert line.count(char) >= len(value)


DIGEST = "@sha256:" + "a" * 64


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("FROM rocm/pytorch:latest\n", "takes rocm/pytorch:latest by a name that moves"),
        ("FROM rocm/pytorch\n", "takes rocm/pytorch by"),
        ("from --platform=linux/amd64 rocm/pytorch:6.4 as b\n", "takes rocm/pytorch:6.4 by"),
        (f"FROM x{DIGEST}\nFROM y\n", "takes y by"),
        (f"FROM x{DIGEST[:-1]}\n", "by a name that moves"),
        ("FROM ${BASE}\n", r"takes \$\{BASE\} by"),
        ("FROM later\nFROM scratch AS later\n", "takes later by"),
        ("FROM scratch\nCOPY --from=busybox:1 /bin/sh /\n", "takes busybox:1 by"),
        ("FROM scratch\nCOPY --chown=1 --from=1 /a /\n", "takes 1 by"),
        ("FROM scratch\nADD https://example.invalid/ort.git /x\n", "fetches https://example.invalid/ort.git"),
        ("FROM scratch\nadd --chown=1 http://example.invalid/x /x\n", "fetches http://example.invalid/x"),
        ("FROM scratch\nADD git@example.invalid:x.git /x\n", "fetches git@example.invalid:x.git"),
    ],
)
def test_a_recipe_that_takes_what_may_be_something_else_tomorrow_is_refused(text, says):
    with pytest.raises(KitError, match=says):
        dockerfile(text, 7, {}, "l=x")


@pytest.mark.parametrize(
    "text",
    [
        f"FROM --platform=linux/amd64 127.0.0.1:5000/x{DIGEST} AS Base\nFROM base\nCOPY --from=base /a /\n",
        "FROM scratch\nFROM scratch\nCOPY --from=0 /a /\nCOPY --from=1 /a /\nADD first.tar /\n",
        "FROM scratch\nRUN echo FROM x; echo ADD http://x\n# FROM y\n",
        (Path(__file__).parents[2] / "images/Dockerfile").read_text(encoding="utf-8"),
    ],
    ids=["by digest", "by number", "words elsewhere", "our own"],
)
def test_a_recipe_that_always_takes_the_same_is_not(text):
    assert dockerfile(text, 7, {}, "l=x")
