"""Read the engine's progress streams: what was built, loaded, pulled, and the error that hides in a good answer."""

from __future__ import annotations

import re
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from images.endpoint import EngineError, remedy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

LAST_LINES = 15
KILLED = re.compile(r"(code:|status) 137\b")
SHORT = "build again with more memory free: the step was killed, most likely for want of it"
COLOUR = re.compile(r"\x1b\[[0-9;]*m")  # Docker's builder shows in red what a step says on stderr
AGAIN = "build it again: ./kit build"


@contextmanager
def hung_up(session: Any) -> Iterator[None]:
    """Close the answers to what a session (of requests) asks meanwhile: an engine works on for who seems to listen."""
    answers: list[Any] = []

    def remember(answer: Any, *_args: Any, **_more: Any) -> None:
        answers.append(answer)

    session.hooks["response"].append(remember)
    try:
        yield
    finally:
        session.hooks["response"].remove(remember)
        for answer in answers:
            answer.close()


def built(answer: Iterable[dict[str, Any]], on_log: Callable[[str], None] | None = None) -> str:
    """Return the id of the built image, from the stream's `aux` entry: the log's text is for people."""
    log: deque[str] = deque(maxlen=LAST_LINES)
    image = ""
    unfinished = ""
    for item in answer:
        text = unfinished + COLOUR.sub("", str(item.get("stream", "")))
        *lines, unfinished = text.split("\n")
        for line in lines:
            log.append(line)
            if on_log:
                on_log(line)
        if "error" in item or "errorDetail" in item:
            deque(answer, maxlen=0)  # read to the end, so that the connection can be used again
            said = _error(item)
            last = "\n".join(line for line in [*log, unfinished] if line.strip())
            raise EngineError(
                f"the build failed: {said}\nlast lines of its log:\n{last}",
                remedy(said, SHORT if KILLED.search(said) else "mend that step, build again"),
            )
        image = (item.get("aux") or {}).get("ID", image)
    if not image:
        raise EngineError("\n".join(["the build ended without an image; last lines of its log:", *log]), AGAIN)
    return image


def loaded(answer: Iterable[dict[str, Any]]) -> None:
    """Follow a load to its end; EngineError for `errorDetail` or layers that did not unpack."""
    text = ""
    for item in answer:
        if "error" in item or "errorDetail" in item:
            deque(answer, maxlen=0)
            said = _error(item)
            raise EngineError(f"the engine could not load the image: {said}", remedy(said, AGAIN))
        text += str(item.get("stream", ""))
    if "error unpacking" in text.lower():  # the containerd store goes on to say that it loaded the image
        said = next(line for line in text.splitlines() if "error unpacking" in line.lower())
        raise EngineError(f"the engine could not load the image: {said}", remedy(said, AGAIN))


def pulled(answer: Iterable[dict[str, Any]], on_progress: Callable[[int, int], None] | None = None) -> None:
    """Follow a pull to its end, summing the layers' bytes; EngineError when it failed."""
    layers: dict[str, tuple[int, int]] = {}
    for item in answer:
        if "error" in item or "errorDetail" in item:
            deque(answer, maxlen=0)
            said = _error(item)
            raise EngineError(f"the pull failed: {said}", remedy(said))
        detail = item.get("progressDetail") or {}
        if item.get("status") == "Downloading" and detail.get("total"):
            layers[item["id"]] = (detail["current"], detail["total"])
        elif item.get("status") in {"Download complete", "Pull complete"} and item.get("id") in layers:
            total = layers[item["id"]][1]
            layers[item["id"]] = (total, total)
        else:
            continue
        if on_progress:
            on_progress(sum(done for done, _ in layers.values()), sum(total for _, total in layers.values()))


def _error(item: dict[str, Any]) -> str:
    """Return the words of an error entry, in either of its two spellings."""
    return str((item.get("errorDetail") or {}).get("message") or item.get("error")).strip()
