"""A report as JUnit XML, for continuous integration: one test case a finding, one suite a check."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from typing import Any

#: XML 1.0 has no place for these, not even escaped; facts and error texts of tools may hold them.
FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
#: status of a finding -> element of a test case. A warning passes: its words stand in the case's output.
ELEMENTS = {"fail": "failure", "error": "error", "skip": "skipped"}


def junit(report: dict[str, Any]) -> str:
    """Return the XML document of a `report-1`, in the order of the checks."""
    start, findings = report["start"], report["findings"]
    suites = ET.Element("testsuites", {"name": "rocm-repro-kit", **_counts(findings)})
    for facts in report["facts"]:
        mine = [finding for finding in findings if finding["check"] == facts["check"]]
        suite = ET.SubElement(
            suites,
            "testsuite",
            {
                "name": _clean(facts["check"]),
                "timestamp": start["started_at"].rstrip("Z"),  # the format has no zone; ours is UTC
                "time": f"{facts['seconds']:.3f}",
                **_counts(mine),
            },
        )
        _properties(suite, {"question": facts["question"], "backend": start["backend"], "image_id": start["image_id"]})
        for finding in mine:
            _case(suite, finding)
    ET.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(suites, encoding="unicode") + "\n"


def _case(suite: ET.Element, finding: dict[str, Any]) -> None:
    case = ET.SubElement(suite, "testcase", classname=_clean(finding["check"]), name=_clean(finding["code"]))
    reason, element = finding.get("reason", ""), ELEMENTS.get(finding["status"])
    body = "\n".join(
        f"{name}: {text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)}"
        for name in ("reason", "seen", "expected", "remedy")
        if (text := finding.get(name)) is not None
    )
    if element:
        child = ET.SubElement(case, element, message=_clean(reason))
        child.text = _clean(body)
    elif body:
        ET.SubElement(case, "system-out").text = _clean(f"{finding['status']}\n{body}")


def _counts(findings: list[dict[str, Any]]) -> dict[str, str]:
    by_status = {status: sum(finding["status"] == status for finding in findings) for status in ELEMENTS}
    return {
        "tests": str(len(findings)),
        "failures": str(by_status["fail"]),
        "errors": str(by_status["error"]),
        "skipped": str(by_status["skip"]),
    }


def _properties(suite: ET.Element, values: dict[str, Any]) -> None:
    properties = ET.SubElement(suite, "properties")
    for name, value in values.items():
        if value is not None:
            ET.SubElement(properties, "property", name=name, value=_clean(str(value)))


def _clean(text: str) -> str:
    return FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)
