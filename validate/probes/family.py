"""Learn which distributions are PyTorch's family here, what they ask of each other, which files two of them own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from validate.packages import normalise
from validate.probes import answer

if TYPE_CHECKING:
    from importlib.metadata import Distribution

#: Distributions whose files torch loads or that are compiled against it: one build gives them all.
FAMILY = frozenset({
    "torch", "torchvision", "torchaudio", "triton", "pytorch-triton", "pytorch-triton-rocm", "triton-rocm", "vllm",
})  # fmt: skip
NVIDIA = re.compile(r"^(nvidia-.+|pynvml)$")
MOST = 20  # shared files that are told: two copies of triton have thousands


def learn() -> dict[str, Any]:
    """Return `distributions` with their requirements among themselves, `shared` files, and triton's back ends."""
    import importlib.metadata  # not at the top: whoever only judges imports this file, and needs no network for that

    found: dict[str, Distribution] = {}
    for item in importlib.metadata.distributions():
        name = normalise(item.metadata["Name"] or "")
        if concerns(name):
            found.setdefault(name, item)  # the first on the path is the one that is imported
    return {
        "distributions": [
            {"name": name, "version": item.version or "", "requires": requirements(item)}
            for name, item in sorted(found.items())
        ],
        "shared": shared({name: owned(item) for name, item in found.items() if name in FAMILY}),
        "triton_backends": backends(item for name, item in found.items() if "triton" in name),
    }


def concerns(name: str) -> bool:
    """Tell whether a distribution is of the family, or NVIDIA's."""
    return name in FAMILY or bool(NVIDIA.match(name))


def requirements(item: Distribution) -> list[str]:
    """Return what a distribution requires of those that concern us, in its metadata's own words."""
    names = ((text, re.match(r"[A-Za-z0-9._-]+", text.strip())) for text in item.requires or [])
    return [text for text, name in names if name and concerns(normalise(name[0]))]


def owned(item: Distribution) -> set[str]:
    """Return the files of a distribution, as paths from its site folder on; none where it keeps no record of them."""
    files = (str(file) for file in item.files or [])
    return {name for name in files if "__pycache__" not in name and "-info/" not in name and not name.startswith("..")}


def shared(files: dict[str, set[str]]) -> dict[str, list[str]]:
    """Return the files that more than one distribution owns, with their owners."""
    owners: dict[str, list[str]] = {}
    for name in sorted(files):
        for path in files[name]:
            owners.setdefault(path, []).append(name)
    return dict(sorted((path, names) for path, names in owners.items() if len(names) > 1)[:MOST])


def backends(items: Any) -> list[str]:
    """Return the names of the folders in `triton/backends`: the package's name tells less than its content."""
    folders = [Path(str(item.locate_file("triton/backends"))) for item in items]
    return sorted({path.name for folder in folders if folder.is_dir() for path in folder.iterdir() if path.is_dir()})


if __name__ == "__main__":
    answer(learn)
