"""Leave out kernels for other GPUs than the chosen ones: files of libraries that carry one file a target.

Only from our own layer: published layers stay as they are, and hiding a file in them saves nothing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from images.layers import is_directory
from images.tar import FILE, show
from pins.lock import Lock, from_document
from schema import facts
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from images.layers import Tree


class Family(NamedTuple):
    """Files of one library: where they lie, the target in their name (group 1), and where that is written."""

    name: str
    pattern: re.Pattern[bytes]
    source: str


TARGET = rb"(gfx[0-9a-fx]+)"
FAMILIES = (
    Family(
        "Tensile, in rocBLAS and hipBLASLt",
        re.compile(rb"(?:^|/)(?:rocblas|hipblaslt)/library/(?:.*[/_-])?" + TARGET + rb"[^/]*\.(?:co|hsaco|dat)$"),
        "file names in ROCm/legacy-rocm-build issue 6120 and ROCm/rocBLAS issue 1277, read 2026-12-01: "
        "Kernels.so-000-gfx906-xnack-.hsaco, TensileLibrary_lazy_gfx1030.dat, TensileLibrary_Type_..._gfx1030.hsaco",
    ),
    Family(
        "MIOpen's databases",
        re.compile(rb"(?:^|/)miopen/db/" + TARGET + rb"[^/]*\.(?:kdb|db\.txt|fdb\.txt|model|db)$"),
        "file list of Ubuntu's libmiopen-tests-data, read 2026-12-01: gfx906_60.HIP.fdb.txt, gfx90878.db.txt, "
        "gfx90a68.HIP.fdb.txt, gfx908.tn.model; the number behind the target is that of its compute units",
    ),
    Family(
        "AOTriton's images",
        re.compile(rb"(?:^|/)aotriton\.images/amd-" + TARGET + rb"[^/]*/"),
        "ROCm/aotriton, README, and its images as PyTorch's wheels have them: lib/aotriton.images/amd-gfx11xx/...",
    ),
)


def slimmed(lock: Lock, asked: str) -> Lock:
    """Return the lock of the slim image: `asked` are targets (`gfx942,gfx90a`), which become part of its identity.

    KitError for no target, one that the lock does not serve, and a lock that adds nothing to a published image.
    """
    targets = sorted({word.strip() for word in asked.split(",")})
    served = set(lock.gfx) or _known()
    if other := [target for target in targets if target not in served]:
        hint = f"--slim with one or more of: {','.join(sorted(served))}"
        raise KitError(f"{lock.name} has nothing for {', '.join(map(repr, other))}", hint)
    if lock.base and not (lock.debs or lock.wheels):
        raise KitError(
            f"{lock.name} is a published image, whose layers stay as they are: leaving files out would save nothing",
            "leave --slim out, or choose a lock that adds packages",
        )
    if lock.document.get("slim"):
        raise KitError(f"{lock.name} is slim already, for {', '.join(lock.document['slim'])}", "choose its full lock")
    changes = {"name": f"{lock.name}-slim-{'-'.join(targets)}", "slim": targets}
    return from_document(lock.document | changes | ({"gfx": targets} if lock.gfx else {}))


class Sieve:
    """Leaves files for other targets out of a tree, and remembers them; without any target it leaves all in."""

    def __init__(self, targets: Iterable[str]) -> None:
        self.targets = frozenset(targets)
        self.known = _known() | self.targets
        self.dropped: dict[bytes, int] = {}

    def __call__(self, tree: Tree) -> Tree:
        """Return the tree without them; folders stay."""
        if not self.targets:
            return tree
        gone = {path for path, node in tree.items() if not is_directory(node) and self.other(path)}
        inodes = {id(tree[path]) for path in tree.keys() - gone}
        for path in sorted(gone):  # bytes that another name still holds are not saved
            node = tree[path]
            self.dropped[path] = node.member.size if node.member.kind == FILE and id(node) not in inodes else 0
            inodes.add(id(node))
        return {path: node for path, node in tree.items() if path not in gone}

    def other(self, path: bytes) -> bool:
        """Say whether a file is for other targets than ours; what is for none that we know of, is for all."""
        for family in FAMILIES:
            if match := family.pattern.search(path):
                served = self._served(match[1].decode())
                return bool(served) and not served & self.targets
        return False

    def _served(self, word: str) -> set[str]:
        """Return the known targets of a word in a file name: gfx942 of gfx942130, gfx1100 and its like of gfx11xx."""
        if "x" in word[3:]:
            pattern = re.compile(word[:3] + word[3:].replace("x", "[0-9a-f]"))
            return {target for target in self.known if pattern.fullmatch(target)}
        longest = max((target for target in self.known if word.startswith(target)), key=len, default="")
        return {longest} - {""}

    def answer(self) -> dict[str, Any] | None:
        """Return what records say of it (`slim` of schema image-1); None where nothing was asked for."""
        if not self.targets:
            return None
        files = sorted(f"/{show(path)}" for path in self.dropped)
        return {"kept": sorted(self.targets), "dropped": files, "saved_bytes": sum(self.dropped.values())}


def _known() -> set[str]:
    return set(facts.load("gfx")["targets"])
