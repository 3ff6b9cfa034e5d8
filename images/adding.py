"""Add packages and wheels to an image in one container of it, and take out what changed as one layer.

Not by a Dockerfile: saving what a Dockerfile makes exports the whole base. The scripts in images/inside do the work,
and their answer is one small tar: nothing of the base leaves the engine, nothing stays in it.
"""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, cast

from images import context, gate, leftovers, room
from images.tar import FILE, Member, Tar, scan
from images.workshop import Bounds
from pins.paths import free_bytes
from schema import documents
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from images.assemble import Job
    from images.gate import Seen
    from pins.store import Store

ROOT = Path(__file__).parents[1]
PLACE = "/kit-build"  # the folder in the container; no part of what is taken out
SCRIPTS = (
    "images/__init__.py",
    *(f"images/inside/{name}.py" for name in ("__init__", "__main__", "install", "listing", "look", "steps")),
)
VENV, OTHER_VENV = "/opt/venv", "/opt/venv-kit"
ANSWERS = LAYER, FOUND = b"out/layer.tar", b"out/found.json"
MAX_ANSWER_BYTES = 16 << 20
LOOK_S = 300.0  # it takes a second; a disk that has all to read again takes a minute
#: What dpkg and maintainers' scripts need as root; no sockets of the kernel, no rules of its own, no other name spaces.
CAPABILITIES = (
    "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "SETFCAP", "SETGID", "SETUID", "SYS_CHROOT",
)  # fmt: skip
ODD_BASE = "choose another base: something in it keeps Python from its work"


class Answer(NamedTuple):
    """What the scripts left: what they saw, and the layer, of which nothing is known yet."""

    found: Seen
    layer: Tar | None


def place_for_wheels(config: dict[str, Any]) -> str:
    """Return the folder for wheels: another where the image's own Python lives in the usual one."""
    variables = (config.get("config") or {}).get("Env") or []
    return OTHER_VENV if any(f"{VENV}/" in f"{variable}/" for variable in variables) else VENV


def refuse_volumes(job: Job, config: dict[str, Any], name: str) -> None:
    """Raise KitError for a base with volumes, naming them: what is installed into one is in no image."""
    volumes = (config.get("config") or {}).get("Volumes")
    if volumes and (job.lock.debs or job.lock.wheels):
        message = (
            f"{name} declares volumes, and what is installed into one is in no image: {', '.join(sorted(volumes))}"
        )
        raise KitError(message, "choose a base without VOLUME, or a lock that adds no packages")


def refuse_other(job: Job, image: str, name: str, folder: Path) -> None:
    """Raise KitError where an image is not what the job's lock says of it: nothing is built on it."""
    with _asked(job, image, ["look"], folder, Bounds(LOOK_S, MAX_ANSWER_BYTES, ODD_BASE)) as answer:
        gate.refuse_base(answer.found, job.lock, name)


@contextmanager
def layers(
    job: Job, image: str, folder: Path, *, debs: Sequence[dict[str, Any]], venv: str, on_log: Callable[[str], None]
) -> Iterator[list[Tar]]:
    """Yield what the lock's wheels, and `debs`, change in the image: one layer, or none where it has neither.

    The layer lies in `folder` meanwhile. KitError when a step fails, or what came out is not what the lock says.
    """
    wheels = job.lock.wheels
    if not (debs or wheels):
        yield []
        return
    plan = {
        "epoch": job.lock.epoch,
        "debs": [{"name": item["name"], "version": item["version"], "file": _file(item)} for item in debs],
        "wheels": [item["file"] for item in wheels],
        "venv": venv,
    }
    wanted = "".join(f"{item['name']}=={item['version']} --hash=sha256:{item['sha256']}\n" for item in wheels)
    inputs: list[tuple[str, bytes | Path]] = [("plan.json", json.dumps(plan).encode()), ("wheels.txt", wanted.encode())]
    inputs += [(f"debs/{_file(item)}", stored(job.store, item)) for item in debs]
    inputs += [(f"wheels/{item['file']}", stored(job.store, item)) for item in wheels]
    # Half of the room: the archive that is made of it takes as much again.
    remedy = room.REMEDIES["outputs"]
    bounds = Bounds(leftovers.LONG_OVER_S, free_bytes(folder) // 2, remedy, CAPABILITIES)
    with _asked(job, image, ["add"], folder, bounds, inputs=inputs, on_log=on_log) as answer:
        gate.refuse_result(answer.found, job.lock)
        for warning in gate.warnings(answer.found, job.lock):
            job.say.note(f"warning: {warning}")
        if answer.layer is None:
            raise KitError("the image gave no layer", ODD_BASE)
        yield [answer.layer]


@contextmanager
def _asked(
    job: Job,
    image: str,
    words: list[str],
    folder: Path,
    bounds: Bounds,
    *,
    inputs: Sequence[tuple[str, bytes | Path]] = (),
    on_log: Callable[[str], None] = lambda _: None,
) -> Iterator[Answer]:
    """Run our scripts in a container of the image; their answer lies in `folder` meanwhile, without a name."""
    scripts = [(name, (ROOT / name).read_bytes()) for name in SCRIPTS]
    entries = [(f"{PLACE[1:]}/{name}", content) for name, content in [*scripts, *inputs]]
    argv = ["python3", "-B", "-s", "-m", "images.inside", *words]
    with tempfile.TemporaryFile(dir=folder) as file:
        data = cast("IO[bytes]", context.Context(entries, job.lock.epoch))
        job.engine.work(
            image, argv, data, file, bounds=bounds, folder=PLACE, label=leftovers.label(job.out), on_log=on_log
        )
        whole = Tar(file.fileno(), 0, os.fstat(file.fileno()).st_size)
        members = {member.name: member for member in scan(whole) if member.kind == FILE and member.name in ANSWERS}
        layer = members.get(LAYER)
        found = gate.seen(_document(file.fileno(), members.get(FOUND)))
        yield Answer(found, Tar(file.fileno(), layer.offset, layer.size) if layer else None)


def _document(fd: int, member: Member | None) -> dict[str, Any]:
    if member is None or member.size > MAX_ANSWER_BYTES:
        raise KitError("the image gave no answer", ODD_BASE)
    document = documents.parse_json(os.pread(fd, member.size, member.offset), "the image's answer")
    if not isinstance(document, dict):
        raise KitError("the image's answer is not a document", ODD_BASE)
    return document


def stored(store: Store, item: dict[str, Any]) -> Path:
    """Return where an input lies in the store; KitError when its hash is unknown or it is not there."""
    if not item["sha256"]:
        raise KitError(f"the lock does not know the sha256 of {item['name']}", "resolve its pin: ./kit lock --pin NAME")
    if not store.has(item["sha256"]):
        raise KitError(f"{item['name']} {item['version']} is not in the store", "./kit fetch")
    return store.path(item["sha256"])


def _file(deb: dict[str, Any]) -> str:
    return str(deb["path"]).rpartition("/")[2]
