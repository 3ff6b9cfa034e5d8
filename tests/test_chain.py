"""The whole chain on a real engine, from the lock to the verdict, as the README tells a newcomer to run it.

The image is built from the committed lock and must be the committed one, bit for bit. Where the archive moved on and
no longer has a package of the lock, the pin is resolved again into a temporary folder: the build stays tested.
Outputs are new each time, unless KIT_CHAIN_OUT names a folder where they stay.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bundle import layout
from bundle.verify import verify
from images.access import access
from images.cargo import pack
from images.engine import connect
from schema import documents
from schema.errors import KitError
from tests import podman

pytestmark = pytest.mark.engine

ROOT = Path(__file__).parent.parent
NAME = "debian13-hip5.7-torch2.6cpu"


class Kit:
    """Runs commands of the kit with outputs in a folder of its own."""

    def __init__(self, out, *options):
        self.out, self.options = out, options

    def __call__(self, command, *argv, options=True, **environ):
        argv = [command, *argv, *(self.options if options else ())]
        done = subprocess.run(
            [sys.executable, "-X", "utf8", ROOT / "tasks.py", *argv],
            capture_output=True,
            text=True,
            env=os.environ | {"KIT_OUT": str(self.out)} | environ,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return done


@pytest.fixture(scope="session")
def kit(engine, tmp_path_factory):  # noqa: ARG001 -- without an engine there is no chain
    folder = Path(os.environ.get("KIT_CHAIN_OUT") or tmp_path_factory.mktemp("chain"))
    run = Kit(folder / "out", "--lock", NAME)
    got = run("fetch")
    if got.returncode == 0:
        return run
    assert got.returncode == 2
    print(f"the committed lock cannot be fetched any more; its pin is resolved again\n{got.stderr}")
    shutil.copy(ROOT / "pins" / f"{NAME}.pin.yaml", folder)
    again = run("lock", "--pin", str(folder / f"{NAME}.pin.yaml"), "--out", str(folder), options=False)
    assert again.returncode == 0, again.stderr
    return Kit(folder / "out", "--lock", again.stdout.strip())


@pytest.fixture(scope="session")
def made(kit):
    """What the first `reproduce` answers, with an image that was built just now, whatever the engine had."""
    built = kit("build", "--force")
    assert built.returncode == 0, built.stderr[-8000:]
    done = kit("reproduce", "--json")
    assert done.returncode == 0, done.stderr[-8000:]
    return json.loads(done.stdout) | {"said": done.stderr}


def test_the_image_is_the_committed_one_bit_for_bit(kit, made):
    if kit.options[1] != NAME:
        pytest.skip("the committed lock can no longer be fetched: its image cannot be made here")
    committed = documents.read_json(ROOT / "pins" / f"{NAME}.image.json")

    assert (made["image_id"], made["manifest_digest"]) == (committed["image_id"], committed["manifest_digest"])


def test_what_the_lock_promises_was_found_in_the_image(made):
    by_status = {
        status: [finding["code"] for finding in made["findings"] if finding["status"] == status]
        for status in ("pass", "warn", "fail", "error", "skip")
    }

    assert by_status["fail"] + by_status["error"] == []
    codes = " ".join(by_status["pass"])
    for part in ("torch_build.", "versions.", "inventory.", "hip_compile.", "numerics."):
        assert part in codes, by_status


def test_a_cpu_is_never_called_a_gpu(kit, made):
    assert made["summary"]["gpu_result"] is False
    first = (Path(made["bundle"]) / "report.md").read_text(encoding="utf-8").splitlines()
    assert any("not a GPU result" in line for line in first[:6])
    assert "not a GPU result" in kit("reproduce").stdout.splitlines()[0]


def test_every_case_of_the_suite_has_a_figure_with_an_interval(made):
    without = {case["case"]: case["reasons"] for case in made["summary"]["cases"] if case["low"] is None}

    assert without == {}
    assert {case["case"].split(".")[0] for case in made["summary"]["cases"]} == {
        *("matmul", "copy", "groupnorm", "attention", "decode", "resnet50")
    }


def test_a_second_time_everything_is_checked_and_kept(kit, made):
    done = kit("reproduce", "--json")

    assert (done.returncode, json.loads(done.stdout)["image_id"]) == (0, made["image_id"])
    kept = [line.partition(":")[0] for line in done.stderr.splitlines() if ": kept (" in line]
    assert kept == ["image", "validate", "benchmarks", "bundle"]


def test_new_outputs_take_the_image_that_the_engine_has_by_its_committed_identity(kit, made, tmp_path):
    if kit.options[1] != NAME:
        pytest.skip("the lock is not the committed one: it has no committed identity")

    done = Kit(tmp_path, *kit.options)("build", "--json")

    assert (done.returncode, json.loads(done.stdout)["built"]) == (0, False), done.stderr
    assert json.loads(done.stdout)["image_id"] == made["image_id"]


def test_when_the_image_was_removed_only_the_image_is_made_again(kit, made, engine):
    try:
        engine.remove(documents.read_json(Path(made["bundle"]).parent / "image.json")["engine_id"], force=True)
    except KitError as error:
        if "being used" not in error.message:
            raise
        pytest.skip(f"somebody else runs this image in this engine: {error.message}")

    done = kit("reproduce", "--json")

    assert (done.returncode, json.loads(done.stdout)["image_id"]) == (0, made["image_id"])
    kept = [line.partition(":")[0] for line in done.stderr.splitlines() if ": kept (" in line]
    assert kept == ["validate", "benchmarks", "bundle"]


def test_the_bundle_verifies_and_its_archive_says_the_same(kit, made):
    folder, archive = (
        kit("verify", path, "--json", options=False) for path in (made["bundle"], made["bundle"] + ".tar")
    )

    assert (folder.returncode, archive.returncode) == (0, 0), folder.stdout
    assert json.loads(folder.stdout) == json.loads(archive.stdout)
    assert json.loads(folder.stdout)["verdict"] == "CONFIRMED"


def test_one_byte_changed_in_any_file_is_caught_and_the_file_named(made, tmp_path):
    copy = tmp_path / "bundle"
    shutil.copytree(made["bundle"], copy)
    names = sorted(path.relative_to(copy).as_posix() for path in copy.rglob("*") if path.is_file())
    assert layout.MANIFEST in names

    for name in names:
        data = bytearray((copy / name).read_bytes())
        place = len(data) // 2
        data[place] ^= 1
        (copy / name).write_bytes(data)
        verdict = verify(copy)
        data[place] ^= 1
        (copy / name).write_bytes(data)

        assert verdict["verdict"] == "CONTRADICTED", name
        assert any(name in item["what"] for item in verdict["contradicted"]), (name, verdict["contradicted"])


def test_nothing_in_the_bundle_names_this_machine(made):
    names = {os.uname().nodename, str(Path.home()), str(ROOT)}
    for path in Path(made["bundle"]).rglob("*"):
        if path.is_file() and path.suffix != ".gz":
            text = path.read_text(encoding="utf-8")
            assert [name for name in names if len(name) > 3 and name in text] == [], path.name


def test_podman_has_the_same_image_and_it_validates_there(kit, made, engine, tmp_path):
    image = documents.read_json(Path(made["bundle"]).parent / "image.json")
    service = podman.Podman(podman.program(tmp_path / "packages"))
    try:
        loaded = connect({"CONTAINER_HOST": service.url}, engine="podman")
        loaded.load(engine.save(image["reference"]), image["reference"])
        loaded.close()
        done = Kit(tmp_path / "out", *kit.options)(
            "validate", "--runtime", "podman", "--json", CONTAINER_HOST=service.url
        )
    finally:
        service.stop()

    assert done.returncode == 0, done.stderr[-2000:]
    report = json.loads(done.stdout)
    assert report["start"]["image_id"] == made["image_id"]
    assert {finding["code"]: finding["status"] for finding in report["findings"]} == {
        finding["code"]: finding["status"] for finding in made["findings"]
    }


def test_a_sweep_compares_two_locks_in_a_table_and_keeps_what_holds(kit, made, tmp_path):
    """The second lock is the image itself, adopted: nothing is built for it."""
    image = documents.read_json(Path(made["bundle"]).parent / "image.json")
    adopted = kit("lock", "--from-image", image["reference"], "--out", str(tmp_path), options=False)
    assert adopted.returncode == 0, adopted.stderr
    locks = [kit.options[1], adopted.stdout.strip()]
    argv = ["--locks", ",".join(locks), "--suite", "smoke", "--only", "copy"]

    done, again = kit("sweep", *argv, "--json", options=False), kit("sweep", *argv, options=False)

    assert (done.returncode, again.returncode) == (0, 0), done.stderr[-2000:] + again.stderr[-2000:]
    swept = json.loads(done.stdout)
    assert {lock["image_id"] for lock in swept["locks"]} == {made["image_id"]}
    names = [lock["lock"] for lock in swept["locks"]]
    assert [list(case["locks"]) for case in swept["cases"]] == [names] * len(swept["cases"]) != []
    assert all(case["locks"][names[1]]["ratio_low"] for case in swept["cases"])
    kept = [line.partition(":")[0] for line in again.stderr.splitlines() if ": kept (" in line]
    assert kept == ["image", "validate", "benchmarks"] * 2
    assert again.stdout.startswith("# Sweep: smoke, copy alone\n\n**not a GPU result**")
    assert Path(again.stdout.splitlines()[-1]).read_text(encoding="utf-8").strip() in again.stdout


@pytest.mark.parametrize("command", ["validate", "benchmark"])
def test_the_line_of_a_dry_run_can_be_pasted_into_a_shell(kit, made, command):  # noqa: ARG001 -- the image must be there
    extra = ["--suite", "smoke", "--only", "copy"] if command == "benchmark" else []
    line = kit(command, "--dry-run", *extra)
    assert line.returncode == 0, line.stderr

    pasted = subprocess.run(["sh", "-c", line.stdout], capture_output=True, text=True, check=False)

    kinds = [json.loads(record)["kind"] for record in pasted.stdout.splitlines()]
    assert (pasted.returncode, kinds[0], kinds[-1]) == (0, "start", "end"), pasted.stderr[-2000:]


def test_every_cases_own_check_refuses_spoilt_results_with_the_images_torch(made, engine):
    image = documents.read_json(Path(made["bundle"]).parent / "image.json")
    cargo, _ = pack(None, {"runtime": "container", "backend": "cpu", "image_id": None, "lock_sha256": None})
    rows = []

    code = engine.run(
        image["engine_id"],
        cargo,
        ["python3", "-m", "benchmarks.selftest"],
        access("cpu", engine.about()),
        deadline_s=600,
        on_line=lambda line: rows.append(json.loads(line)),
    )

    assert code == 0, rows
    assert {row["case"].split(".")[0] for row in rows} >= {
        "matmul",
        "copy",
        "groupnorm",
        "attention",
        "decode",
        "resnet50",
    }


def test_a_case_of_the_users_own_is_measured_and_hashed(kit, made, tmp_path):  # noqa: ARG001 -- the image must be there
    guide = (ROOT / "docs" / "guide" / "own-case.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
    own = tmp_path / "softmax.py"
    own.write_text(code.replace("128256", "256"), encoding="utf-8")  # small enough for a CPU

    done = kit("benchmark", "--suite", "smoke", "--case", str(own), "--json")

    assert done.returncode == 0, done.stderr[-4000:]
    figures = {case["case"]: case["value"] for case in json.loads(done.stdout)["cases"]}
    assert sorted(figures) == ["softmax.bf16", "softmax.fp32"]
    assert all(value > 0 for value in figures.values()), figures

    sealed = kit("bundle", "--case", str(own), "--out", str(tmp_path / "sealed"), "--json")
    assert sealed.returncode == 0, sealed.stderr
    again = kit("verify", json.loads(sealed.stdout)["path"], options=False)
    assert again.returncode == 0, again.stdout


def test_a_cpu_bundle_goes_into_a_card_only_when_it_is_asked_for(kit, made, tmp_path):
    card = tmp_path / "README.md"
    card.write_bytes(b"# My model\r\n")

    refused = kit("card", str(card), made["bundle"], options=False)
    assert (refused.returncode, card.read_bytes()) == (2, b"# My model\r\n")
    assert "--allow-cpu" in refused.stderr

    done = kit("card", str(card), made["bundle"], "--allow-cpu", "--allow-quick", options=False)
    assert done.returncode == 0, done.stderr
    once = card.read_bytes()
    assert once.startswith(b"# My model\r\n")
    assert b"not a GPU result" in once
    kit("card", str(card), made["bundle"], "--allow-cpu", "--allow-quick", options=False)
    assert card.read_bytes() == once
