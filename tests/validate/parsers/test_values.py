"""Numbers, units, addresses and words, in every shape that tools print them."""

import pytest

from validate.parsers import values


@pytest.mark.parametrize(
    ("printed", "unit", "value"),
    [
        ("234 W", "", 234.0),
        ("950 mW", "", 0.95),
        ({"value": 158, "unit": "W"}, "", 158.0),
        ({"value": 2, "unit": "kJ"}, "", 2000.0),
        (158, "W", 158.0),
        ("(132Mhz)", "", 132e6),
        ("1980 MHz", "", 1.98e9),
        ("45.0°C", "", 45.0),
        ("45.0Â°C", "", 45.0),
        ("50.0c", "", 50.0),
        ("95%", "", 0.95),
        ("0.6470 %", "", 0.00647),
        ("7.5 GB", "", 7.5 * 1024**3),
        ("143771 MiB", "", 143771 * 2**20),
        ("196592", "MB", 196592 * 2**20),
        ("16.0 GT/s", "", 16e9),
        ("33.5 GB/s", "", 33.5e9),
        ("91.5", "us", 9.15e-05),
        ("2.920e-03", "ns", 2.92e-12),
        ("-40 C", "", -40.0),
    ],
    ids=str,
)
def test_a_quantity_is_given_in_its_base_unit(printed, unit, value):
    assert values.quantity(printed, unit) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    "printed",
    [
        "N/A", "N/A W", "N/A (Secondary die)", "[N/A]", "[Not Supported]", "None%", "", "-", None, True, [], {},
        "5 parsec",
        "12 34", "50000-100000", "1.2.3", "1e999", "nan", "inf", float("nan"), float("inf"), 10**400, {"value": "N/A"},
        {"value": {"value": 1}}, {"unit": "W"}, "9" * 100, "²", "١٢",
    ],
    ids=lambda printed: str(printed)[:20] or "empty",
)  # fmt: skip
def test_what_is_no_number_in_a_known_unit_is_none_and_never_zero(printed):
    assert values.quantity(printed) is None


@pytest.mark.parametrize(
    ("printed", "number"),
    [
        ("29857(0x74a1)", 29857),
        ("0x1F", 31),
        ("-1", -1),
        (7.0, 7),
        ("4294967295", 2**32 - 1),
        (str(2**64 - 1), 2**64 - 1),
    ],
    ids=str,
)
def test_a_whole_number_is_read_in_both_bases(printed, number):
    assert values.whole(printed) == number


@pytest.mark.parametrize("printed", ["1.5", "0x", "1 2", "x", True, None, 1e300, 2**70, "9" * 30], ids=str)
def test_what_is_no_whole_number_is_none(printed):
    assert values.whole(printed) is None


@pytest.mark.parametrize(
    ("printed", "address"),
    [
        ("0000:C3:00.0", "0000:c3:00.0"),
        ("00000000:00:06.0", "0000:00:06.0"),
        ("00010000:01:00.0", "10000:01:00.0"),
        ("0000:05:00", "0000:05:00.0"),
        ("05:0.0", "0000:05:00.0"),
        (" c3:1f.7 ", "0000:c3:1f.7"),
        ("c3:20.0", None),
        ("0x33", None),
        ("N/A", None),
        (3, None),
    ],
    ids=str,
)
def test_every_form_of_an_address_becomes_one(printed, address):
    assert values.pci(printed) == address


@pytest.mark.parametrize(
    ("number", "address"), [(0x43000, "0000:43:00.0"), (0x1CE010, "0001:ce:01.0"), (0xCE000, "0000:ce:00.0")]
)
def test_rccls_number_is_an_address(number, address):
    assert values.pci_of_number(number) == address


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("gfx942:sramecc+:xnack-", "gfx942"),
        ("amdgcn-amd-amdhsa--gfx90a:xnack-", "gfx90a"),
        ("gfx1201", "gfx1201"),
        ("amdgcn-amd-amdhsa--gfx9-generic:xnack+", None),
        ("gfx11-generic", None),
        ("gfx000", None),
        ("AMD Instinct", None),
        (None, None),
    ],
    ids=str,
)
def test_a_target_is_one_of_a_device(name, target):
    assert values.gfx(name) == target


@pytest.mark.parametrize(
    ("printed", "number"), [("0x74A1", "0x74a1"), ("164e", "0x164e"), ("N/A", None), ("-0x7fe3", None), ("zz", None)]
)
def test_an_identifier_is_hexadecimal_with_or_without_0x(printed, number):
    assert values.device_id(printed) == number


def test_colours_nuls_and_foreign_line_ends_are_taken_out():
    assert values.lines("\ufeff\x1b[37ma\x1b[0m\r\nb\0\rc") == ["a", "b", "c"]
    assert values.lines("x" * 10_000) == ["x" * values.LONGEST_LINE]


def test_an_unfinished_colour_stays():
    assert values.plain("\x1b[31") == "\x1b[31"
