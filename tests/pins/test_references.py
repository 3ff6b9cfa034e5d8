import pytest

from pins.references import Reference, parse
from schema.errors import KitError

D = "sha256:" + "a" * 64
GOOD = {  # text: (registry, repository, tag, digest, as text)
    "busybox": ("docker.io", "library/busybox", "", "", "docker.io/library/busybox"),
    "busybox:1.36": ("docker.io", "library/busybox", "1.36", "", "docker.io/library/busybox:1.36"),
    "rocm/pytorch:latest": ("docker.io", "rocm/pytorch", "latest", "", "docker.io/rocm/pytorch:latest"),
    f"rocm/pytorch@{D}": ("docker.io", "rocm/pytorch", "", D, f"docker.io/rocm/pytorch@{D}"),
    f"rocm/pytorch:1@{D}": ("docker.io", "rocm/pytorch", "1", D, f"docker.io/rocm/pytorch:1@{D}"),
    "docker.io/busybox": ("docker.io", "library/busybox", "", "", "docker.io/library/busybox"),
    "index.docker.io/rocm/pytorch": ("docker.io", "rocm/pytorch", "", "", "docker.io/rocm/pytorch"),
    "localhost/x": ("localhost", "x", "", "", "localhost/x"),
    "localhost:5000/x": ("localhost:5000", "x", "", "", "localhost:5000/x"),
    "localhost:5000/x:1": ("localhost:5000", "x", "1", "", "localhost:5000/x:1"),
    f"127.0.0.1:5000/a/b-c__d.e@{D}": ("127.0.0.1:5000", "a/b-c__d.e", "", D, f"127.0.0.1:5000/a/b-c__d.e@{D}"),
    "[::1]:5000/x:V_1.0": ("[::1]:5000", "x", "V_1.0", "", "[::1]:5000/x:V_1.0"),
    "ghcr.io/rocm/x:1": ("ghcr.io", "rocm/x", "1", "", "ghcr.io/rocm/x:1"),
    "Registry/x": ("Registry", "x", "", "", "Registry/x"),
}
BAD = {
    "nothing": "",
    "a tag alone": ":1",
    "no tag behind the colon": "x:",
    "capital letters": "rocm/PyTorch:1",
    "a short digest": "x@sha256:" + "a" * 63,
    "a digest in capital letters": "x@sha256:" + "A" * 64,
    "another kind of digest": "x@sha512:" + "a" * 128,
    "two digests": f"x@{D}@{D}",
    "an address": "https://ghcr.io/x:1",
    "the kit's own address": "oci://ghcr.io/x:1",
    "a host with a login": "user:password@ghcr.io/x",
    "an empty part": "ghcr.io/a//b",
    "a slash at the end": "ghcr.io/a/",
    "a part that goes up": "ghcr.io/../x",
    "a line break": "x:1\n",
    "a space": "x y:1",
    "a long tag": "x:" + "a" * 129,
    "a long name": "a" * 256,
    "a host without a repository": "ghcr.io/",
    "a host that begins with a dot": ".io/x",
    "a query": "ghcr.io/x?y",
}


@pytest.mark.parametrize(("text", "expected"), GOOD.items(), ids=GOOD)
def test_a_reference_is_read_as_docker_reads_it(text, expected):
    found = parse(text)

    assert (found.registry, found.repository, found.tag, found.digest, str(found)) == expected
    assert parse(str(found)) == found


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_what_is_no_reference_is_refused_with_a_remedy(text):
    with pytest.raises(KitError) as caught:
        parse(text)

    assert caught.value.hint


def test_a_digest_is_asked_for_before_a_tag():
    assert parse(f"x:1@{D}").wanted == D
    assert parse("x:1").wanted == "1"
    assert parse(f"x:1@{D}").tagged("2") == Reference("docker.io", "library/x", "2", "")
    assert parse("x:1").at(D) == Reference("docker.io", "library/x", "", D)
