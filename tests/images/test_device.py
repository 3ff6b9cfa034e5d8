"""Memory, shared memory and user, as a person may say them: what is taken, and what is refused with one remedy."""

import os

import pytest

from images.access import access
from images.device import Device
from images.lines import docker_run_line
from schema.errors import KitError
from tests.fakes import ABOUT

GIB = 1 << 30


def given(about=None, **asked):
    return access("cpu", ABOUT | (about or {}), Device(**asked))


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("2g", 2 * GIB),
        ("2G", 2 * GIB),
        ("2GiB", 2 * GIB),
        ("2gb", 2 * GIB),
        ("1.5g", 3 * GIB // 2),
        ("2048m", 2 * GIB),
        (f"{2 * GIB}", 2 * GIB),
        (" 2 g ", 2 * GIB),
    ],
)
def test_a_size_is_read_as_engines_read_it(text, size):
    found = given(memory=text, shm=text)

    assert (found.memory_bytes, found.shared_bytes) == (size, size)
    assert (found.host_config["Memory"], found.host_config["ShmSize"]) == (size, size)
    assert f"--memory={size} " in docker_run_line(found, "x", ["y"])
    assert f"--shm-size={size} " in docker_run_line(found, "x", ["y"])


@pytest.mark.parametrize("option", ["memory", "shm"])
@pytest.mark.parametrize(
    "text",
    [
        "much",
        "0",
        "0g",
        "-1g",
        "1x",
        "1gg",
        "g",
        "1,5g",
        "inf",
        "nan",
        "1e9",
        "9" * 400,
        "9" * 5000,
        "1." + "0" * 5000,
        "\u0662g",
    ],
)
def test_what_is_no_size_is_refused(option, text):
    with pytest.raises(KitError, match=f"--{option} {text!r} is no size") as caught:
        given(**{option: text})

    assert f"--{option} 64g" in caught.value.hint


@pytest.mark.parametrize("text", ["1m", "511m", "17g", "1t"])
def test_a_memory_limit_that_cannot_be_is_refused_with_what_can(text):
    with pytest.raises(KitError, match="out of range") as caught:
        given(memory=text)

    assert "17.2 GB" in caught.value.hint


def test_shared_memory_counts_within_the_memory():
    with pytest.raises(KitError, match=r"--shm 3g is more than the memory"):
        given(memory="2g", shm="3g")

    assert given(memory="4g").shared_bytes == GIB


@pytest.mark.parametrize(
    ("text", "user"),
    [("1000", "1000:1000"), ("1000:44", "1000:44"), ("0", "0:0"), ("4294967294", "4294967294:4294967294")],
)
def test_a_user_is_two_numbers(text, user):
    found = given(user=text)

    assert found.devices.user == user
    assert f"--user={user} " in docker_run_line(found, "x", ["y"])


@pytest.mark.parametrize(
    "text", ["root", "render", "1000:render", "1000:", ":44", "-1", "1000:44:5", "4294967295", "1 000"]
)
def test_a_user_by_name_or_otherwise_odd_is_refused(text):
    with pytest.raises(KitError, match="is no UID and GID") as caught:
        given(user=text)

    assert "number" in caught.value.hint


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
def test_a_node_that_its_owner_alone_can_open_decides_who_runs(tmp_path):
    (tmp_path / "dev/dri").mkdir(parents=True)
    for name in ("kfd", "dri/renderD128"):
        (tmp_path / "dev" / name).touch(mode=0o600)
        os.chown(tmp_path / "dev" / name, 1000, 1000)

    with pytest.raises(KitError, match=r"--user 1001: .*open to its owner alone"):
        access("rocm", ABOUT, Device(user="1001"), root=tmp_path, environ={})
    assert access("rocm", ABOUT, Device(user="1000:44"), root=tmp_path, environ={}).devices.user == "1000:44"
