"""Kernels for other GPUs are left out of our layer, by names as libraries give them; the lock says so."""

import pytest

from images import build as builder
from images import slim
from images.slim import Sieve, slimmed
from pins.lock import from_document
from schema import documents
from schema.errors import KitError
from tests.images import test_build
from tests.images.fakes_archives import Item, folder, image, link, sha256, tar
from tests.images.test_build import DEB, answered, based, document, engine_with, on_base

store, out, based = test_build.store, test_build.out, based  # noqa: PLW0127 -- fixtures of another module

ROCBLAS = "opt/rocm-6.4.1/lib/rocblas/library"
HIPBLASLT = "opt/venv/lib/python3.12/site-packages/torch/lib/hipblaslt/library"
MIOPEN = "opt/rocm-6.4.1/share/miopen/db"
AOTRITON = "opt/venv/lib/python3.12/site-packages/torch/lib/aotriton.images"


@pytest.mark.parametrize(
    ("path", "other"),
    [
        (f"{ROCBLAS}/Kernels.so-000-gfx1100.hsaco", True),
        (f"{ROCBLAS}/Kernels.so-000-gfx90a-xnack+.hsaco", True),
        (f"{ROCBLAS}/Kernels.so-000-gfx942.hsaco", False),
        (f"{ROCBLAS}/TensileLibrary_Type_HH_Contraction_l_Ailk_Bjlk_Cijk_Dijk_gfx908.co", True),
        (f"{ROCBLAS}/TensileLibrary_Type_HH_Contraction_l_Ailk_Bjlk_Cijk_Dijk_gfx942.co", False),
        (f"{ROCBLAS}/TensileLibrary_lazy_gfx1030.dat", True),
        (f"{ROCBLAS}/TensileLibrary_Type_DD_Contraction_l_Ailk_Bjlk_Cijk_Dijk_fallback.dat", False),
        (f"{ROCBLAS}/TensileLibrary_Type_DD_fallback_gfx1101.hsaco", True),
        (f"{ROCBLAS}/Kernels.so-000-gfx11-generic.hsaco", False),
        (f"{HIPBLASLT}/gfx90a/extop_gfx90a.co", True),
        (f"{HIPBLASLT}/extop_gfx942.co", False),
        (f"{HIPBLASLT}/hipblasltExtOpLibrary.dat", False),
        (f"{MIOPEN}/gfx90a68.kdb", True),
        (f"{MIOPEN}/gfx942130.kdb", False),
        (f"{MIOPEN}/gfx942130.db.txt", False),
        (f"{MIOPEN}/gfx906_60.HIP.fdb.txt", True),
        (f"{MIOPEN}/gfx1030_36.db.txt", True),
        (f"{MIOPEN}/gfx908.tn.model", True),
        (f"{AOTRITON}/amd-gfx90a/flash/attn_fwd/x.aks2", True),
        (f"{AOTRITON}/amd-gfx942/flash/attn_fwd/x.aks2", False),
        (f"{AOTRITON}/amd-gfx11xx/flash/attn_fwd/x.aks2", True),
        (f"{AOTRITON}/amd-gfx94x/flash/attn_fwd/x.aks2", False),
        ("opt/rocm/lib/librocblas.so.4", False),
        ("home/me/gfx90a.dat", False),
        ("usr/share/doc/rocblas/library/gfx90a.txt", False),
        (f"{ROCBLAS}/Kernels.so-000-gfx777.hsaco", False),
    ],
)
def test_a_file_is_for_other_gpus_by_its_name(path, other):
    assert Sieve(["gfx942"]).other(path.encode()) is other


def test_the_data_of_families_have_their_sources():
    assert all(family.source and family.pattern.groups == 1 for family in slim.FAMILIES)


def lock(**more):
    return from_document(
        document(torch={"version": "2.6.0", "build": "rocm"}, gfx=["gfx90a", "gfx942", "gfx1100"]) | more
    )


def test_what_is_left_out_is_part_of_the_lock():
    full = lock()
    one, both = slimmed(full, "gfx942"), slimmed(full, "gfx942, gfx90a")

    assert (one.name, one.document["slim"], one.gfx) == ("small-slim-gfx942", ["gfx942"], ("gfx942",))
    assert (both.name, both.document["slim"]) == ("small-slim-gfx90a-gfx942", ["gfx90a", "gfx942"])
    assert len({full.sha256, one.sha256, both.sha256}) == 3
    assert slimmed(full, "gfx90a,gfx942").sha256 == both.sha256
    assert slimmed(from_document(document()), "gfx942").gfx == ()


@pytest.mark.parametrize(
    ("full", "asked", "says"),
    [
        (lock(), "gfx1030", "nothing for 'gfx1030'"),
        (lock(), "", "nothing for ''"),
        (lock(), "gfx942,", "nothing for ''"),
        (lock(), "../x", r"nothing for '\.\./x'"),
        (lock(gfx=[]), "gfx12345", "nothing for 'gfx12345'"),
        (on_base(gfx=["gfx942"]), "gfx942", "whose layers stay as they are: leaving files out would save nothing"),
        (on_base(gfx=["gfx942"], environment={"A": "1"}), "gfx942", "would save nothing"),
        (slimmed(lock(), "gfx942"), "gfx942", "is slim already, for gfx942"),
    ],
)
def test_what_cannot_be_slim_is_refused_with_the_reason(full, asked, says):
    with pytest.raises(KitError, match=says):
        slimmed(full, asked)


FILES = [
    folder(ROCBLAS), Item(f"{ROCBLAS}/Kernels.so-000-gfx1100.hsaco", b"1" * 1000), Item("usr/x", b"1"),
    Item(f"{ROCBLAS}/Kernels.so-000-gfx942.hsaco", b"2" * 2000),
    link(f"{ROCBLAS}/Kernels.so-000-gfx1101.hsaco", f"{ROCBLAS}/Kernels.so-000-gfx1100.hsaco"),
    link("usr/kept", f"{ROCBLAS}/TensileLibrary_lazy_gfx908.dat"),
    Item(f"{ROCBLAS}/TensileLibrary_lazy_gfx908.dat", b"3"),
]  # fmt: skip
DROPPED = {
    "kept": ["gfx942"],
    "dropped": [
        f"/{ROCBLAS}/{name}"
        for name in ("Kernels.so-000-gfx1100.hsaco", "Kernels.so-000-gfx1101.hsaco", "TensileLibrary_lazy_gfx908.dat")
    ],
    "saved_bytes": 1000,
}


def test_files_are_left_out_listed_and_counted_once(store, out, tmp_path, capsys):
    engine = engine_with(tmp_path, image([tar(FILES)]), image([tar(FILES)]), image([tar(FILES)]))

    whole = builder.build(lock(), engine, store, out=out / "whole", progress=False)
    made = builder.check(slimmed(lock(), "gfx942"), engine, store, out=out / "slim")

    documents.check(made, "image-1")
    assert made["built_twice"]["identical"]
    assert builder.answer(made, built=True)["slim"] == DROPPED
    assert "slim" not in whole
    assert made["size_bytes"] < whole["size_bytes"] - 1000
    assert "slim: 3 files for other GPUs left out, 1.0 kB saved" in capsys.readouterr().err


def test_on_a_base_only_our_layer_becomes_slim(store, out, based):
    based.answers = [answered(), answered(*FILES)]
    debs = [lock().debs[0] | {"sha256": sha256(DEB)}]

    made = builder.build(slimmed(on_base(debs=debs, gfx=["gfx942"]), "gfx942"), based, store, out=out, progress=False)

    assert made["slim"] == DROPPED
    assert made["diff_ids"][:1] == test_build.BASE_IMAGE["diff_ids"]
