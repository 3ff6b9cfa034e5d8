"""One build in the engine, from verified inputs to the canonical archive, leaving nothing else in the engine."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from images import base, canonical, context, rootfs
from pins.progress import Progress
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from images.canonical import Identity
    from images.engine import Engine
    from pins.lock import Lock
    from pins.store import Store

DOCKERFILE = Path(__file__).with_name("Dockerfile")
REPOSITORY = "rocm-repro-kit"
PIECE_BYTES = 1 << 20


@dataclass(frozen=True)
class Made:
    """What a build made: an identity, and the archive that has it."""

    identity: Identity
    archive: Path


def needed(lock: Lock) -> bool:
    """Say whether anything is built at all: a base to which nothing is added is the image itself."""
    return bool(not lock.base or lock.debs or lock.wheels or lock.document["environment"])


def reference(lock: Lock, dockerfile: Path = DOCKERFILE) -> str:
    """Return the name that the image gets in the engine: the lock's, unless another recipe made it."""
    return f"{REPOSITORY}:{lock.name[:100]}" + ("" if dockerfile == DOCKERFILE else "-custom")


def assemble(
    lock: Lock,
    engine: Engine,
    store: Store,
    folder: Path,
    *,
    dockerfile: Path,
    again: bool = False,
    say: Progress,
    below: dict[str, Any] | None = None,
) -> Made:
    """Build the lock without any cache and write its canonical archive into `folder`.

    `below` is the base as pulled (`base` of an image record). The engine's own image is removed again, as is what an
    earlier build may have left. Raises KitError when an input is missing or a step fails.
    """
    entries = _context(lock, store, folder, dockerfile)
    built = f"{REPOSITORY}:{lock.name[:100]}-{'again' if again else 'building'}"
    with _removed(engine, built):
        seen: set[str] = set()

        def follow(line: str) -> None:
            """Count each package twice, unpacked and set up; some of the first are installed once more with all."""
            step = " ".join(line.split(" ")[:2] if line.startswith("Unpacking ") else line.split(" ")[:3])
            if line.startswith(("Unpacking ", "Setting up ")) and step not in seen:
                seen.add(step)
                steps.advance()

        with Progress("dpkg", 2 * len(lock.debs), unit="steps", shown=say.shown) as steps:
            engine.build(
                cast("IO[bytes]", context.Context(entries, lock.epoch)),
                tag=built,
                nocache=True,
                base=below["reference"] if below else "",
                on_log=follow,
            )
        saved = folder / "saved.tar"
        with Progress("save", unit="B", shown=say.shown) as bytes_saved, saved.open("wb") as file:
            for piece in engine.save(built):
                file.write(piece)
                bytes_saved.advance(len(piece))
    archive = folder / "image.tar"
    with Progress("rewrite", unit="B", shown=say.shown) as bytes_written:
        identity = canonical.rewrite(
            saved,
            archive,
            epoch=lock.epoch,
            reference=reference(lock, dockerfile),
            base=below["diff_ids"] if below else (),
            with_base=below is None,  # the engine has it: it was built on it
            advance=bytes_written.advance,
        )
    saved.unlink()
    return Made(identity, archive)


def load(engine: Engine, made: Made, name: str, say: Progress) -> dict[str, Any]:
    """Load the archive, which calls the image `name`, and return the engine's image."""
    with Progress("load", made.archive.stat().st_size, unit="B", shown=say.shown) as loaded:
        return engine.load(_pieces(made.archive, loaded), name)


def _context(lock: Lock, store: Store, folder: Path, dockerfile: Path) -> list[tuple[str, bytes | Path]]:
    """Return the entries of the build context: the Dockerfile, the first layer, every package in the lock's order."""
    if lock.wheels or (lock.base and lock.debs):
        raise KitError(
            f"{lock.name} adds packages to a base image, which this version cannot build",
            "use a lock whose base is the whole image, or one made of Debian packages alone",
        )
    debs = [(item, _input(store, item)) for item in lock.debs]
    text = f"FROM {base.reference(lock.base)}\n" if lock.base else _read(dockerfile)
    text = context.dockerfile(text, lock.epoch, lock.document["environment"])
    entries: list[tuple[str, bytes | Path]] = [("Dockerfile", text.encode())]
    if debs:
        first = folder / "first.tar"
        rootfs.write_first_layer(
            [(item["name"], path) for item, path in debs if item["bootstrap"]], first, epoch=lock.epoch
        )
        entries.append(("first.tar", first))
        entries += [(f"debs/{item['path'].rpartition('/')[2]}", path) for item, path in debs]
    return entries


def _input(store: Store, item: dict[str, Any]) -> Path:
    """Return where an input lies in the store; KitError when its hash is unknown or it is not there."""
    if not item["sha256"]:
        raise KitError(f"the lock does not know the sha256 of {item['name']}", "resolve it: invoke lock")
    if not store.has(item["sha256"]):
        raise KitError(f"{item['name']} {item['version']} is not in the store", "invoke fetch")
    return store.path(item["sha256"])


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise KitError(f"cannot read {path}: {error}", "--dockerfile FILE") from error


def _pieces(path: Path, progress: Progress) -> Iterable[bytes]:
    with path.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            yield piece
            progress.advance(len(piece))


@contextmanager
def _removed(engine: Engine, name: str) -> Iterator[None]:
    """See to it that the engine has no image of this name, neither before nor after."""
    engine.remove(name, force=True)
    try:
        yield
    finally:
        engine.remove(name, force=True)
