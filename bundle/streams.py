"""Read the records of a sealed report or results: strict, complete, within bounds, a million samples in seconds."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

from schema import documents, samples
from schema.errors import KitError
from schema.stream import Order, compact

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_LINE_BYTES = 64 << 20
MAX_RAW_BYTES = 1 << 30
#: JSON Lines of samples shrink 4 to 10 times; deflate can do 1032.
MAX_RATIO = 200
CHUNK = 1 << 20
#: Kinds that come by the million, checked by `schema.samples`; a general validator takes 0.2 ms for each of the others.
FAST = frozenset({"sample", "telemetry"})
MAX_CHECKED = 20_000
SAMPLE = {"kind": "sample"}
#: case, process, index, seconds, at_s, whether it is tagged `throttled`
Sample = tuple[bytes, int, int, float, float, bool]


def pack(data: bytes) -> bytes:
    """Return the bytes as gzip that names no file and no time: equal bytes give equal gzip."""
    packer = zlib.compressobj(6, zlib.DEFLATED, 31)
    return packer.compress(data) + packer.flush()


def unpack(data: bytes) -> Iterator[bytes]:
    """Yield what the gzip holds, piece by piece; KitError for a bomb, a second member, or bytes after the end."""
    unpacker = zlib.decompressobj(31)
    limit = min(MAX_RAW_BYTES, MAX_RATIO * len(data) + CHUNK)
    total, rest = 0, data
    try:
        while not unpacker.eof:
            piece = unpacker.decompress(rest, CHUNK)
            rest = unpacker.unconsumed_tail
            total += len(piece)
            if total > limit:
                raise KitError(f"it unpacks to more than {limit} bytes: that is no record of samples")
            if not piece and not rest and not unpacker.eof:
                raise KitError("the compressed data is cut off")
            if unpacker.unused_data:
                raise KitError("there are bytes after the end of the compressed data")
            yield piece
    except zlib.error as error:
        raise KitError(f"the compressed data is damaged: {error}") from error


def lines(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield whole lines without their newline; the last must have had one too."""
    rest = b""
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        if len(rest) > MAX_LINE_BYTES:
            raise KitError(f"a line is longer than {MAX_LINE_BYTES} bytes")
        yield from whole
    if rest:
        raise KitError("the last line is cut off")


def records(source: Iterator[bytes], document: str) -> Iterator[dict[str, Any] | Sample]:
    """Yield each record: a sample as a `Sample`, any other as its JSON object.

    Raises KitError unless the lines are start, records, end, each follows the schema, and `end` counts them right.
    """
    order, checked = Order(), 0
    for number, line in enumerate(source, 1):
        sample = samples.quick(line) if document == "results-1" else None
        if sample is not None:
            order.take(SAMPLE, number)
            yield sample
            continue
        item = _record(line, number, document)
        checked += item["kind"] not in FAST
        if checked > MAX_CHECKED:
            raise KitError(f"there are more than {MAX_CHECKED} records beside samples and sensor readings")
        order.take(item, number)
        if item["kind"] == "sample":
            where = item["case"].encode(), int(item["process"]), int(item["index"])
            yield *where, float(item["seconds"]), float(item["at_s"]), bool(item.get("tags"))
        else:
            yield item
    order.close()


def _record(line: bytes, number: int, document: str) -> dict[str, Any]:
    item = documents.parse_json(line, f"line {number}")
    if not isinstance(item, dict) or not isinstance(item.get("kind"), str):
        raise KitError(f"line {number} is not a record of ours")
    if b"\\u" in line:
        _whole(item, number)
    fast = document == "results-1" and item["kind"] in FAST
    wrong = samples.fault(item) if fast else _by_schema(item, document)
    if wrong:
        raise KitError(f"line {number} does not follow schema {document}: {wrong}")
    return item


def _whole(item: dict[str, Any], number: int) -> None:
    """Raise KitError for half of a surrogate pair: JSON can write it down, but it is no text."""
    try:
        compact(item).encode()
    except UnicodeEncodeError as error:
        raise KitError(f"line {number} holds half a character") from error


def _by_schema(item: dict[str, Any], document: str) -> str:
    part = documents.PARTS[document].get(item["kind"])
    if part is None:
        return f"a record {item['kind'][:40]!r} does not belong there"
    if documents.depth(item) > documents.MAX_DEPTH:
        return f"nested deeper than {documents.MAX_DEPTH}"
    wrong = "; ".join(documents.problems(item, documents.validator(*part)))
    if not wrong and item["kind"] == "start" and item["document"] != document:
        return f"it begins a {item['document']}"
    return wrong
