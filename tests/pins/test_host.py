import pytest

from pins.host import Host, look, target

CPU = "cpu_cores_count 64\nsimd_count 0\ngfx_target_version 0\n"


def tree(root, *, kfd=False, nodes=None, files=()):
    names = [*files, *(["dev/kfd"] if kfd else [])]
    for number, text in (nodes or {}).items():
        names.append(f"sys/class/kfd/kfd/topology/nodes/{number}/properties")
        (root / names[-1]).parent.mkdir(parents=True)
        (root / names[-1]).write_text(text)
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return root


NAMES = {
    90006: "gfx906",
    90010: "gfx90a",
    90012: "gfx90c",
    90402: "gfx942",
    90500: "gfx950",
    100300: "gfx1030",
    110000: "gfx1100",
    110501: "gfx1151",
    120001: "gfx1201",
}


@pytest.mark.parametrize(("version", "name"), NAMES.items(), ids=NAMES.values())
def test_a_target_version_becomes_a_name(version, name):
    assert target(version) == name


def test_gpus_are_listed_in_the_order_of_their_nodes(tmp_path):
    nodes = {"0": CPU, "10": "gfx_target_version 90010\n", "2": "simd_count 320\ngfx_target_version 90402\n"}

    assert look(tree(tmp_path, kfd=True, nodes=nodes)) == Host(has_kfd=True, gfx=("gfx942", "gfx90a"), nvidia=False)


def test_a_bare_machine_has_nothing(tmp_path):
    found = look(tmp_path)

    assert found == Host(has_kfd=False, gfx=(), nvidia=False, topology=False)
    assert not found.has_amd_gpu


def test_a_driver_without_gpus_is_no_gpu(tmp_path):
    assert not look(tree(tmp_path, kfd=True, nodes={"0": CPU})).has_amd_gpu


def test_a_gpu_whose_topology_is_hidden_is_a_gpu_of_unknown_target(tmp_path):
    found = look(tree(tmp_path, kfd=True))

    assert (found.has_amd_gpu, found.gfx, found.topology) == (True, (), False)


def test_a_topology_without_the_device_is_no_gpu_to_use(tmp_path):
    found = look(tree(tmp_path, nodes={"1": "gfx_target_version 90402\n"}))

    assert (found.has_amd_gpu, found.gfx) == (False, ("gfx942",))


@pytest.mark.parametrize(
    "text", ["", "gfx_target_version\n", "gfx_target_version none\n", "\xff\xfe\n", "gfx_target_version -1\n"]
)
def test_odd_properties_are_passed_over(tmp_path, text):
    assert look(tree(tmp_path, kfd=True, nodes={"1": text})).gfx == ()


@pytest.mark.parametrize("trace", ["proc/driver/nvidia/version", "dev/nvidia0"])
def test_nvidia_is_seen_by_either_trace(tmp_path, trace):
    assert look(tree(tmp_path, files=[trace])).nvidia
