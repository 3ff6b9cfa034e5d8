"""Random changes to a bundle: each is refused. `KIT_MUTATIONS=10000` makes more of them."""

import io
import os
import random

import pytest

from bundle import archive, layout, verify
from schema.errors import KitError
from tests.bundle import fakes_bundle as fakes

COUNT = int(os.environ.get("KIT_MUTATIONS", "300"))


@pytest.fixture(scope="module")
def good():
    return fakes.bundle(samples=10)


def refused(judge):
    try:
        return judge()["verdict"] == "CONTRADICTED"
    except KitError:
        return True


def changed(data, rng):
    """Return the bytes with one random thing changed, or as they were where that changes nothing."""
    data = bytearray(data)
    place, length = rng.randrange(len(data) + 1), rng.choice([1, 1, 1, 2, 8, 100])
    what = rng.randrange(5)
    if what == 0:
        data[place : place + length] = rng.randbytes(length)
    elif what == 1:
        del data[place : place + length]
    elif what == 2:
        data[place:place] = rng.randbytes(length)
    elif what == 3:
        data[place:place] = data[rng.randrange(len(data) + 1) :][:length]
    else:
        del data[place:]
    return bytes(data)


def mutated(files, rng):
    """Return the files with one random thing changed in one of them, or in their set."""
    path, other = rng.sample(sorted(files), 2)
    what = rng.randrange(10)
    if what == 0:
        return {name: data for name, data in files.items() if name != path}
    if what == 1:
        return files | {f"{path}.{rng.randrange(99)}": files[path]}
    if what == 2:
        return files | {path: files[other], other: files[path]}
    if what == 3:
        return {other if name == path else name: data for name, data in files.items()}
    return files | {path: changed(files[path], rng)}


def test_every_random_change_of_a_bundle_is_refused(good):
    accepted = []
    for seed in range(COUNT):
        files = mutated(good, random.Random(seed))
        if files != good and not refused(lambda files=files: verify.judge(files) if "bundle.json" in files else gone()):
            accepted.append(seed)

    assert accepted == []


def gone():
    raise KitError("no manifest")


def test_every_random_change_of_an_archive_is_refused(good, tmp_path):
    out = io.BytesIO()
    archive.write(good, out)
    accepted, path = [], tmp_path / "bundle.tar"
    for seed in range(COUNT):
        data = changed(out.getvalue(), random.Random(seed))
        path.write_bytes(data)
        if data != out.getvalue() and not refused(lambda: verify.verify(path)):
            accepted.append(seed)

    assert accepted == []


def test_a_random_change_whose_digests_are_made_to_fit_ends_in_a_verdict_not_a_crash(good):
    """Whoever makes digests fit may invent evidence (another time a check took); nobody may stop the judge."""
    verdicts = set()
    for seed in range(COUNT):
        files = mutated(good, random.Random(seed))
        if files.get(layout.MANIFEST) == good[layout.MANIFEST] and files != good:
            verdicts.add(verify.judge(fakes.sealed_again(files))["verdict"])

    assert "CONTRADICTED" in verdicts
