import xml.etree.ElementTree as ET

import pytest

from bundle.junit import junit

START = {"started_at": "2026-11-30T12:00:00Z", "backend": "cpu", "image_id": None}


def report(*findings):
    facts = [{"check": "driver", "question": "Is it there?", "seconds": 0.25, "facts": {}}]
    return {"start": START, "facts": facts, "findings": [{"check": "driver", **finding} for finding in findings]}


def parsed(*findings):
    return ET.fromstring(junit(report(*findings)).encode())


@pytest.mark.parametrize(
    ("status", "element"), [("fail", "failure"), ("error", "error"), ("skip", "skipped"), ("warn", "system-out")]
)
def test_a_status_becomes_its_element(status, element):
    case = parsed({"code": "driver.absent", "status": status, "reason": "not loaded", "remedy": "modprobe"}).find(
        ".//testcase"
    )

    assert [child.tag for child in case] == [element]
    assert "remedy: modprobe" in case[0].text


def test_a_pass_is_an_empty_case():
    case = parsed({"code": "driver.loaded", "status": "pass"}).find(".//testcase")

    assert (case.attrib, list(case)) == ({"classname": "driver", "name": "driver.loaded"}, [])


def test_the_counts_are_those_of_the_findings():
    root = parsed(
        {"code": "driver.a", "status": "pass"},
        {"code": "driver.b", "status": "fail", "reason": "x"},
        {"code": "driver.c", "status": "skip", "reason": "x"},
    )

    for element in (root, root[0]):
        assert [element.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["3", "1", "0", "1"]


def test_the_suite_tells_check_time_and_question():
    suite = parsed({"code": "driver.a", "status": "pass"})[0]

    assert (suite.get("name"), suite.get("time"), suite.get("timestamp")) == ("driver", "0.250", "2026-11-30T12:00:00")
    assert suite.find(".//property[@name='question']").get("value") == "Is it there?"


@pytest.mark.parametrize("text", ["a\x00b", "\x1b[31m", "\ud800", "<&\"'>", "]]>", "\uffff"])
def test_any_text_gives_wellformed_xml(text):
    root = parsed({"code": "driver.a", "status": "fail", "reason": text, "seen": {"k": text}})

    assert root.find(".//failure") is not None
