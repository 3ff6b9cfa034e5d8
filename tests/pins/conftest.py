"""No test of pins asks the network or a person's cache unless it says so."""

import pytest

from tests.pins import fakes_registry
from tests.pins.fakes_archive import Archive


@pytest.fixture(autouse=True)
def apart(monkeypatch, tmp_path):
    for name in ("KIT_SOURCE", "http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("KIT_SNAPSHOT", "")
    monkeypatch.setenv("KIT_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def archive():
    with Archive() as started:
        yield started


@pytest.fixture
def fake():
    with fakes_registry.Fake() as started:
        yield started
