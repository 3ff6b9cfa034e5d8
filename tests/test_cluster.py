"""What a person is told to type for a node without an engine: for this image alone, in any folder."""

import json
import shlex
from types import SimpleNamespace

import pytest

from commands import chosen, cluster
from images import record
from images.device import Device
from pins.lock import PINS, from_document, load

LOCK = load(PINS / "debian13-hip5.7-torch2.6cpu.lock.yaml")


@pytest.fixture
def lines(tmp_path, monkeypatch, capsys):
    """Return the command line, and those that are typed before it, of an image in a folder with a space."""
    out = tmp_path / "a b"
    out.mkdir()
    given = chosen.Chosen(LOCK, SimpleNamespace(), out)
    monkeypatch.setattr(cluster, "choose", lambda _: given)

    def told(image_id):
        image = json.loads((PINS / f"{LOCK.name}.image.json").read_text(encoding="utf-8"))
        record.write(image | {"lock_sha256": LOCK.sha256, "image_id": image_id}, out / record.NAME)
        line = cluster.apptainer("validate", [], chosen.Which(), Device())
        said = capsys.readouterr().err
        return line, [words.partition(": ")[2] for words in said.splitlines() if "once, where" in words], out

    return told


def test_another_image_of_the_same_lock_is_another_file(lines):
    names = []
    for digit in "12":
        line, _, out = lines(f"sha256:{digit * 64}")
        names += [word for word in shlex.split(line) if word.endswith(".sif")]
        assert names[-1] == str(out / f"{LOCK.name}-{digit * 12}.sif")
    assert len(set(names)) == 2


def test_what_is_told_can_be_typed_in_any_folder(lines):
    _, told, out = lines("sha256:" + "1" * 64)

    assert [shlex.split(words) for words in told] == [
        ["./kit", "push", f"oci:{out / 'oci'}", "--lock", LOCK.name],
        ["apptainer", "build", str(out / f"{LOCK.name}-{'1' * 12}.sif"), f"oci:{out / 'oci'}"],
    ]


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("index", ["apptainer build {sif} docker://rocm/pytorch@{digest}"]),
        ("config", ["docker save {digest} --output {archive}", "apptainer build {sif} docker-archive:{archive}"]),
    ],
)
def test_an_image_that_is_its_base_is_had_from_where_it_is(tmp_path, monkeypatch, capsys, kind, told):
    """As every lock of channel amd is: `push` has nothing of it to push."""
    amd = load(PINS / "amd-rocm7.2.4-torch2.10.lock.yaml")
    lock = from_document(amd.document | {"base": amd.base | {"digest_kind": kind}})
    monkeypatch.setattr(cluster, "choose", lambda _: chosen.Chosen(lock, SimpleNamespace(), tmp_path))
    monkeypatch.setattr(cluster, "recorded", lambda _: {"image_id": "sha256:" + "1" * 64})
    monkeypatch.setattr(cluster, "packed", lambda *_: tmp_path / "cargo.tar")

    cluster.apptainer("validate", [], chosen.Which(lock="/my/file.lock.yaml"), Device())

    said = capsys.readouterr().err
    names = {
        "sif": tmp_path / f"{lock.name}-{'1' * 12}.sif",
        "digest": lock.base["digest"],
        "archive": tmp_path / "image.tar",
    }
    assert [words.partition(": ")[2] for words in said.splitlines() if "once, where" in words] == [
        words.format(**names) for words in told
    ]
    assert "bundle --lock /my/file.lock.yaml " in said
