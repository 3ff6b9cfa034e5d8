"""The host's side of one run: take the stream in, hold every line against the schema, keep it as it comes."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, final

from images.access import access
from images.cargo import pack
from images.stderr import Stderr
from images.tarwriter import write_all
from schema import documents, samples
from schema import stream as streams
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from images.access import Access
    from images.engine import Engine
    from pins.lock import Lock

DOCUMENTS = {"validate": "report-1", "benchmarks": "results-1"}
AGAIN = "run the command again"


def nobody(_line: str) -> None:
    """Hear a line for nobody."""


def stream(
    engine: Engine,
    image: Mapping[str, Any],
    lock: Lock,
    module: str,
    argv: list[str],
    *,
    backend: str,
    out_path: Path,
    granted: Access | None = None,
    on_record: Callable[[dict[str, Any]], None] | None = None,
    on_stderr: Callable[[str], None] = nobody,
    extra: Mapping[str, bytes] | None = None,
    deadline_s: float = 3600,
) -> list[dict[str, Any]]:
    """Run `python3 -m MODULE ARGV` in the image; return its records and leave them, byte for byte, in `out_path`.

    `granted` is what it may use of the machine; without it, all that is there.
    `on_stderr` hears what a person should know about the run's access before it begins, then what the run says there.
    Until `end` they are in `<out_path>.part`. A run that is cut off (crash, deadline, memory, Ctrl-C) or that says
    something wrong leaves them in `<out_path>.partial` and an older `out_path` as it was; KitError says so.
    """
    granted = granted or access(backend, engine.about())
    cargo, sources_sha256 = pack(lock.document, context_of(image, lock, backend), extra)
    sent = {
        "document": DOCUMENTS[module],
        "runtime": "container",
        "backend": backend,
        "image_id": image["image_id"],
        "lock_sha256": lock.sha256,
        "cargo_sha256": sources_sha256,
    }
    for note in granted.devices.notes:
        on_stderr(note)
    with Intake(out_path, sent, on_record) as intake, Stderr(on_stderr) as stderr:
        code = engine.run(
            str(image["engine_id"]),
            cargo,
            ["python3", "-m", module, *argv],
            granted,
            deadline_s=deadline_s,
            on_line=intake.take,
            on_stderr=stderr.hear,
        )
        conclude(intake, stderr, module, code)
    return intake.records


def conclude(intake: Intake, stderr: Stderr, module: str, code: int) -> None:
    """Finish the stream; where none began because the run refused, raise its own words."""
    if not intake.records:
        stderr.raise_refusal(code)
    intake.finish(f"{module} {ended(code)} and no `end`{stderr.last}")


def ended(code: int) -> str:
    """Say how a process ended: engines and shells add 128 to the number of a signal, Python makes it negative."""
    try:
        name = signal.Signals(-code if code < 0 else code - 128).name
    except ValueError:
        return f"ended with exit code {code}"
    who = ": somebody killed it, or the kernel for want of memory" if name == "SIGKILL" else ""
    return f"ended with exit code {code} ({name}{who})"


def context_of(image: Mapping[str, Any], lock: Lock, backend: str) -> dict[str, Any]:
    """Return context.json: what the code inside cannot know by itself, and repeats in its `start`."""
    return {
        "runtime": "container",
        "backend": backend,
        "image_id": image["image_id"],
        "lock_sha256": lock.sha256,
    }


@final
class Intake:
    """A stream coming in: checks each line, appends it to the file, and renames the file when the stream is whole.

    The caller sees to it that one at a time writes to a path. Whatever a disk refuses is a KitError.
    """

    def __init__(
        self,
        path: Path,
        sent: Mapping[str, Any],
        on_record: Callable[[dict[str, Any]], None] | None = None,
    ) -> None:
        self.path = path
        self.part = path.with_name(path.name + ".part")
        self.partial = path.with_name(path.name + ".partial")
        self.sent = dict(sent)
        self.on_record = on_record
        self.records: list[dict[str, Any]] = []
        self.order = streams.Order()
        self.whole = False
        self.file: IO[bytes]

    @contextmanager
    def _written(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise KitError(f"cannot write {self.part}: {error.strerror}", "free space, or set KIT_OUT") from error

    def __enter__(self) -> Intake:
        with self._written():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.file = self.part.open("wb", buffering=0)  # a crash at sample 40 leaves 39
        return self

    def take(self, line: bytes) -> None:
        """Take one line; KitError, naming it, when it is not what may come here."""
        number = len(self.records) + 1
        item = self._parsed(line, number)
        self.order.take(item, number)
        if item["kind"] == "start":
            self._as_sent(item)
        with self._written():
            write_all(self.file.fileno(), line + b"\n")
        self.records.append(item)
        if self.on_record:
            self.on_record(item)

    def _parsed(self, line: bytes, number: int) -> dict[str, Any]:
        if self.sent["document"] == "results-1" and samples.quick(
            line
        ):  # exactly what we write, so nothing is hidden by a plain parser
            return streams.parse_line(line, number)
        where = f"line {number} of the stream"
        item = documents.parse_json(line, where)
        kind = item.get("kind") if isinstance(item, dict) else None
        if documents.depth(item) > documents.MAX_DEPTH:
            raise KitError(f"{where} is nested deeper than {documents.MAX_DEPTH}", AGAIN)
        document = self.sent["document"]
        if document == "results-1" and kind in {"sample", "telemetry"}:
            fault = samples.fault(item)
        elif part := documents.PARTS[document].get(str(kind)):
            fault = "; ".join(documents.problems(item, documents.validator(*part)))
        else:
            raise KitError(f"{where} is not a record of {document}: {line[:80]!r}", AGAIN)
        if fault:
            raise KitError(f"{where} ({kind}) does not follow the schema of {document}: {fault}", AGAIN)
        return dict(item)

    def _as_sent(self, start: dict[str, Any]) -> None:
        for key, value in self.sent.items():
            if start[key] != value:
                raise KitError(f"the run says {key} {start[key]!r}, what was sent is {value!r}", AGAIN)

    def finish(self, otherwise: str) -> None:
        """Give the file its name if the stream is whole; KitError with the reason `otherwise` when it was cut off."""
        if not self.records or self.records[-1]["kind"] != "end":
            raise KitError(otherwise, AGAIN)
        with self._written():
            os.fsync(self.file.fileno())
            self.part.replace(self.path)
            self.partial.unlink(missing_ok=True)  # of an earlier run that broke off
        self.whole = True

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _trace: object) -> None:
        with self._written(), self.file:
            if self.whole:
                return
            if not self.records:
                self.part.unlink()
                return
            place = self._put_aside()
        if isinstance(error, KitError):
            error.message += f"\nthe {len(self.records)} records that came are kept in {place}"

    def _put_aside(self) -> Path:
        """Return where the records of a broken run lie; what broke it is said, and not that this failed, too."""
        try:
            return self.part.replace(self.partial)
        except OSError:
            return self.part
