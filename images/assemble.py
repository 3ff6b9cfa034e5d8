"""One build in the engine, from verified inputs to the canonical archive, leaving nothing else in the engine."""

from __future__ import annotations

import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from images import base, canonical, context, leftovers, room, rootfs
from images.endpoint import EngineError
from pins.progress import Progress
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from images.canonical import Identity
    from images.engine import Engine
    from pins.lock import Lock
    from pins.store import Store

DOCKERFILE = Path(__file__).with_name("Dockerfile")
PIECE_BYTES = 1 << 20
SETTLE_S = 1.0  # what the engine had in hand when its listener hung up, it puts down within this time


@dataclass(frozen=True)
class Job:
    """What is to be built, by which engine, from where, by which recipe; `out` is the lock's folder."""

    lock: Lock
    engine: Engine
    store: Store
    out: Path
    dockerfile: Path
    say: Progress
    suffix: str = ""

    def __post_init__(self) -> None:
        if self.lock.base and not self.own:
            raise KitError(
                f"{self.lock.name} stands on a published image: no Dockerfile makes it",
                "leave --dockerfile out, or choose a lock made of Debian packages alone",
            )

    @property
    def own(self) -> bool:
        """Say whether the recipe is ours: only then is the image the lock's."""
        return self.dockerfile == DOCKERFILE

    @property
    def reference(self) -> str:
        """Name that the image gets in the engine: the lock's, with a suffix where the image is another's business."""
        return f"{leftovers.REPOSITORY}:{self.lock.name[:100]}{self.suffix if self.own else '-custom'}"

    @property
    def builds(self) -> bool:
        """Say whether anything is built at all: a base to which nothing is added is the image itself."""
        return bool(not self.lock.base or self.lock.debs or self.lock.wheels or self.lock.document["environment"])


@dataclass(frozen=True)
class Made:
    """What a build made: an identity, and the archive that has it."""

    identity: Identity
    archive: Path


def assemble(job: Job, folder: Path, *, below: dict[str, Any] | None = None) -> Made:
    """Build without any cache and write the canonical archive into `folder`.

    `below` is the base as pulled (`base` of an image record). The engine's own image is removed again, as is what an
    earlier build may have left. Raises KitError when there is no room, an input is missing or a step fails.
    """
    if not job.lock.base:  # a base is there by now
        room.require(job.lock, job.engine.about(), job.out)
    entries = _context(job, folder)
    saved, archive = folder / "saved.tar", folder / "image.tar"
    with _removed(job) as name:
        with Progress(
            "dpkg",
            2 * len(job.lock.debs),
            unit="steps",
            then="all installed, compiling byte code",  # which takes about as long
            shown=job.say.shown,
        ) as steps:
            built = job.engine.build(
                cast("IO[bytes]", context.Context(entries, job.lock.epoch)),
                tag=name,
                nocache=True,
                base=below["reference"] if below else "",
                on_log=_packages(steps),
            )
        save(job, built, saved)
    with Progress("rewrite", unit="B", shown=job.say.shown) as bytes_written:
        identity = canonical.rewrite(
            saved,
            archive,
            epoch=job.lock.epoch,
            reference=job.reference,
            base=below["diff_ids"] if below else (),
            advance=bytes_written.advance,
        )
    saved.unlink()
    return Made(identity, archive)


def _packages(steps: Progress) -> Callable[[str], None]:
    """Return what counts each package twice, unpacked and set up; the first few are installed once more with all."""
    seen: set[str] = set()

    def follow(line: str) -> None:
        words = line.split(" ")
        step = " ".join(words[: 2 if words[0] == "Unpacking" else 3])
        if line.startswith(("Unpacking ", "Setting up ")) and step not in seen:
            seen.add(step)
            steps.advance()

    return follow


def save(job: Job, image: str, path: Path) -> None:
    """Write the engine's archive of an image, named by its id (a name may be another's by now), to `path`."""
    with Progress("save", unit="B", shown=job.say.shown) as saved, path.open("wb") as file:
        for piece in job.engine.save(image):
            file.write(piece)
            saved.advance(len(piece))


def load(job: Job, made: Made) -> dict[str, Any]:
    """Load the archive and return the engine's image; KitError when the engine made something else of it."""
    size, then = made.archive.stat().st_size, "the engine unpacks it"
    with Progress("load", size, unit="B", then=then, shown=job.say.shown) as loaded:
        image = job.engine.load(_pieces(made.archive, loaded), job.reference)
    identity = made.identity
    if image["id"] not in {identity.image_id, identity.manifest_digest} or image["diff_ids"] != identity.diff_ids:
        raise KitError(f"the engine calls the image {image['id']}, and it is {identity.image_id}", "./kit doctor")
    return image


def _context(job: Job, folder: Path) -> list[tuple[str, bytes | Path]]:
    """Return the entries of the build context: the Dockerfile, the first layer, every package in the lock's order."""
    lock = job.lock
    if lock.wheels or (lock.base and lock.debs):
        raise KitError(
            f"{lock.name} adds packages to a base image, which this version cannot build",
            "use a lock whose base is the whole image, or one made of Debian packages alone",
        )
    debs = [(item, _input(job.store, item)) for item in lock.debs]
    text = f"FROM {base.reference(lock.base)}\n" if lock.base else _read(job.dockerfile)
    text = context.dockerfile(text, lock.epoch, lock.document["environment"], leftovers.label(job.out))
    entries: list[tuple[str, bytes | Path]] = [("Dockerfile", text.encode())]
    if debs:
        first = folder / "first.tar"
        bootstrap = [(item["name"], path) for item, path in debs if item["bootstrap"]]
        with Progress("unpack", len(bootstrap), unit="packages", shown=job.say.shown) as unpacked:
            rootfs.write_first_layer(bootstrap, first, epoch=lock.epoch, advance=unpacked.advance)
        entries.append(("first.tar", first))
        entries += [(f"debs/{item['path'].rpartition('/')[2]}", path) for item, path in debs]
    return entries


def _input(store: Store, item: dict[str, Any]) -> Path:
    """Return where an input lies in the store; KitError when its hash is unknown or it is not there."""
    if not item["sha256"]:
        raise KitError(f"the lock does not know the sha256 of {item['name']}", "resolve its pin: ./kit lock --pin NAME")
    if not store.has(item["sha256"]):
        raise KitError(f"{item['name']} {item['version']} is not in the store", "./kit fetch")
    return store.path(item["sha256"])


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise KitError(f"cannot read {path}: {error}", "--dockerfile FILE") from error


def _pieces(path: Path, progress: Progress) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            yield piece
            progress.advance(len(piece))


@contextmanager
def _removed(job: Job) -> Iterator[str]:
    """Yield a name for an image that is here only meanwhile: neither it nor its steps are there before or after."""
    _clear(job)
    try:
        yield leftovers.name(job.out)
    except BaseException as error:
        with suppress(EngineError):  # what went wrong is said, and not that this did, too
            leftovers.clear(job.engine, job.out)
            if isinstance(error, (KeyboardInterrupt, SystemExit)):
                time.sleep(SETTLE_S)
                leftovers.clear(job.engine, job.out)
        raise
    _clear(job)


def _clear(job: Job) -> None:
    with Progress("remove the build's steps from the engine", shown=job.say.shown):
        leftovers.clear(job.engine, job.out)
