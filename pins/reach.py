"""Ask whether the files of a lock are still where a fetch would look for them; nothing of them is downloaded."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pins import resolve_index, wheels
from pins.progress import Progress
from pins.references import OCI, parse
from pins.registry_client import Clients
from pins.store import file_sha256
from pins.web import Client, LaterError, RangeError, RefusedError
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pins.sources import Input, Place, Sources

    State = Literal["there", "unknown", "changed", "gone", "unasked"]

THREADS = 6
TRIES = 3
BACK_OFF_S = 1.0
SMALL_BYTES = 1 << 16  # an answer that is read to its end, to use its connection again
#: What is right at one source is right; what changed at one may be right at another, which did not answer.
ORDER: tuple[State, ...] = ("there", "unknown", "changed", "gone", "unasked")


@dataclass(frozen=True)
class Reached:
    """How it stands with one file: `there` at one source at least, `changed`, `gone`; else nobody can tell.

    `unknown`: a source does not answer; `unasked`: only pip could ask, by downloading it.
    """

    item: Input
    state: State
    reasons: tuple[str, ...] = ()


def look(items: Iterable[Input], sources: Sources, *, progress: bool = True, timeout_s: float = 30) -> list[Reached]:
    """Ask for each file at its sources, in their order, until one has it."""
    asked = list(items)
    scout = _Scout(timeout_s)
    try:
        with Progress("look", len(asked), unit="files", shown=progress) as shown, ThreadPoolExecutor(THREADS) as pool:

            def one(item: Input) -> Reached:
                found = scout.look(item, sources.places(item))
                shown.advance()
                return found

            return list(pool.map(one, asked))
    finally:
        scout.close()


class _Scout:
    """Ask from any number of threads; a source that does not answer is asked no more."""

    def __init__(self, timeout_s: float) -> None:
        self.client = Client(timeout_s)
        self.registries = Clients(timeout_s)
        self.dead: dict[str, str] = {}
        self.lock = threading.Lock()

    def close(self) -> None:
        """Close the connections."""
        self.client.close()
        self.registries.close()

    def look(self, item: Input, places: list[Place]) -> Reached:
        """Return how it stands with a file."""
        states: list[State] = []
        reasons = []
        for place in places:
            state, why = self._at(place, item)
            if state == "there":
                return Reached(item, state)
            states.append(state)
            reasons.append(f"{place.source}: {why}")
        if item.kind == "wheel":
            state, why = _of_index(item)
            states.append(state)
            reasons.append(why)
        state = next((state for state in ORDER if state in states), "unknown")
        return Reached(item, state, tuple(dict.fromkeys(reasons)) or ("no source is known for it",))

    def _at(self, place: Place, item: Input) -> tuple[State, str]:
        """Ask one source, now and then again where that may help."""
        wait_s, words = BACK_OFF_S, ""
        for left in reversed(range(TRIES)):
            if place.source in self.dead:
                return "unknown", self.dead[place.source]
            try:
                return self._ask(place, item)
            except LaterError as error:
                self.client.forget()
                words = str(error)
            except KitError as error:  # a registry was asked several times already
                words = error.message
                break
            if left:
                time.sleep(wait_s)
                wait_s *= 2
        with self.lock:
            self.dead[place.source] = words
        return "unknown", words

    def _ask(self, place: Place, item: Input) -> tuple[State, str]:
        if place.address.startswith(OCI):
            return self._in_a_registry(place.address)
        try:
            if place.address.startswith(("http://", "https://")):
                return self._on_the_web(place.address, item)
            right = file_sha256(Path(place.address)) == item.sha256
        except FileNotFoundError:
            return "gone", "no such file"
        except (RefusedError, OSError) as error:
            return "gone", str(error)
        return ("there", "") if right else ("changed", "its bytes have another sha256")

    def _on_the_web(self, url: str, item: Input) -> tuple[State, str]:
        """Ask for the last byte alone: the answer tells how long the file is."""
        try:
            answer = self.client.get(url, max((item.size or 1) - 1, 0))
        except RangeError:
            self.client.forget()
            return "changed", f"is not {item.size} bytes long"
        except RefusedError:
            self.client.forget()
            raise
        if answer.response.length is not None and answer.response.length <= SMALL_BYTES:
            answer.response.read()
        else:
            self.client.forget()
        if item.size is not None and answer.size not in {None, item.size}:
            return "changed", f"is {answer.size} bytes long, not {item.size}"
        return "there", ""

    def _in_a_registry(self, address: str) -> tuple[State, str]:
        place = parse(address.removeprefix(OCI))
        there = self.registries.of(place.registry).size(place.repository, place.digest) is not None
        return ("there", "") if there else ("gone", "does not have it")


def _of_index(item: Input) -> tuple[State, str]:
    """Ask the index that a wheel's lock names; the everyday one is known to pip alone, which would download it."""
    index = item.entry["index"]
    if index != "pytorch":
        return "unasked", f"the index {index} is asked by pip alone, which would download it"
    try:
        offered = resolve_index.files(wheels.page(item.entry))
    except KitError as error:
        return "gone", error.message
    if offered is None:
        return "unknown", f"the index {index} does not answer"
    file = next((file for file in offered if file.name == item.name), None)
    if file is None:
        return "gone", f"the index {index} does not list it"
    if file.sha256 not in {None, item.sha256}:
        return "changed", f"the index {index} tells another sha256 for it, {file.sha256}"
    return "there", ""
