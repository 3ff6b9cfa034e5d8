"""From a lock's image in the engine to a registry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from commands.files import alone_in
from commands.image import engine_door, image_kept
from schema.errors import KitError

if TYPE_CHECKING:
    from commands.chosen import Chosen


def pushed(chosen: Chosen, where: str) -> dict[str, Any]:
    """Push the image that is there and still true; return what `push --json` promises to scripts."""
    from dataclasses import asdict

    from images.push import push
    from pins.store import Store

    engine = engine_door()
    with alone_in(chosen.out):
        image = image_kept(chosen, engine)
        if image is None:
            raise KitError(f"there is no image of {chosen.lock.name} to push", f"./kit build --lock {chosen.lock.name}")
        return asdict(push(image, engine, where, out=chosen.out, store=Store()))


def lines(answer: dict[str, Any]) -> str:
    """Return what a person wants to know of a push: what was sent, and the name that stays."""
    from pins.progress import amount

    sent, mounted, whole = (amount(answer[key], "B") for key in ("sent_bytes", "mounted_bytes", "bytes"))
    return f"manifest  {answer['manifest_digest']}\nsent      {sent} of {whole}, {mounted} mounted\n{answer['pull']}"
