import pytest

from pins.resolve_target import Target

DEBIAN = Target("3.13.5", 41)

FITS = {
    "any Python, any system": ("a-1.0-py3-none-any.whl", True),
    "Python 2 and 3": ("a-1.0-py2.py3-none-any.whl", True),
    "its own ABI": ("a-1.0-cp313-cp313-manylinux_2_28_x86_64.whl", True),
    "a build number": ("a-1.0-1-cp313-cp313-manylinux_2_28_x86_64.whl", True),
    "the stable ABI of an older Python": ("a-1.0-cp39-abi3-manylinux_2_28_x86_64.whl", True),
    "several platforms, one of them": ("a-1.0-cp313-cp313-manylinux_2_99_x86_64.manylinux2014_x86_64.whl", True),
    "no promise of a glibc": ("a-1.0-cp313-cp313-linux_x86_64.whl", True),
    "a program for any Python": ("a-1.0-py3-none-manylinux1_x86_64.whl", True),
    "its own Python, no ABI": ("a-1.0-cp313-none-any.whl", True),
    "another Python": ("a-1.0-cp312-cp312-manylinux_2_28_x86_64.whl", False),
    "3.1 is not 3.13": ("a-1.0-cp31-cp31-manylinux_2_28_x86_64.whl", False),
    "the free-threaded build": ("a-1.0-cp313-cp313t-manylinux_2_28_x86_64.whl", False),
    "the stable ABI of a newer Python": ("a-1.0-cp314-abi3-manylinux_2_28_x86_64.whl", False),
    "a newer glibc": ("a-1.0-cp313-cp313-manylinux_2_42_x86_64.whl", False),
    "another processor": ("a-1.0-cp313-cp313-manylinux_2_28_aarch64.whl", False),
    "another system": ("a-1.0-cp313-cp313-win_amd64.whl", False),
    "musl": ("a-1.0-cp313-cp313-musllinux_1_2_x86_64.whl", False),
    "Python 2 alone": ("a-1.0-py2-none-any.whl", False),
}


@pytest.mark.parametrize(("file", "fits"), FITS.values(), ids=FITS)
def test_a_wheel_tells_by_its_name_where_it_runs(file, fits):
    assert DEBIAN.fits(file) is fits


def test_the_best_platform_comes_first_and_the_old_names_stand_beside_theirs():
    found = Target("3.12", 18).platforms()

    assert found[:4] == [
        "manylinux_2_18_x86_64",
        "manylinux_2_17_x86_64",
        "manylinux2014_x86_64",
        "manylinux_2_16_x86_64",
    ]
    assert found[-3:] == ["manylinux_2_5_x86_64", "manylinux1_x86_64", "linux_x86_64"]


@pytest.mark.parametrize(("python", "full"), [("3.13.5", "3.13.5"), ("3.12", "3.12.0")])
def test_markers_are_those_of_the_target(python, full):
    found = Target(python, 28).markers()

    assert found["python_full_version"] == full
    assert found["python_version"] == ".".join(full.split(".")[:2])
