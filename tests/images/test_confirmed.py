"""An engine's word for a registry's digest is taken where the registry has it, or cannot be asked."""

import pytest

from images.confirmed import confirmed
from tests.pins.fakes_registry import Fake, Image, digest

DIGEST = digest(Image().manifest)
ANSWERS = {  # sentence: what the registry answers
    "it is not there": (404, {}, b"{}"),
    "nobody may see it": (403, {}, b"{}"),
    "a login is wanted": (401, {}, b"{}"),
    "another is there": (200, {}, b"{}"),
}


def test_what_its_registry_has_is_taken_in_silence():
    said = []
    with Fake() as registry:
        registry.put(Image())
        named = f"{registry.host}/some/image@{DIGEST}"

        assert confirmed([named], said.append) == [named]
    assert said == []


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_what_its_registry_does_not_have_is_not_taken_and_this_is_said(answer):
    said = []
    with Fake() as registry:
        registry.answers[f"/v2/some/image/manifests/{DIGEST}"] = answer
        named = f"{registry.host}/some/image@{DIGEST}"

        assert confirmed([named], said.append) == []
    assert len(said) == 1
    assert f"{named} is not confirmed, and not taken: " in said[0]


def test_a_registry_that_cannot_be_reached_takes_no_identity_away_and_this_is_said():
    said, named = [], f"127.0.0.1:1/some/image@{DIGEST}"

    assert confirmed([named], said.append) == [named]
    assert f"{named} is not confirmed: " in said[0]


@pytest.mark.parametrize("name", ["localhost/mine", "localhost/a/b"])
def test_what_podman_built_is_in_no_registry(name):
    assert confirmed([f"{name}@{DIGEST}"], lambda _: None) == []


def test_localhost_with_a_port_is_a_registry_like_others():
    with Fake() as registry:
        registry.put(Image())
        named = f"localhost:{registry.server.server_port}/some/image@{DIGEST}"

        assert confirmed([named, f"<none>@{DIGEST}"], lambda _: None) == [named]
