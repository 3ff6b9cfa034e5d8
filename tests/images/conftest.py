"""No test of images asks a registry: what one would answer is told."""

import pytest

from pins import registry
from pins.references import parse
from schema.errors import KitError


class Registry:
    """What registries answer: `images` by reference; without one, that nobody answers."""

    def __init__(self):
        self.images = {}
        self.asked = []

    def image(self, reference, **_more):
        self.asked.append(str(reference))
        if str(reference) not in self.images:
            raise KitError(f"{parse(str(reference)).registry} does not answer", "connect this machine")
        return self.images[str(reference)]


@pytest.fixture(autouse=True)
def registries(monkeypatch):
    told = Registry()
    monkeypatch.setattr(registry, "image", told.image)
    return told
