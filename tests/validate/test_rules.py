"""The rules of the table of variables: each is understood, and says what a runtime would read."""

import pytest

from schema import facts
from validate import rules, variables

ROWS = {entry["name"]: entry for entry in facts.load("env-vars")["env"]}
JUDGED_ELSEWHERE = {
    "ROCR_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "CUDA_VISIBLE_DEVICES",
    "GPU_DEVICE_ORDINAL",
    "HSA_OVERRIDE_GFX_VERSION",
    "PYTORCH_TUNABLEOP_TUNING",
}
#: Their words point at another row, or hang on what the facts do not tell (then they warn).
SAID_ELSEWHERE = {
    "PYTORCH_CUDA_ALLOC_CONF": {"warn"},
    "TRITON_CACHE_DIR": {"warn"},
    "TORCH_COMPILE_DISABLE / TORCHDYNAMO_DISABLE": {"warn"},
}
OFFS, ONS = ("0", "0x0", "00", "false", "OFF", "no"), ("1", "0x1", " 3 ", "true", "On", "yes")


@pytest.mark.parametrize("name", ROWS)
def test_every_rule_has_a_level_and_known_parts(name):
    for rule in ROWS[name]["rules"]:
        assert rule["level"] in {"error", "warn"}
        assert rule["when"]
        assert set(rule["when"]) <= set(rules.PARTS)
        assert rule["when"].get("value", "set") in rules.STATES
        assert set(rule["when"].get("beside", {})) <= set(variables.known())


@pytest.mark.parametrize("name", sorted(set(ROWS) - JUDGED_ELSEWHERE))
def test_rules_and_words_say_the_same(name):
    """The words say more than the rules can (what to do, and why), but never another level."""
    words, levels = ROWS[name]["lint"], {rule["level"] for rule in ROWS[name]["rules"]}

    assert levels <= {level for level in ("error", "warn") if level in words} | SAID_ELSEWHERE.get(name, set())
    assert bool(levels) == (not words.startswith("info") or "warn" in words)


@pytest.mark.parametrize(
    ("state", "yes", "no"),
    [
        ("on", ONS, (*OFFS, "", "maybe")),
        ("off", OFFS, (*ONS, "", "maybe")),
        ("not off", (*ONS, "", "maybe"), OFFS),
        ("set", (*ONS, *OFFS), ("", "  ")),
    ],
)
def test_a_switch_is_read_as_a_runtime_reads_it(state, yes, no):
    assert [value for value in (*yes, *no) if rules.STATES[state](value)] == list(yes)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7", 7),
        ("0x10", 16),
        ("-2", -2),
        ("010", 10),
        ("", None),
        ("1_0", 10),
        ("x", None),
        ("1e3", None),
        ("9" * 99, None),
    ],
)
def test_a_number_is_whole(text, value):
    assert rules.number(text) == value


@pytest.mark.parametrize("name", sorted(variables.known()))
@pytest.mark.parametrize("value", ["", " "])
def test_a_variable_that_is_set_to_nothing_does_nothing(name, value):
    held = [
        rule
        for rule in variables.known()[name]["rules"]
        if rules.holds(rule["when"], value, {name: value}, {"backend": "rocm", "gfx": ["gfx90a"]})
    ]

    assert held == []


@pytest.mark.parametrize(
    "name", [name for name, entry in ROWS.items() if str(entry["default"]) in {"0", "1", "-1", "-2", "4"}]
)
def test_a_variable_that_is_set_to_its_default_changes_nothing(name):
    value = str(ROWS[name]["default"])

    for rule in ROWS[name]["rules"]:
        assert not rules.holds(rule["when"], value, {name: value}, {"backend": "rocm", "gfx": ["gfx90a"]})
