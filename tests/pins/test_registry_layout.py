"""A layout in a folder is one that others read."""

import json
import shutil
import subprocess

import pytest

from pins.registry_documents import Descriptor
from pins.registry_layout import Layout
from pins.registry_upload import of_bytes
from schema.errors import KitError
from tests.pins.fakes_registry import Image, digest


def write(folder, image, name="1"):
    layout = Layout(folder)
    blobs = [Descriptor("x", digest(data), len(data)) for data in image.blobs.values()]
    for blob in blobs:
        layout.put(blob, of_bytes(image.blobs[blob.digest]))
    layout.put_manifest(image.manifest, image.kind, name)
    layout.read_back(image.manifest, image.kind, name, blobs)
    return layout


def names(folder):
    index = json.loads((folder / "index.json").read_bytes())
    return {entry["annotations"]["org.opencontainers.image.ref.name"]: entry["digest"] for entry in index["manifests"]}


def test_a_layout_has_every_blob_under_its_digest(tmp_path):
    image = Image()
    write(tmp_path / "layout", image)

    found = {f"sha256:{path.name}": path.read_bytes() for path in (tmp_path / "layout/blobs/sha256").iterdir()}
    assert found == image.blobs | {digest(image.manifest): image.manifest}
    assert json.loads((tmp_path / "layout/oci-layout").read_bytes()) == {"imageLayoutVersion": "1.0.0"}
    assert names(tmp_path / "layout") == {"1": digest(image.manifest)}


def test_a_layout_holds_several_images_and_a_name_moves(tmp_path):
    first, second = Image(), Image((b"second",))
    write(tmp_path, first, "a")
    write(tmp_path, first, "b")
    layout = write(tmp_path, second, "a")

    assert names(tmp_path) == {"a": digest(second.manifest), "b": digest(first.manifest)}
    assert layout.sent_bytes > 0
    assert write(tmp_path, second, "a").sent_bytes == 0, "what is there is left alone"


def test_a_blob_that_was_spoilt_is_written_again(tmp_path):
    image = Image((b"a layer",))
    write(tmp_path, image)
    (tmp_path / "blobs/sha256" / digest(b"a layer").removeprefix("sha256:")).write_bytes(b"a lawyr")
    with pytest.raises(KitError, match="has not kept what was written"):
        Layout(tmp_path).read_back(image.manifest, image.kind, "1", [Descriptor("x", digest(b"a layer"), 7)])

    write(tmp_path, image)


def test_bytes_that_are_something_else_are_refused(tmp_path):
    with pytest.raises(KitError, match="what came as"):
        Layout(tmp_path / "x").put(Descriptor("x", digest(b"a"), 1), of_bytes(b"b"))
    assert not list((tmp_path / "x").rglob("*.part"))


def test_a_blob_without_end_is_cut_at_its_size(tmp_path):
    given = []

    def endless(_start):
        while True:
            given.append(1)
            yield b"x" * 1000

    with pytest.raises(KitError, match="longer than its 2500 bytes"):
        Layout(tmp_path / "x").put(Descriptor("x", digest(b"a"), 2500), endless)
    assert len(given) == 3
    assert [path for path in (tmp_path / "x").rglob("*") if path.is_file()] == []


@pytest.mark.parametrize("there", ["a folder with other things", "a file"])
def test_what_is_no_layout_is_left_alone(tmp_path, there):
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(KitError, match="is there, and is no OCI layout") as caught:
        Layout(tmp_path if there == "a folder with other things" else tmp_path / "mine")
    assert caught.value.hint


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"manifests": 3}'])
def test_a_table_of_contents_that_cannot_be_read_is_said(tmp_path, text):
    write(tmp_path, Image())
    (tmp_path / "index.json").write_text(text)
    with pytest.raises(KitError) as caught:
        write(tmp_path, Image((b"other",)), "2")
    assert caught.value.hint


def test_skopeo_reads_it(tmp_path):
    if not shutil.which("skopeo"):
        pytest.skip("no skopeo on this host")
    image = Image()
    write(tmp_path / "layout", image)
    done = subprocess.run(["skopeo", "inspect", "--raw", f"oci:{tmp_path}/layout:1"], capture_output=True, check=True)
    assert done.stdout == image.manifest
