"""One build in the engine, from verified inputs to the canonical archive, leaving nothing else in the engine."""

from __future__ import annotations

import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from images import adding, canonical, context, leftovers, room, rootfs
from images.adding import stored
from images.canonical import Addition
from images.endpoint import EngineError
from images.slim import Sieve
from pins.progress import Progress
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from images.base import Base
    from images.canonical import Identity
    from images.engine import Engine
    from pins.lock import Lock
    from pins.store import Store

DOCKERFILE = Path(__file__).with_name("Dockerfile")
ARCHIVE = "image.tar"
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
        return not self.lock.base or self.lock.adds


@dataclass(frozen=True)
class Made:
    """What a build made: an identity, the archive that has it, and what was left out for the sake of slimness."""

    identity: Identity
    archive: Path
    slim: dict[str, Any] | None


def assemble(job: Job, folder: Path, below: Base | None = None) -> Made:
    """Build without any cache and write the canonical archive into `folder`; it lacks the layers of the base `below`.

    The engine's own image is removed again, as is what an earlier build may have left. Raises KitError when there is no
    room, an input is missing, a step fails, or something is not what the lock says.
    """
    room.require(job.lock, job.engine.about(), job.out, base_bytes=0)  # a base is there by now
    sieve = Sieve(job.lock.document.get("slim", ()))
    with _removed(job) as name:
        made = _on_base(job, folder, below, sieve) if below else _from_packages(job, folder, name, sieve)
    return Made(made, folder / ARCHIVE, sieve.answer())


def _from_packages(job: Job, folder: Path, name: str, sieve: Sieve) -> Identity:
    saved = folder / "saved.tar"
    entries = _context(job, folder)
    with _steps(job) as on_log:
        data = cast("IO[bytes]", context.Context(entries, job.lock.epoch))
        built = job.engine.build(data, tag=name, nocache=True, on_log=on_log)
        if job.lock.wheels:
            adding.refuse_other(job, built, "what its Debian packages make", folder)
        with adding.layers(job, built, folder, debs=(), venv=adding.VENV, on_log=on_log) as tars:
            save(job, built, saved)
            more = Addition(tars, {}, adding.VENV if tars else "", sieve)
            with Progress("rewrite", unit="B", shown=job.say.shown) as written:
                made = canonical.rewrite(saved, folder / ARCHIVE, more, **_how(job, written))
    saved.unlink()
    return made


def _on_base(job: Job, folder: Path, below: Base, sieve: Sieve) -> Identity:
    """Look at the base first, in a container of a second: what is not as the lock says is no base."""
    lock, venv = job.lock, adding.place_for_wheels(below.config)
    adding.refuse_volumes(job, below.config, below.image)
    adding.refuse_other(job, below.image, below.image, folder)
    with (
        _steps(job) as on_log,
        adding.layers(job, below.image, folder, debs=lock.debs, venv=venv, on_log=on_log) as tars,
        Progress("rewrite", unit="B", shown=job.say.shown) as written,
    ):
        more = Addition(tars, lock.document["environment"], venv if lock.wheels else "", sieve)
        return canonical.above(folder / ARCHIVE, below.config, below.below, more, **_how(job, written))


def _how(job: Job, written: Progress) -> dict[str, Any]:
    return {"epoch": job.lock.epoch, "reference": job.reference, "advance": written.advance}


@contextmanager
def _steps(job: Job) -> Iterator[Callable[[str], None]]:
    """Yield what follows the log of an installation."""
    count, then = 2 * len(job.lock.debs), "all installed, compiling byte code"  # which takes about as long
    with Progress("dpkg" if count else "install", count, unit="steps", then=then, shown=job.say.shown) as steps:
        yield _packages(steps)


def _packages(steps: Progress) -> Callable[[str], None]:
    """Return what counts each package twice, unpacked and set up; the first few are installed once more with all."""
    seen: set[str] = set()

    def follow(line: str) -> None:
        words = line.split(" ")
        step = " ".join(words[: 2 if words[0] == "Unpacking" else 3])
        if line.startswith(("Unpacking ", "Setting up ")) and step not in seen and len(seen) < steps.total:
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
    debs = [(item, stored(job.store, item)) for item in lock.debs]
    text = _read(job.dockerfile)
    text = context.dockerfile(text, lock.epoch, lock.document["environment"], leftovers.label(job.out))
    entries: list[tuple[str, bytes | Path]] = [("Dockerfile", text.encode())]
    first = folder / "first.tar"
    bootstrap = [(item["name"], path) for item, path in debs if item["bootstrap"]]
    with Progress("unpack", len(bootstrap), unit="packages", shown=job.say.shown) as unpacked:
        rootfs.write_first_layer(bootstrap, first, epoch=lock.epoch, advance=unpacked.advance)
    entries.append(("first.tar", first))
    return entries + [(f"debs/{item['path'].rpartition('/')[2]}", path) for item, path in debs]


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
