import pytest

from schema import documents, records


def test_fields_that_say_nothing_are_left_out_of_a_record():
    sample = records.Sample(case="copy", process=0, index=1, seconds=0.5, at_s=2.0)

    assert records.to_dict(sample) == {
        "kind": "sample",
        "case": "copy",
        "process": 0,
        "index": 1,
        "seconds": 0.5,
        "at_s": 2.0,
    }


def test_a_required_field_is_written_even_when_its_answer_is_none():
    start = records.Start(
        document="report-1",
        started_at="2026-11-30T00:00:00Z",
        runtime="host",
        backend="cpu",
        lock_sha256=None,
        cargo_sha256="0" * 64,
        image_id=None,
        python="3.13.5",
        torch={"version": None, "build": None},
        devices=[],
        host={
            "identity": None,
            "kernel": None,
            "architecture": "x86_64",
            "cpu": None,
            "cores": None,
            "memory_bytes": None,
            "driver": None,
        },
        environment={},
    )

    written = records.to_dict(start)

    assert (written["lock_sha256"], written["devices"], "protocol" in written) == (None, [], False)
    assert documents.problems(written, documents.validator("report-1", "#/$defs/start")) == []


def test_a_finding_that_does_not_pass_must_give_a_reason():
    finding = records.to_dict(records.Finding(check="driver", code="driver.loaded", status="fail"))

    assert documents.problems(finding, documents.validator("report-1", "#/$defs/finding")) == [
        "top level: 'reason' is a required property"
    ]


def test_unknown_is_a_value_with_a_reason():
    assert records.unknown("amd-smi printed N/A") == {"unknown": "amd-smi printed N/A"}


@pytest.mark.parametrize(
    ("statuses", "code"),
    [
        pytest.param(["pass", "warn", "skip"], 0, id="a warning is no failure"),
        pytest.param(["ok", "throttled", "not_converged", "unsupported"], 0, id="a marked figure is a figure"),
        pytest.param(["pass", "fail"], 1, id="one failure fails all"),
        pytest.param(["pass", "error"], 1, id="a check that broke fails"),
        pytest.param(["ok", "invalid"], 1, id="a wrong result fails"),
        pytest.param(["ok", "timeout"], 1, id="a hang fails"),
        pytest.param(["skip", "unsupported"], 2, id="nothing but skips is not a pass"),
        pytest.param([], 2, id="nothing at all is not a pass"),
    ],
)
def test_the_exit_code_says_whether_all_is_well(statuses, code):
    assert records.exit_code(statuses) == code


def test_every_status_has_a_place_in_the_exit_code():
    statuses = {*records.FindingStatus, *records.SampleStatus}

    assert {records.exit_code([status.value]) for status in statuses} == {0, 1, 2}
    assert {status.value for status in records.MEASURED} == {
        status.value for status in records.SampleStatus if records.exit_code([status.value]) == 0
    }
