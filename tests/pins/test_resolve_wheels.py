"""Wheels are resolved by pip against an index on this disk: nothing leaves the machine."""

import sys
import zipfile

import pytest

from pins import lock, process, resolve_debian, resolve_pip, wheels
from pins.resolve import resolve as resolve_pin
from pins.resolve_pip import marked
from pins.resolve_target import Target
from pins.resolve_wheels import resolve
from pins.store import Store, file_sha256
from schema.errors import KitError
from tests.pins.fakes_archive import BASE, deb, document

TARGET = Target("3.13.5", 41)
ANY = "py3-none-any"


class Index:
    """An index (PEP 503) in a folder; `add` puts a wheel of nothing into it, with what it requires."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()

    def add(self, name, version, requires=(), tags=ANY):
        place = self.folder / name
        place.mkdir(exist_ok=True)
        stem = f"{name.replace('-', '_')}-{version}"
        path = place / f"{stem}-{tags}.whl"
        needs = "".join(f"Requires-Dist: {item}\n" for item in requires)
        with zipfile.ZipFile(path, "w") as wheel:
            about = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}"
            wheel.writestr(zipfile.ZipInfo(f"{stem}.dist-info/METADATA"), about)
            wheel.writestr(zipfile.ZipInfo(f"{stem}.dist-info/WHEEL"), f"Wheel-Version: 1.0\nTag: {tags}\n")
            wheel.writestr(zipfile.ZipInfo(f"{stem}.dist-info/RECORD"), "")
        with (place / "index.html").open("a") as page:
            page.write(f'<a href="{path.name}#sha256={file_sha256(path)}">{path.name}</a><br/>\n')
        return path


@pytest.fixture
def index(tmp_path, monkeypatch):
    made = Index(tmp_path / "index")
    monkeypatch.setenv("PIP_INDEX_URL", made.folder.as_uri())
    return made


def pin(*wanted, **more):
    return {"name": "some", "channel": "debian", "rocm": "5.7.1", "pytorch": "2.6", "wheels": list(wanted)} | more


def test_a_name_is_resolved_with_what_it_needs_each_with_hash_and_size(index):
    model, tool = (
        index.add("model", "2.0", ["Some_Tool>=1"]),
        index.add("some-tool", "1.5", tags="cp313-abi3-linux_x86_64"),
    )
    index.add("model", "1.0")

    assert resolve(pin("model"), {}, TARGET) == [
        {
            "name": name,
            "version": version,
            "file": path.name,
            "index": "pypi",
            "sha256": file_sha256(path),
            "size": path.stat().st_size,
        }
        for name, version, path in (("model", "2.0", model), ("some-tool", "1.5", tool))
    ]


def test_what_is_in_the_image_is_neither_replaced_nor_listed(index):
    index.add("model", "2.0", ["torch>=2.4", "numpy"])
    index.add("torch", "2.15.0")
    index.add("numpy", "2.4.0")

    found = resolve(pin("model"), {"torch": "2.6.0+debian", "numpy": "2.2.4"}, TARGET)

    assert [item["name"] for item in found] == ["model"]


def test_what_is_in_the_image_decides_which_version_goes_with_it(index):
    index.add("model", "3.0", ["torch>=2.10"])
    index.add("model", "2.0", ["torch>=2.4"])

    assert resolve(pin("model"), {"torch": "2.6.0"}, TARGET)[0]["version"] == "2.0"


def test_markers_are_judged_for_the_python_of_the_image(index):
    here = f"{sys.version_info[0]}.{sys.version_info[1]}"
    index.add("model", "1.0", [f"here; python_version == '{here}'", "there; python_full_version == '3.99.1'"])
    index.add("here", "1.0")
    index.add("there", "1.0")

    assert [item["name"] for item in resolve(pin("model"), {}, Target("3.99.1", 41))] == ["model", "there"]


def test_the_same_index_gives_the_same_answer(index):
    index.add("model", "2.0", ["a", "b"])
    index.add("a", "1.0", ["b<2"])
    index.add("b", "1.0")
    index.add("b", "2.0")

    assert resolve(pin("model"), {}, TARGET) == resolve(pin("model"), {}, TARGET)


def test_only_one_index_is_asked_whatever_the_machine_is_set_to(index, tmp_path, monkeypatch):
    index.add("model", "1.0")
    second = Index(tmp_path / "second")
    second.add("model", "9.0")
    (tmp_path / "limits.txt").write_text("model<1\n")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", second.folder.as_uri())
    monkeypatch.setenv("PIP_FIND_LINKS", str(second.folder / "model"))
    monkeypatch.setenv("PIP_CONSTRAINT", str(tmp_path / "limits.txt"))
    monkeypatch.setenv("PIP_PRE", "1")

    assert resolve(pin("model"), {}, TARGET)[0]["version"] == "1.0"


def test_the_index_may_stand_in_a_configuration_file(index, tmp_path, monkeypatch):
    index.add("model", "1.0")
    monkeypatch.delenv("PIP_INDEX_URL")
    (tmp_path / "pip.conf").write_text(f"[global]\nindex-url = {index.folder.as_uri()}\nextra-index-url = file:///x\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))

    assert resolve(pin("model"), {}, TARGET)[0]["version"] == "1.0"


REFUSED = {  # sentence: (what the index has, what is asked, what is there, the message)
    "a version that is not there": ([("model", "1.0")], "model==2.0", {}, r"model==2\.0.*\(from versions: 1\.0\)"),
    "a project that is not there": ([], "model", {}, "No matching distribution found for model"),
    "another Python alone": ([("model", "1.0", (), "cp312-cp312-linux_x86_64")], "model", {}, "on Python 3.13"),
    "another processor alone": ([("model", "1.0", (), "cp313-cp313-linux_aarch64")], "model", {}, "Linux x86-64"),
    "it needs a newer one than the image has": (
        [("model", "1.0", ["torch>=2.10"]), ("torch", "2.15.0")],
        "model",
        {"torch": "2.6.0"},
        r"torch>=2\.10.*2\.6\.0\+present",
    ),
    "it is in the image already": ([("torch", "2.6.0")], "torch", {"torch": "2.6.0"}, "torch twice"),
}


@pytest.mark.parametrize(("offered", "asked", "present", "message"), REFUSED.values(), ids=REFUSED)
def test_what_the_index_cannot_give_is_refused_in_pips_words(index, offered, asked, present, message):
    for wheel in offered:
        index.add(*wheel)

    with pytest.raises(KitError, match=message) as caught:
        resolve(pin(asked), present, TARGET)

    assert caught.value.hint.startswith("correct `wheels` in the pin")


def test_an_answer_without_a_hash_is_refused():
    """pip gives none where the index tells metadata apart and no hash of the wheel: it has not seen the wheel then."""
    answer = {
        "download_info": {"url": "https://a.example/model-1.0-py3-none-any.whl", "archive_info": {}},
        "metadata": {"name": "model", "version": "1.0"},
    }

    with pytest.raises(KitError, match=r"no sha256 for model-1\.0"):
        resolve_pip._entry(answer)


def test_a_pip_that_is_too_old_is_told_apart_from_an_index_that_lacks(index, monkeypatch):
    del index
    done = process.Done(2, "", "Usage: ...\nno such option: --report\n")
    real = process.run
    monkeypatch.setattr(process, "run", lambda argv, **more: done if "--dry-run" in argv else real(argv, **more))

    with pytest.raises(KitError, match="this pip is too old"):
        resolve(pin("model"), {}, TARGET)


def test_what_is_there_gets_a_version_that_no_index_has():
    assert (marked("2.6.0"), marked("2.6.0+debian")) == ("2.6.0+present", "2.6.0+debian.present")


# Recorded wheels ------------------------------------------------------------------------------------------------------


def recorded(name="torch", version="2.9.0+rocm6.3", tags="cp313-cp313-manylinux_2_28_x86_64", **more):
    return {
        "name": name,
        "version": version,
        "file": f"{name.replace('-', '_')}-{version}-{tags}.whl",
        "index": "pytorch",
        "sha256": "1" * 64,
        "size": None,
        "status": "recorded",
        "sources": ["a public lock file"],
    } | more


def wheel_pin(*wanted, **more):
    return pin(*wanted, channel="wheel", rocm="6.3", pytorch="2.9.0") | more


@pytest.fixture
def no_pytorch(monkeypatch):
    """PyTorch's index does not answer."""
    monkeypatch.setattr(wheels, "PYTORCH", "http://127.0.0.1:9/whl")


@pytest.mark.usefixtures("no_pytorch")
def test_a_recorded_wheel_stands_as_it_is_where_its_index_does_not_answer():
    unknown = recorded("triton-rocm", "3.6.0", "cp313-cp313-linux_x86_64", sha256=None)

    assert resolve(wheel_pin(unknown, recorded()), {}, TARGET) == [recorded(), unknown]


@pytest.mark.usefixtures("no_pytorch")
def test_what_needs_a_recorded_wheel_takes_that_one(index):
    index.add("model", "1.0", ["torch>=2.9"])
    index.add("torch", "2.15.0")

    assert [item["version"] for item in resolve(wheel_pin("model", recorded()), {}, TARGET)] == ["1.0", "2.9.0+rocm6.3"]


def test_a_recorded_wheel_is_held_against_its_index(archive, monkeypatch):
    monkeypatch.setattr(wheels, "PYTORCH", archive.url.rstrip("/"))
    archive.files["rocm6.3/torch/"] = f'<a href="{recorded()["file"]}#sha256={"2" * 64}">x</a>'.encode()

    with pytest.raises(KitError, match=r"rocm6\.3/torch/ tells 2222"):
        resolve(wheel_pin(recorded()), {}, TARGET)


WRONG = {
    "another Python": (wheel_pin(recorded(tags="cp312-cp312-manylinux_2_28_x86_64")), r"does not run on CPython 3\.13"),
    "the free-threaded build": (
        wheel_pin(recorded(tags="cp313-cp313t-linux_x86_64")),
        r"does not run on CPython 3\.13",
    ),
    "another architecture": (wheel_pin(recorded(tags="cp313-cp313-manylinux_2_28_aarch64")), "does not run on"),
    "a file of another version": (wheel_pin(recorded(file="torch-2.8.0-cp313-cp313-linux_x86_64.whl")), "is not torch"),
    "a file of another project": (wheel_pin(recorded(file="t-2.9.0+rocm6.3-cp313-cp313-linux_x86_64.whl")), "is not"),
    "another ROCm": (wheel_pin(recorded(version="2.9.0+rocm6.4")), r"is for rocm6\.4, and some needs \+rocm6\.3"),
    "6.30 is not 6.3": (wheel_pin(recorded(version="2.9.0+rocm6.30")), r"is for rocm6\.30"),
    "a CUDA build": (wheel_pin(recorded(version="2.9.0+cu130")), r"is for cu130, and some needs \+rocm6\.3"),
    "a CPU build": (wheel_pin(recorded(version="2.9.0+cpu")), "is for cpu"),
    "a ROCm build for CUDA": (wheel_pin(recorded(), channel="cuda"), "needs cuda"),
    "another PyTorch": (wheel_pin(recorded(version="2.9.1+rocm6.3")), r"asks for PyTorch 2\.9\.0.* torch 2\.9\.1"),
    "no PyTorch at all": (wheel_pin(recorded("torchvision", "0.24.0+rocm6.3")), "has no wheel of torch"),
    "one wheel twice": (wheel_pin(recorded(), recorded()), "has torch twice"),
    "a name and a wheel of it": (wheel_pin("torch==2.9.0", recorded()), "has torch twice"),
}


@pytest.mark.usefixtures("no_pytorch")
@pytest.mark.parametrize(("wanted", "message"), WRONG.values(), ids=WRONG)
def test_a_recorded_wheel_that_is_not_what_the_pin_is_for_is_refused(wanted, message):
    with pytest.raises(KitError, match=message):
        resolve(wanted, {}, TARGET)


# Whole pins -----------------------------------------------------------------------------------------------------------

BASED = {
    "pin_version": "1",
    "name": "some-wheel",
    "rocm": "6.3",
    "channel": "wheel",
    "pytorch": "2.9.0",
    "python": "3.13",
    "platform": "linux/amd64",
    "source_date_epoch": 1700000000,
    "base": BASE,
    "gfx": ["gfx90a"],
    "wheels": ["model", recorded()],
}


def write(folder, pin_document):
    path = folder / f"{pin_document['name']}.pin.yaml"
    lock.write(pin_document, path)
    return path


@pytest.mark.usefixtures("no_pytorch")
def test_a_pin_with_wheels_on_a_base_becomes_a_lock(index, tmp_path):
    index.add("model", "1.0")

    found = lock.load(resolve_pin(write(tmp_path, BASED), tmp_path, progress=False))

    assert found.document["torch"] == {"version": "2.9.0", "build": "rocm"}
    assert found.document["components"] == {"torch": "2.9.0"}
    assert [item["name"] for item in found.wheels] == ["model", "torch"]
    assert found.base == BASE


LACKING = {
    "wheels, and a base": {"base": None},
    "a base, and wheels": {"wheels": None},
    "a suite without packages": {"base": None, "suite": "trixie"},
}


@pytest.mark.parametrize("without", LACKING.values(), ids=LACKING)
def test_a_pin_of_wheels_says_what_it_lacks(tmp_path, without):
    document = {key: value for key, value in (BASED | without).items() if value is not None}

    with pytest.raises(
        KitError, match=r"channel wheel needs `wheels` and `suite` and `packages`, or `wheels` and `base`"
    ):
        resolve_pin(write(tmp_path, document), tmp_path)


# Debian's distributions -----------------------------------------------------------------------------------------------


def built(folder, name, files):
    """A .deb as dpkg-deb builds it, in the store."""
    tree = folder / name
    for path, text in (
        files
        | {"DEBIAN/control": f"Package: {name}\nVersion: 1.0-1\nArchitecture: all\nMaintainer: x\nDescription: x\n"}
    ).items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(text)
    try:
        done = process.run(["dpkg-deb", "--build", "--root-owner-group", str(tree), str(folder)], timeout_s=60)
    except KitError as error:
        pytest.skip(error.message)
    assert done.code == 0, done.stderr
    content = (folder / f"{name}_1.0-1_all.deb").read_bytes()
    entry, store = deb(name, content), Store()
    store.part(entry["sha256"]).write_bytes(content)
    store.keep(entry["sha256"])
    return entry


def test_a_package_tells_its_distributions_by_their_own_metadata(tmp_path):
    place = "usr/lib/python3/dist-packages"
    debs = [
        built(
            tmp_path, "python3-pil", {f"{place}/pillow-11.1.0.dist-info/METADATA": "Name: Pillow\nVersion: 11.1.0\n"}
        ),
        built(tmp_path, "python3-yaml", {f"{place}/PyYAML-6.0.2.egg-info/PKG-INFO": "Name: PyYAML\nVersion: 6.0.2\n"}),
        built(
            tmp_path,
            "python3-old",
            {f"{place}/Old.Thing-1.egg-info": "Metadata-Version: 1\nName: Old.Thing\nVersion: 1\n"},
        ),
        built(tmp_path, "python3-none", {f"{place}/none.py": ""}),
        built(tmp_path, "rocminfo", {f"{place}/not-1.dist-info/METADATA": "Name: not\nVersion: 1\n"}),
    ]

    found = resolve_debian.distributions(document(debs), shown=False)

    assert found == {"old-thing": "1", "pillow": "11.1.0", "pyyaml": "6.0.2"}


def test_the_models_lock_has_the_packages_of_the_plain_one_and_replaces_none():
    plain = lock.load(lock.PINS / "debian13-hip5.7-torch2.6cpu.lock.yaml")
    models = lock.load(lock.PINS / "debian13-hip5.7-torch2.6cpu-models.lock.yaml")
    names = {item["name"] for item in models.wheels}

    assert models.debs == plain.debs
    assert {"diffusers", "onnx", "onnxruntime", "onnxscript", "transformers"} <= names
    assert not names & {"torch", "torchvision", "numpy", "pillow", "pyyaml", "requests"}
    assert all(item["sha256"] and item["size"] for item in models.wheels)
