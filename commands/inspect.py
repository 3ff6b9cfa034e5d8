"""Look into an image: what the engine tells of it, what it tells of itself, and what is wrong with that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from commands.image import engine_door
from commands.program import say
from schema.errors import KitError
from schema.records import to_dict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from images.inspect import Looked
    from pins.lock import Lock

CHECK = "image"
LONGEST = 100  # characters of a line of history that a person is shown
BASED_BY_DIGEST = "docker build with FROM NAME@sha256:..., and say so: --label {label}=sha256:..."


def inspect(reference: str, lock: Lock | None) -> dict[str, Any]:
    """Return everything about an image: {image, python, torch, versions, packages, findings}.

    Without a Python inside, what the image tells of itself is missing and a finding says why.
    """
    from images import inspect as host
    from images import inspect_inside as inside

    engine = engine_door()
    image = host.require(engine, reference)
    found = list(_image(image))
    records: list[dict[str, Any]] = []
    if image.runs:
        try:
            say(f"reading {image.id} inside, without network and rights")
            records = inside.read(engine, image, lock)
        except KitError as error:
            found.append(_finding("inside", "fail", None, error.message, error.hint))
    facts = inside.facts(records)
    torch = records[0]["torch"] if records else {}
    return {
        "image": _described(image),
        "python": records[0]["python"] if records else None,
        "torch": torch,
        "versions": facts.get("versions", {}).get("sources", {}),
        "packages": {
            kind: facts.get("inventory", {}).get(key) or []
            for kind, key in (("deb", "debs"), ("rpm", "rpms"), ("wheel", "wheels"))
        },
        "findings": [*found, *judged(records, lock, image)],
    }


def _described(image: Looked) -> dict[str, Any]:
    from dataclasses import asdict

    from validate import variables

    return asdict(image) | {"environment": variables.record(image.environment)}


def judged(records: list[dict[str, Any]], lock: Lock | None, image: Looked) -> list[dict[str, Any]]:
    """Return the findings of an image's records, environment and names, on any machine: it was handed no GPU."""
    from validate import checking, variables

    document = lock.document if lock else None
    build = (records[0]["torch"]["build"] if records else None) or "cpu"
    about: dict[str, Any] = {"backend": build, "runtime": "container", "gfx": [], "arch_list": []}
    found = [("environment", {**about, "variables": variables.record(image.environment)})]
    for record in records:
        if record["kind"] == "facts":
            absent = {"gpus": [], "devices": [], "nvidia": False} if record["check"] == "torch_build" else {}
            found.append((record["check"], {**record["facts"], **absent}))
    judgement = [to_dict(finding) for check, facts in found for finding in checking.judge(check, facts, document)]
    return [*_names(image, records), *judgement]


def _names(image: Looked, records: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Hold the versions in an image's names against those inside: published tables have rows that are wrong."""
    from images import inspect as host
    from images import inspect_inside as inside
    from validate.versions import agrees

    if not records:
        return
    rocm = inside.facts(records)["versions"]["sources"].get("rocm", [])
    seen = {
        "python": [records[0]["python"]],
        "torch": [records[0]["torch"]["version"] or ""],
        "rocm": [version for _, version in rocm],
    }
    for name in dict.fromkeys([image.reference, *image.tags]):
        for part, version in host.claims(name).items():
            if seen[part] and not any(agrees(found, version) for found in seen[part]):
                reason = f"{name} says {part} {version} in its name, and {seen[part][0] or 'none'} is in it"
                remedy = "go by what is in it: ./kit lock --from-image records that"
                yield _finding("name", "fail", {part: seen[part]}, reason, remedy)


def _image(image: Looked) -> Iterator[dict[str, Any]]:
    """Judge what the engine tells of an image."""
    from images import inspect as host

    if image.runs:
        yield _finding("platform", "pass", image.platform)
    else:
        yield _finding(
            "platform",
            "fail",
            image.platform,
            f"this is not for {host.PLATFORM}",
            f"take the image for {host.PLATFORM}",
        )
    name, digest = host.base_of(image)
    seen = {"name": name, "digest": digest}
    if digest:
        yield _finding("base", "pass", seen)
    elif name:
        tag = name.rpartition("/")[2].partition(":")[2] or "latest"
        moves = " that always moves" if tag == "latest" else ""
        reason = f"it was made from {name}, a tag{moves}: which bytes that was, nobody knows"
        yield _finding("base_tag", "warn", seen, reason, BASED_BY_DIGEST.format(label=host.BASE_DIGEST))
    else:
        reason = "nothing tells what it was made from: FROM leaves no trace in an image, and there is no label"
        yield _finding("base_unknown", "skip", None, reason)


def _finding(what: str, status: str, seen: Any, reason: str | None = None, remedy: str | None = None) -> dict[str, Any]:
    from schema.records import Finding

    return to_dict(Finding(CHECK, f"{CHECK}.{what}", status, seen, None, reason, remedy))


def lines(answer: dict[str, Any]) -> str:
    """Return what a person is told of an image, but for its findings."""
    from bundle.format import plain, printed
    from pins.progress import amount

    image, torch, versions = answer["image"], answer["torch"], answer["versions"]
    arch = f", for {', '.join(map(str, torch['arch_list']))}" if torch.get("arch_list") else ""
    rocm = next(iter(versions.get("rocm", [])), None)
    counts = [f"{len(found)} {kind}" for kind, found in answer["packages"].items() if found]
    size, made = amount(image["size_bytes"], "B"), [layer for layer in image["layers"] if layer["size_bytes"]]
    rows = [
        ("image", image["id"]),
        ("names", ", ".join([*image["tags"], *image["digests"]]) or "none"),
        ("platform", f"{image['platform']}, created {image['created'] or 'at a time that it does not tell'}"),
        ("python", answer["python"] or "unknown"),
        (
            "torch",
            f"{torch['version']}, built for {torch['build']}{arch}" if torch.get("version") else "none that imports",
        ),
        ("rocm", f"{rocm[1]} ({rocm[0]})" if rocm else "unknown"),
        ("packages", ", ".join(counts) or "unknown"),
        ("size", f"{size} in {len(made)} layers"),
    ]
    told = [f"{name:<9} {plain(value)}" for name, value in rows]
    for layer in image["layers"]:
        text = plain(layer["created_by"] or layer["comment"] or "(nothing says what made it)")
        short = text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
        told.append(f"  {amount(layer['size_bytes'], 'B'):>9}  {short}")
    return printed(told)
