import re

import pytest

from pins import choice, lock
from pins.host import Host
from schema.errors import KitError
from tests.pins.fakes_archive import BASE, PIN, deb, document

OLD, NEW = ["gfx90a", "gfx1030"], ["gfx90a", "gfx942", "gfx1100"]
GPU = {"version": "2.6.0", "build": "rocm"}

NONE = Host(has_kfd=False, gfx=(), nvidia=False)
NVIDIA = Host(has_kfd=False, gfx=(), nvidia=True)
MI210 = Host(has_kfd=True, gfx=("gfx90a",), nvidia=False)
MI300 = Host(has_kfd=True, gfx=("gfx942",) * 8, nvidia=False)
DESKTOP = Host(has_kfd=True, gfx=("gfx1100", "gfx1036"), nvidia=True)
STRANGE = Host(has_kfd=True, gfx=("gfx1151",), nvidia=False)
HIDDEN = Host(has_kfd=True, gfx=(), nvidia=False, topology=False)
DRIVER_ONLY = Host(has_kfd=True, gfx=(), nvidia=False)


def amd(name, rocm, gfx, torch="2.6.0"):
    return document(name=name, rocm=rocm, channel="amd", base=BASE, gfx=gfx, torch={"version": torch, "build": "rocm"})


LOCKS = [
    amd("amd-5.7", "5.7", OLD),
    amd("amd-5.9", "5.9.1", OLD),
    amd("amd-5.10", "5.10", OLD),
    amd("amd-6.4", "6.4.1", NEW),
    amd("amd-7.2", "7.2.4", NEW),
    amd("amd-7.2-new-torch", "7.2.4", NEW, torch="2.10.0"),
    amd("amd-10.0", "10.0", ["gfx90a", "gfx942"]),
    document([deb("aa", b"x")], name="debian-5.7", rocm="5.7.1"),
    document([deb("aa", b"x")], name="debian-5.2", rocm="5.2.3"),
]
CUDA = document(name="cuda-13", rocm="0", channel="cuda", base=BASE, torch={"version": "2.9.0", "build": "cuda"})


@pytest.fixture
def folder(tmp_path):
    for item in LOCKS:
        lock.write(item, tmp_path / f"{item['name']}.lock.yaml")
    return tmp_path


CHOICES = {  # sentence: (host, what is asked, the lock, words of the reason)
    "no GPU: the newest Debian lock": (NONE, {}, "debian-5.7", "no AMD GPU"),
    "no GPU, a version: its Debian lock": (NONE, {"rocm": "5.2"}, "debian-5.2", "no /dev/kfd here; ROCm 5.2 as asked"),
    "no GPU, the whole version": (NONE, {"rocm": "5.7.1"}, "debian-5.7", "as asked"),
    "no GPU, channel amd: the newest of all": (NONE, {"channel": "amd"}, "amd-10.0", "channel amd as asked"),
    "no GPU, channel and version": (
        NONE,
        {"rocm": "7.2", "channel": "amd"},
        "amd-7.2-new-torch",
        "channel amd as asked",
    ),
    "NVIDIA alone, no cuda lock yet: Debian, said so": (NVIDIA, {}, "debian-5.7", "NVIDIA GPU .*no cuda lock yet"),
    "NVIDIA alone, a version: Debian": (NVIDIA, {"rocm": "5.7"}, "debian-5.7", "no /dev/kfd"),
    "10 is newer than 7": (MI300, {}, "amd-10.0", "has gfx942; the newest amd lock that serves it"),
    "the newest that serves the GPU": (DESKTOP, {}, "amd-7.2-new-torch", "does not serve gfx1036"),
    "a version with a GPU: channel amd": (MI210, {"rocm": "5.7"}, "amd-5.7", "/dev/kfd is here; ROCm 5.7 as asked"),
    "5.10 is newer than 5.9": (MI210, {"rocm": "5"}, "amd-5.10", "as asked"),
    "5.10 is not 5.1's patch, 7.2 is 7.2.4": (MI300, {"rocm": "7.2"}, "amd-7.2-new-torch", "as asked"),
    "of one version the newest PyTorch, 2.10 above 2.6": (DESKTOP, {"rocm": "7.2.4"}, "amd-7.2-new-torch", "as asked"),
    "channel debian on a GPU machine": (MI300, {"channel": "debian"}, "debian-5.7", "channel debian as asked"),
    "a GPU that cannot be identified: the newest, said so": (HIDDEN, {}, "amd-10.0", "cannot be read"),
    "a driver without a GPU: Debian": (DRIVER_ONLY, {}, "debian-5.7", "no AMD GPU"),
    "a lock by name": (MI300, {"lock": "amd-5.7"}, "amd-5.7", "by name; its GPU binaries do not serve gfx942"),
    "a lock by name wins over all else": (NONE, {"lock": "amd-6.4", "rocm": "9"}, "amd-6.4", "by name$"),
}


@pytest.mark.parametrize(("host", "asked", "name", "reason"), CHOICES.values(), ids=CHOICES)
def test_the_lock_that_is_chosen(folder, host, asked, name, reason):
    found = choice.find(host, folder=folder, **asked)

    assert found.lock.name == name
    assert re.search(reason, found.reason), found.reason


REFUSALS = {  # sentence: (host, what is asked, the message, the hint)
    "MI300 needs 6.0": (
        MI300,
        {"rocm": "5.7"},
        "^ROCm 5.7 does not serve gfx942, which needs ROCm 6.0.0 or newer\n",
        r"^\./kit build --rocm 10\.0$",
    ),
    "the command that works is the newest that serves": (
        DESKTOP,
        {"rocm": "10"},
        "ROCm 10.0 does not serve gfx1036, gfx1100",
        r"^\./kit build --rocm 7\.2\.4$",
    ),
    "no lock for the GPU": (STRANGE, {}, "^no lock serves gfx1151", r"\./kit build --channel debian"),
    "channel amd does not help it": (STRANGE, {"channel": "amd"}, "^no lock serves gfx1151", "--lock NAME"),
    "no Debian lock of that version": (
        NONE,
        {"rocm": "6.4"},
        "no debian lock of ROCm 6.4",
        "--channel amd, which has 6.4.1",
    ),
    "5.1 is not 5.10": (MI210, {"rocm": "5.1"}, "no lock for ROCm 5.1", "5.10"),
    "an unknown version lists those present": (
        NONE,
        {"rocm": "9"},
        "no lock for ROCm 9",
        r"locks present: 5\.2\.3 \(debian: debian-5\.2\), 5\.7 ",
    ),
    "a version near to one": (
        NONE,
        {"rocm": "7.24"},
        "no lock for ROCm 7.24",
        r"^did you mean 7\.2\.4\?",
    ),
    "an unknown channel": (
        NONE,
        {"channel": "snap"},
        "no snap lock",
        r"^locks present: .*\(debian: .*\(amd: ",
    ),
    "a channel near to one": (NONE, {"channel": "Debain"}, "no Debain lock", r"^did you mean debian\? locks present: "),
    "neither the channel nor the version": (
        NONE,
        {"channel": "snap", "rocm": "9"},
        "no snap lock",
        "locks present",
    ),
    "a name near to one": (
        NONE,
        {"lock": "AMD-7.2-newtorch"},
        "no lock AMD",
        r"^did you mean amd-7\.2-new-torch\? ",
    ),
    "an empty version is none": (NONE, {"rocm": " ", "channel": "snap"}, "no snap lock", "locks present"),
    "an unknown name lists those present": (
        NONE,
        {"lock": "nosuch"},
        "no lock nosuch",
        "locks present: amd-10.0, amd-5.10",
    ),
    "a name that climbs out is a path": (NONE, {"lock": "../x"}, r"cannot read \.\./x", ""),
}


@pytest.mark.parametrize(("host", "asked", "message", "hint"), REFUSALS.values(), ids=REFUSALS)
def test_what_is_refused_and_what_works_instead(folder, host, asked, message, hint):
    with pytest.raises(KitError, match=message) as caught:
        choice.find(host, folder=folder, **asked)

    assert re.search(hint, caught.value.hint), caught.value.hint


def test_a_cuda_lock_is_taken_for_nvidia_once_there_is_one(folder):
    lock.write(CUDA, folder / "cuda-13.lock.yaml")

    assert choice.find(NVIDIA, folder=folder).lock.name == "cuda-13"


WHEEL = {"name": "w", "version": "1", "file": "w-1-py3-none-any.whl", "index": "pypi", "sha256": "1" * 64, "size": 1}


def test_of_two_that_are_alike_the_plain_one_is_taken(folder):
    richer = document([deb("aa", b"x")], name="debian-5.7-models", rocm="5.7.1", wheels=[WHEEL])
    lock.write(richer, folder / "debian-5.7-models.lock.yaml")

    assert choice.find(NONE, folder=folder).lock.name == "debian-5.7"


@pytest.mark.parametrize(
    ("sha256", "hint"),
    [
        pytest.param("1" * 64, "./kit build --rocm 7.1 --channel wheel", id="another channel serves it"),
        pytest.param(
            None, "./kit build --channel debian computes on the CPU; --lock NAME insists on one", id="unresolved"
        ),
    ],
)
def test_the_command_that_works_names_a_channel_that_is_not_the_usual_one(folder, sha256, hint):
    other = amd("wheel-7.1", "7.1", ["gfx1151"]) | {"channel": "wheel", "wheels": [WHEEL | {"sha256": sha256}]}
    lock.write(other, folder / "wheel-7.1.lock.yaml")

    with pytest.raises(KitError, match="no lock serves gfx1151") as caught:
        choice.find(STRANGE, folder=folder)

    assert caught.value.hint == hint


def test_a_lock_may_be_a_file_elsewhere(folder):
    found = choice.find(NONE, lock=str(folder / "amd-7.2.lock.yaml"), folder=folder / "elsewhere")

    assert found.lock.name == "amd-7.2"


def test_an_empty_folder_is_said(tmp_path):
    with pytest.raises(KitError, match="no locks"):
        choice.find(NONE, folder=tmp_path)


@pytest.mark.parametrize("name", ["amd-6.4", "debian-5.2"])
def test_a_stale_lock_stops_only_who_would_use_it(folder, name):
    lock.write(PIN | {"name": name}, folder / f"{name}.pin.yaml")

    assert choice.find(MI300, folder=folder).lock.name == "amd-10.0"
    with pytest.raises(KitError, match=f"{name}.lock.yaml is stale") as caught:
        choice.find(DESKTOP if name == "amd-6.4" else NONE, rocm="6.4" if name == "amd-6.4" else "5.2", folder=folder)
    assert caught.value.hint == f"./kit lock --pin {name}"


BROKEN = {
    "not YAML": "{",
    "not a lock": "name: x\n",
    "a version without quotes": "rocm: 5.10\n",
    "nothing": "",
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_a_broken_lock_stops_nobody_and_is_mentioned(folder, text):
    (folder / "amd-11.lock.yaml").write_text(text)
    mention = "amd-11 cannot be read and was passed over: ./kit doctor --lock amd-11 says why"

    found = choice.find(MI300, folder=folder)
    assert (found.lock.name, found.reason.endswith(f"; {mention}")) == ("amd-10.0", True)

    with pytest.raises(KitError, match="no lock for ROCm 11") as caught:
        choice.find(MI300, rocm="11", folder=folder)
    assert caught.value.hint.endswith(f"; {mention}")

    with pytest.raises(KitError, match=r"amd-11\.lock\.yaml"):
        choice.find(MI300, lock="amd-11", folder=folder)


def test_a_lock_asked_for_by_name_is_not_troubled_by_others(folder):
    (folder / "amd-11.lock.yaml").write_text("{")

    assert choice.find(MI300, lock="amd-10.0", folder=folder).reason == "asked for by name"


@pytest.mark.parametrize(
    ("version", "asked", "expected"),
    [
        ("5.7", "5.7", True),
        ("5.7.1", "5.7", True),
        ("7.2.4", "7.2", True),
        ("7.2.4", "7", True),
        ("5.10", "5.1", False),
        ("5.7", "5.7.1", False),
        ("5.7.1", " 5.7. ", True),
        ("15.7", "5.7", False),
    ],
)
def test_a_version_matches_by_whole_numbers(version, asked, expected):
    assert choice.matches(version, asked) == expected
