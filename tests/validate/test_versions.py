import pytest

from tests.validate.fakes_node import LOCK, instinct, laptop, statuses
from validate import packages
from validate.checks import versions
from validate.versions import agrees, parts, release


@pytest.mark.parametrize(
    ("seen", "expected", "answer"),
    [
        ("5.7.1-6+deb13u1", "5.7.1", True),
        ("1:17.0.6-22+b2", "17.0.6", True),
        ("5.10", "5.1", False),
        ("5.1", "5.10", False),
        ("10.0.0", "1", False),
        ("6.4.1.60401-83~24.04", "6.4.1", True),
        ("2.6.0+debian", "2.6.0", True),
        ("6.4", "6.4.1", False),
        ("", "5", False),
        ("5", "", False),
    ],
)
def test_a_version_agrees_when_it_says_the_same_or_more(seen, expected, answer):
    assert agrees(seen, expected) is answer


def test_ten_comes_after_seven():
    assert release("10.0.0") > release("7.2.4")
    assert release("ROCm 6.4") == (6, 4)
    assert release("unknown") is None
    assert parts("6.2.41133-dd7f95766") == ["6", "2", "41133", "dd7f95766"]


FILES = {"/opt/rocm/.info/version": "6.4.1-83\n"}


@pytest.mark.parametrize(
    ("files", "links", "first"),
    [
        (FILES, {}, ["/opt/rocm/.info/version", "6.4.1-83"]),
        ({"/opt/rocm/.info/version-dev": "6.4.1-83"}, {}, ["/opt/rocm/.info/version-dev", "6.4.1-83"]),
        (
            {"/opt/rocm/include/rocm-core/rocm_version.h": '#define ROCM_BUILD_INFO "6.4.1.0-83-abc"'},
            {},
            ["/opt/rocm/include/rocm-core/rocm_version.h", "6.4.1.0-83-abc"],
        ),
        ({}, {"/opt/rocm": "/opt/rocm-6.4.1"}, ["realpath of /opt/rocm", "6.4.1"]),
        ({}, {}, ["label of torch's version", "6.4.1"]),
    ],
    ids=["version", "version-dev", "header", "link", "wheel"],
)
def test_rocm_has_ordered_sources(files, links, first):
    facts = versions.gather(instinct(files=files, links=links), LOCK)

    assert facts["sources"]["rocm"][0] == first


def test_hip_is_not_rocm():
    """ROCm 10.0 has HIP 7.15: torch.version.hip stands among HIP's sources alone."""
    facts = versions.gather(instinct(files=FILES), LOCK)

    assert ["torch.version.hip", "6.4.43483-a187df25c"] in facts["sources"]["hip"]
    assert all(source != "torch.version.hip" for source, _ in facts["sources"]["rocm"])


DEBIAN = {
    "dpkg-query": (
        "ii \thipcc\t5.7.1-6\tamd64\nii \tlibamdhip64-5\t5.7.1-6\tamd64\n"
        "rc \trocm-core\t6.0\tamd64\nii \trocminfo\t6.1.2-2\tamd64\n"
    ),
    "hipconfig --version": "5.7.31921-0",
}


def test_packages_and_tools_may_count_differently():
    lock = {**LOCK, "rocm": "5.7.1", "components": {"hip": "5.7.31921", "rocminfo": "6.1.2"}}

    outcomes = versions.judge(versions.gather(laptop(runs=DEBIAN), lock), lock)

    assert {outcome.status.value for outcome in outcomes} == {"pass"}
    assert {name for outcome in outcomes for name in outcome.seen} == {"python", "hip", "rocminfo", "rocm"}


def test_a_removed_package_is_not_installed():
    assert "rocm-core" not in packages.debs(laptop(runs=DEBIAN))


def test_amds_hipcc_package_does_not_count_for_hip():
    runs = {"dpkg-query": "ii \trocm-core\t6.4.1.60401-83\tamd64\nii \thipcc\t1.1.1.60401-83\tamd64\n"}

    sources = versions.gather(laptop(runs=runs), None)["sources"]

    assert sources["rocm"] == [["package rocm-core", "6.4.1.60401-83"]]
    assert "hip" not in sources


@pytest.mark.parametrize(
    ("sources", "components", "expected"),
    [
        ({"hip": [["hipconfig", "6.4.1"]]}, {"hip": "6.2"}, {"versions.hip": "fail", "versions.rocm": "warn"}),
        ({}, {"rocm-smi": "3.4.0"}, {"versions.rocm_smi": "warn", "versions.rocm": "warn"}),
        ({"rocm": [["a", "6.4.1"], ["b", "5.7.0"]]}, {}, {"versions.conflict": "fail", "versions.rocm": "pass"}),
    ],
    ids=["another version", "nobody tells", "two stacks"],
)
def test_each_component_is_judged_by_itself(sources, components, expected):
    lock = {**LOCK, "components": components}

    found = statuses(versions.judge({"backend": "rocm", "sources": {"python": [["x", "3.12"]], **sources}}, lock))

    assert found == {"versions.python": "pass", **expected}


@pytest.mark.parametrize("rocm", ["none", "unknown"])
def test_what_the_lock_does_not_know_is_not_asked_for(rocm):
    lock = {**LOCK, "channel": "adopted", "rocm": rocm}

    found = statuses(versions.judge({"backend": "cpu", "sources": {"python": [["x", "3.12"]]}}, lock))

    assert found == {"versions.python": "pass"}


def test_without_a_lock_the_versions_are_told():
    outcomes = versions.judge({"backend": "cpu", "sources": {"python": [["x", "3.12"]]}}, None)

    assert [(o.code, o.status.value, o.seen) for o in outcomes] == [("versions.no_lock", "skip", {"python": "3.12"})]
