"""A run on a compute node that has neither engine nor network: what to type there, what before, and what afterwards."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from commands.chosen import Chosen, Which, choose
from commands.image import recorded
from commands.program import say
from commands.runs import RECORDS, own, packed
from schema.errors import KitError

if TYPE_CHECKING:
    from images.device import Device

#: Said wherever the line is: what stands behind it.
TRIED = "tried with Apptainer 1.4.5 of Debian as an ordinary user, on CPUs, from a layout; not on an AMD GPU"


def apptainer(module: str, argv: list[str], which: Which, device: Device, case: str = "") -> str:
    """Return Apptainer's command line for a run in the image of a lock, and say how to make its `.sif`, and seal.

    Nothing is asked of an engine, and nothing of this machine's GPUs: the line is for another one.
    """
    from images.lines import apptainer_line

    chosen = choose(which)
    image = recorded(chosen)
    if not image:
        hint = f"./kit build --lock {chosen.lock.name} where an engine is, then copy {chosen.out / 'image.json'} here"
        raise KitError(f"nothing here says which image {chosen.lock.name} is", hint)
    backend = chosen.lock.torch_build if chosen.lock.torch_build in {"rocm", "cuda"} else "cpu"
    cargo = packed(chosen, image, backend, case)
    # By the image, too: an old file would run as the new image.
    sif, records = chosen.out / f"{chosen.lock.name}-{image['image_id'][7:19]}.sif", RECORDS[module]
    line = apptainer_line(
        backend, sif, ["python3", "-m", module, *argv, *own(case)], device, cargo=cargo, records=records
    )
    _explain(chosen, shlex.quote(which.lock or chosen.lock.name), shlex.quote(str(sif)))
    return line


def _explain(chosen: Chosen, lock: str, sif: str) -> None:
    base = chosen.lock.base
    if base and not chosen.lock.adds:  # nothing of it is ours to push: it comes from where it is published
        if base["digest_kind"] == "config":
            archive = shlex.quote(str(chosen.out / "image.tar"))
            say(f"once, where an engine is: docker save {base['digest']} --output {archive}")
            say(f"once, where Apptainer is: apptainer build {sif} docker-archive:{archive}")
        else:
            published = f"docker://{base['repo']}@{base['digest']}"
            say(f"once, where Apptainer and a network are: apptainer build {sif} {published}")
    else:
        layout = shlex.quote(f"oci:{chosen.out / 'oci'}")
        say(f"once, where an engine is: ./kit push {layout} --lock {lock}")
        say(f"once, where Apptainer is: apptainer build {sif} {layout}")
    say(f"on a compute node, which reads {chosen.out}: the line below ({TRIED})")
    say(f"afterwards, anywhere: ./kit bundle --lock {lock} --report report.jsonl --results results.jsonl")
