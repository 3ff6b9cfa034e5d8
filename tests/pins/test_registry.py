"""Images are found in Debian's own registry, and in none of the ways in which a bad one answers."""

import gzip
import io
import json
import os
import ssl
import subprocess
import time

import pytest
import requests

from pins import registry_auth, registry_client
from pins.references import parse
from pins.registry import image, present
from pins.registry_client import Client
from pins.registry_upload import Repository
from pins.store import Store
from schema.errors import KitError
from tests.pins.fakes_registry import DOCKER, Debian, Image, attestation, cut, digest, endless, index, packed, send

MANIFESTS = "/v2/some/image/manifests/"


@pytest.fixture(autouse=True)
def quick(monkeypatch, tmp_path):
    monkeypatch.setattr(registry_client, "BACK_OFF_S", 0.001)
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "docker"))
    (tmp_path / "docker").mkdir()


def login(tmp_path, **config):
    (tmp_path / "docker/config.json").write_text(json.dumps(config))


# What is well


@pytest.mark.parametrize("docker", [False, True], ids=["OCI's media types", "Docker's media types"])
def test_a_tag_leads_to_manifest_configuration_and_layers(debian, docker):
    there = Image(docker=docker)

    found = image(debian.put(there))

    assert (found.index, found.manifest.digest, found.config.digest) == (
        None,
        *map(digest, (there.manifest, there.config)),
    )
    assert [layer.document() for layer in found.layers] == there.document["layers"]
    assert found.manifest_document == there.document
    assert found.diff_ids == [digest(b"a layer"), digest(b"another")]


@pytest.mark.parametrize("docker", [False, True], ids=["OCI's media types", "Docker's media types"])
def test_an_index_leads_to_linux_amd64_past_attestations_and_other_platforms(debian, docker):
    there, other = Image(docker=docker), Image((b"arm",), docker=docker)
    proof, proof_entry = attestation(there)
    arm = other.entry(platform={"os": "linux", "architecture": "arm64"})
    kind = f"{DOCKER}.distribution.manifest.list.v2+json" if docker else "application/vnd.oci.image.index.v1+json"
    above = index(proof_entry, arm, there.entry(), kind=kind)
    for one in (there, other, proof):
        debian.put(one, tag="")
    debian.put_manifest(above, "some/image", "1")

    found = image(f"{debian.host}/some/image:1")

    assert (found.index.digest, found.manifest.digest) == (digest(above), digest(there.manifest))
    for name in (digest(above), digest(there.manifest)):
        assert image(f"{debian.host}/some/image@{name}").config == found.config


def test_the_plainest_variant_of_a_platform_is_chosen(fake):
    plain, other = Image(), Image((b"v3",))
    variant = other.entry(platform={"os": "linux", "architecture": "amd64", "variant": "v3"})
    name = fake.put(plain, above=index(variant, plain.entry()))

    assert image(name).manifest.digest == digest(plain.manifest)


def test_a_moved_tag_is_read_anew_and_a_digest_stays(debian):
    old, new = Image(), Image((b"new",))
    name = debian.put(old)
    assert image(name).manifest.digest == digest(old.manifest)

    debian.put(new)

    assert image(name).manifest.digest == digest(new.manifest)
    assert image(f"{debian.host}/some/image@{digest(old.manifest)}").config.digest == digest(old.config)


def test_a_digest_that_was_asked_for_once_needs_no_network(debian):
    there = Image()
    debian.put(there)
    name = f"{debian.host}/some/image@{digest(there.manifest)}"
    found = image(name)
    debian.stop()

    assert image(name) == found


def test_a_document_that_was_spoilt_in_the_store_is_had_again(debian):
    name = debian.put(Image())
    found = image(name)
    path = Store().path(found.config.digest.removeprefix("sha256:"))
    path.chmod(0o644)
    path.write_bytes(b"{}")

    assert image(f"{debian.host}/some/image@{found.manifest.digest}").config_document == found.config_document


def test_present_asks_the_registry_and_not_the_store(debian):
    there = Image()
    name = parse(debian.put(there))
    image(name)
    assert present(name, Client(debian.host)).digest == digest(there.manifest)

    debian.request("DELETE", f"{MANIFESTS}{digest(there.manifest)}")

    with pytest.raises(KitError, match=f"has no manifest {digest(there.manifest)}"):
        present(name.at(digest(there.manifest)), Client(debian.host))


# What is not there, or no image


def test_a_missing_tag_is_told_from_a_missing_repository_and_a_deleted_manifest(debian):
    there = Image()
    debian.put(there, tag="6.4")

    with pytest.raises(KitError, match="some/image has no tag 7") as caught:
        image(f"{debian.host}/some/image:7")
    assert "6.4" in caught.value.hint
    with pytest.raises(KitError, match="has no repository other/image"):
        image(f"{debian.host}/other/image:7")
    debian.request("DELETE", f"{MANIFESTS}{digest(there.manifest)}")
    with pytest.raises(KitError, match=f"some/image has no manifest {digest(there.manifest)}"):
        image(f"{debian.host}/some/image@{digest(there.manifest)}")


def test_the_tag_latest_is_refused_naming_what_it_is_today(debian):
    there = Image()
    debian.put(there, tag="latest")

    with pytest.raises(KitError, match="latest is another image after every release") as caught:
        image(f"{debian.host}/some/image:latest")

    assert f"some/image@{digest(there.manifest)}" in caught.value.hint


def test_no_tag_is_made_up():
    with pytest.raises(KitError, match="names neither a tag nor a digest"):
        image("localhost:1/some/image")


ARM = {"os": "linux", "architecture": "arm64"}
WINDOWS = {"os": "windows", "architecture": "amd64"}
LAYER = {"mediaType": "x", "digest": digest(b"a layer"), "size": 7}
WRONG = {  # sentence: (an image, what is above it, words)
    "an image for another architecture": (Image(platform=ARM), None, "is for linux/arm64, not for linux/amd64"),
    "an image for another system": (Image(platform=WINDOWS), None, "is for windows/amd64, not"),
    "an image that does not say its platform": (Image(platform={}), None, "is for unknown/unknown, not"),
    "an index without our platform": (
        Image(),
        index(Image().entry(platform=ARM), Image().entry(platform=WINDOWS)),
        "is for linux/arm64, windows/amd64, not for linux/amd64",
    ),
    "an index of nothing": (Image(), index(), "is for no platform at all"),
    "an index of attestations alone": (Image(), index(attestation(Image())[1]), "is for no platform at all"),
    "an index that lies about the platform": (Image(platform=ARM), index(Image(platform=ARM).entry()), "linux/arm64"),
    "an index in an index": (
        Image(change={"mediaType": "application/vnd.oci.image.index.v1+json", "manifests": []}),
        index(Image(change={"mediaType": "application/vnd.oci.image.index.v1+json", "manifests": []}).entry()),
        "an index in an index",
    ),
    "an index with a wrong size": (Image(), index(Image().entry(size=1)), r"has \d+ bytes, not 1"),
    "an entry with no digest": (Image(), index(Image().entry(digest="sha256:1")), "without media type, sha256 or size"),
    "a manifest of schema 1": (Image(change={"schemaVersion": 1}), None, "a manifest of schema 1"),
    "a manifest without a configuration": (Image(change={"config": None}), None, "without media type, sha256"),
    "a manifest without layers": (Image(change={"layers": None}), None, "lacks a list"),
    "a manifest of too many layers": (Image(change={"layers": [LAYER] * 1001}), None, "more than 1000"),
    "a negative size": (Image(change={"layers": [LAYER | {"size": -1}]}), None, "without media type, sha256 or size"),
    "a size that is true": (Image(change={"layers": [LAYER | {"size": True}]}), None, "without media type, sha256"),
    "a digest that goes up": (Image(change={"layers": [LAYER | {"digest": "sha256:../x"}]}), None, "without media"),
    "another number of layers": (
        Image(change={"layers": [LAYER]}),
        None,
        "has 1 layers, and its configuration knows 2",
    ),
    "an artifact that is no image": (Image(config={"a": "chart"}), None, "is no image of a container"),
    "a configuration that is a list": (Image(config=[1]), None, "is not a document as registries keep them"),
    "a list in the place of a manifest": (Image(), b"[]", "is not a document as registries keep them"),
    "a page in the place of a manifest": (Image(), b"<html>", "is not strict JSON"),
    "a manifest that nests for ever": (Image(), b'{"a":' * 5000 + b"1" + b"}" * 5000, "JSON|as registries keep"),
    "a key that stands twice": (Image(), b'{"schemaVersion":2,"schemaVersion":2}', "a key stands twice"),
}


@pytest.mark.parametrize(("there", "above", "words"), WRONG.values(), ids=WRONG)
def test_what_is_no_image_for_us_is_refused_with_a_remedy(fake, there, above, words):
    with pytest.raises(KitError, match=words) as caught:
        image(fake.put(there, above=above))

    assert caught.value.hint


# What is spoilt on the way


def path_of(kind, there):
    return f"{MANIFESTS}1" if kind == "manifest" else f"/v2/some/image/blobs/{digest(there.config)}"


DOCUMENTS = pytest.mark.parametrize("kind", ["manifest", "configuration"])


@DOCUMENTS
def test_altered_bytes_are_refused_and_not_kept(fake, kind):
    there = Image()
    name = fake.put(there)
    status, headers, body = fake.answers[path_of(kind, there)]
    fake.answers[path_of(kind, there)] = (status, headers, body.replace(b"a", b"b", 1))

    with pytest.raises(KitError, match=r"the registry calls sha256:.* what is sha256:"):
        image(name)
    fake.answers[path_of(kind, there)] = (status, headers, body)

    assert image(name).config.digest == digest(there.config)


@DOCUMENTS
def test_a_document_that_is_cut_off_is_refused(fake, kind):
    there = Image()
    name = fake.put(there)
    headers, body = fake.answers[path_of(kind, there)][1:]
    fake.answers[path_of(kind, there)] = cut(body, headers)

    with pytest.raises(KitError, match="was cut off"):
        image(name)


@DOCUMENTS
def test_a_document_that_comes_compressed_is_unpacked_and_a_broken_one_refused(fake, kind):
    there = Image()
    name = fake.put(there)
    status, headers, body = fake.answers[path_of(kind, there)]
    packed_up = gzip.compress(body)
    fake.answers[path_of(kind, there)] = (status, headers | {"Content-Encoding": "gzip"}, b"no gzip at all" + packed_up)
    with pytest.raises(KitError, match="was cut off"):
        image(name)

    fake.answers[path_of(kind, there)] = (status, headers | {"Content-Encoding": "gzip"}, packed_up)
    assert image(name).config.digest == digest(there.config)


@DOCUMENTS
def test_a_document_without_end_is_given_up(fake, kind):
    there = Image()
    name = fake.put(there)
    fake.answers[path_of(kind, there)] = endless(200, {})

    with pytest.raises(KitError, match=r"sends more than [0-9]+ bytes"):
        image(name)


@pytest.mark.parametrize("status", [404, 403, 500])
def test_the_page_of_an_error_may_have_no_end(fake, status):
    fake.answers[f"{MANIFESTS}1"] = endless(status, {})

    with pytest.raises(KitError):
        image(f"{fake.host}/some/image:1")


@pytest.mark.parametrize("length", ["9" * 5000, "\u00b2", "-1", ""], ids=["endless", "no digit", "negative", "none"])
def test_a_size_that_is_no_number_is_not_known(fake, length):
    fake.answers[f"/v2/some/image/blobs/{digest(b'x')}"] = (200, {"Content-Length": length}, b"x")

    assert Client(fake.host).size("some/image", digest(b"x")) is None


# What the server does instead of answering


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_what_passes_is_waited_for(fake, status):
    there = Image()
    name = fake.put(there)
    after = "1" if status == 429 else "soon"
    fake.answers[f"{MANIFESTS}1"] = [(status, {"Retry-After": after}, b""), fake.answers[f"{MANIFESTS}1"]]
    began = time.monotonic()

    assert image(name).manifest.digest == digest(there.manifest)
    assert (time.monotonic() - began >= 1) == (status == 429)


ERRORS = {  # status: (words, words of the remedy)
    403: ("HTTP 403 .DENIED: no.", "docker login"),
    429: ("HTTP 429", "wait for a while"),
    500: ("HTTP 500", "try again later"),
    418: ("HTTP 418", "address of a registry"),
}


@pytest.mark.parametrize("status", ERRORS)
def test_what_does_not_pass_is_said_with_the_registrys_own_words(fake, status):
    fake.answers[f"{MANIFESTS}1"] = (status, {}, packed({"errors": [{"code": "DENIED", "message": "no"}]}))

    with pytest.raises(KitError, match=ERRORS[status][0]) as caught:
        image(f"{fake.host}/some/image:1")

    assert ERRORS[status][1] in caught.value.hint
    assert len(fake.requests) == (4 if status in {429, 500} else 1)


def test_a_redirect_is_followed_and_a_circle_is_left(fake):
    there = Image()
    name = fake.put(there)
    blob = f"/v2/some/image/blobs/{digest(there.config)}"
    fake.answers["/storage"] = fake.answers[blob]
    fake.answers[blob] = (307, {"Location": "/storage"}, b"")
    assert image(name).config.digest == digest(there.config)

    fake.answers[f"{MANIFESTS}1"] = endless(302, {"Location": f"{MANIFESTS}1"})
    with pytest.raises(KitError, match="redirects more than 5 times"):
        image(name)


class Recorded(Client):
    """A client that notes what would be sent, and gets one redirect, or none."""

    def __init__(self, registry, location=""):
        super().__init__(registry)
        self.location, self.sent, self.authorization = location, [], "Basic c2VjcmV0"

    def _send(self, what, method, url, headers, data):
        del what, method
        self.sent.append((url, headers.get("Authorization"), data))
        response = requests.Response()
        response.status_code, response.raw = (307 if self.location and len(self.sent) == 1 else 200), io.BytesIO()
        response.headers["Location"] = self.location
        return response


@pytest.mark.parametrize("location", ["http://registry.example/x", "http://elsewhere.example/x", "http://[::1]/x"])
@pytest.mark.parametrize("first", [True, False], ids=["an address of its own, as for an upload", "a redirect"])
def test_nothing_goes_on_from_encryption_to_none(location, first):
    client = Recorded("registry.example", "" if first else location)

    with pytest.raises(KitError, match="sends us on to http://"):
        client.ask("PATCH", location if first else "some/blobs/uploads/1", what="write", data=b"layer")

    assert [url for url, _, _ in client.sent if url.startswith("http:")] == []


@pytest.mark.parametrize(
    ("registry", "location", "login"),
    [
        ("registry.example", "https://registry.example/x", True),
        ("registry.example", "/x", True),
        ("registry.example", "https://elsewhere.example/x", False),
        ("registry.example", "https://registry.example:8443/x", False),
        ("localhost:5000", "http://localhost:5000/x", True),
        ("localhost:5000", "https://localhost:5000/x", False),
        ("localhost:5000", "http://elsewhere.example/x", False),
    ],
)
def test_the_login_goes_to_the_registry_alone(registry, location, login):
    redirected, asked = Recorded(registry, location), Recorded(registry)
    redirected.ask("GET", "some/manifests/1", what="read")
    asked.ask("PUT", location, what="write")

    assert (redirected.sent[1][1] is not None) == (asked.sent[0][1] is not None) == login


@pytest.mark.parametrize("location", ["http://[x", "https://[::1", "//[/"])
def test_an_address_for_an_upload_that_is_none_is_said(location):
    target = Repository(parse("registry.example/some/image:1"))
    answer = requests.Response()
    answer.headers["Location"], answer.url = location, "https://registry.example/v2/"

    with pytest.raises(KitError, match="which is no address"):
        target._place(answer, "send a blob")


@pytest.mark.parametrize("location", ["http://[x", "https://[::1", "//[/"])
def test_an_address_that_is_none_is_said(location):
    for client in (Recorded("registry.example", location), Recorded("registry.example")):
        with pytest.raises(KitError, match="which is no address"):
            client.ask("GET", location if not client.location else "some/manifests/1", what="read")


def test_nobody_is_waited_for_longer_than_half_a_minute(fake, monkeypatch):
    monkeypatch.setattr(registry_client, "MAX_RETRY_AFTER_S", 0.01)
    there = Image()
    name = fake.put(there)
    fake.answers[f"{MANIFESTS}1"] = [(429, {"Retry-After": "99999"}, b""), fake.answers[f"{MANIFESTS}1"]]

    assert image(name).manifest.digest == digest(there.manifest)


def test_a_document_that_comes_byte_by_byte_is_given_up(fake, monkeypatch):
    monkeypatch.setattr(registry_client, "DOCUMENT_S", 0.2)

    def drip(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        for _ in range(1000):
            handler.wfile.write(b" ")
            handler.wfile.flush()
            time.sleep(0.02)

    fake.answers[f"{MANIFESTS}1"] = drip
    with pytest.raises(KitError, match="is too slow"):
        image(f"{fake.host}/some/image:1")


def test_a_registry_that_is_down_is_said():
    with pytest.raises(KitError, match=r"cannot be reached: .*refused") as caught:
        image("127.0.0.1:1/some/image:1")

    assert caught.value.hint


def test_a_registry_that_is_silent_is_given_up(fake):
    fake.answers[f"{MANIFESTS}1"] = lambda _handler: time.sleep(2)

    with pytest.raises(KitError, match=r"does not answer in time|cannot be reached"):
        image(f"{fake.host}/some/image:1", client=Client(fake.host, timeout_s=0.2))


def test_a_certificate_that_nobody_trusts_is_said_and_one_of_the_host_is_trusted(fake, tmp_path, monkeypatch):
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localtest"]
    made += ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out", cert]
    subprocess.run(made, check=True, capture_output=True)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(cert, key)
    fake.server.socket = tls.wrap_socket(fake.server.socket, server_side=True)
    name = parse(fake.put(Image()))

    def client():  # on this machine, and asked as any other host is
        made = Client(name.registry)
        made.root = made.root.replace("http:", "https:")
        return made

    with pytest.raises(KitError, match="no certificate that this host trusts") as caught:
        image(name, client=client())
    assert "REQUESTS_CA_BUNDLE" in caught.value.hint
    monkeypatch.delenv("REQUESTS_CA_BUNDLE", raising=False)
    monkeypatch.delenv("CURL_CA_BUNDLE", raising=False)
    monkeypatch.setenv("SSL_CERT_FILE", str(cert))
    assert image(name, client=client()).config.digest == digest(Image().config)


@pytest.mark.parametrize(
    ("registry", "root"),
    [
        ("localhost:5000", "http://localhost:5000/v2/"),
        ("localhost", "http://localhost/v2/"),
        ("127.0.0.2:5000", "http://127.0.0.2:5000/v2/"),
        ("[::1]:5000", "http://[::1]:5000/v2/"),
        ("localhost.example", "https://localhost.example/v2/"),
        ("127.0.0.1.example", "https://127.0.0.1.example/v2/"),
        ("ghcr.io", "https://ghcr.io/v2/"),
        ("docker.io", "https://registry-1.docker.io/v2/"),
    ],
)
def test_only_this_machine_is_asked_without_encryption(registry, root):
    assert Client(registry).root == root


def test_no_proxy_is_asked_for_this_machine(fake, monkeypatch):
    there = Image()
    name = fake.put(there)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "")

    assert image(name).config.digest == digest(there.config)


def test_the_proxy_of_the_host_is_asked_for_others(fake, monkeypatch):
    monkeypatch.setenv("https_proxy", f"http://{fake.host}")
    monkeypatch.setenv("no_proxy", "")

    with pytest.raises(KitError):
        image("registry.example/some/image:1")
    assert {method for method, _, _ in fake.requests} <= {"CONNECT"}


@pytest.mark.parametrize(
    ("realm", "secure", "goes"),
    [
        ("https://auth.example/token", True, True),
        ("https://auth.example/token", False, True),
        ("http://auth.example/token", True, False),
        ("http://auth.example/token", False, False),
        ("http://127.0.0.1:5001/token", False, True),
        ("http://127.0.0.1:5001/token", True, False),
        ("http://127.0.0.1@auth.example/token", False, False),
        ("http://127.0.0.1.example/token", False, False),
        ("https://[x", True, False),
        ("ftp://127.0.0.1/token", False, False),
    ],
)
def test_a_login_goes_for_a_token_over_encryption_or_nowhere_but_this_machine(realm, secure, goes):
    asked = []

    def ask(*question):
        asked.append(question)
        return {"token": "t"}

    challenge = f'Bearer realm="{realm}",service="s"'
    if goes:
        assert registry_auth.authorization("r.example", challenge, ask, secure=secure) == "Bearer t"
    else:
        with pytest.raises(KitError, match="not https"):
            registry_auth.authorization("r.example", challenge, ask, secure=secure)
    assert bool(asked) == goes


# Logins


def token_server(fake, *, wants="", gives="good", scope="repository:some/image:pull"):
    """Let the registry want a bearer token, which /token gives to who sends `wants`."""
    plain = dict(fake.answers)

    def guarded(path):
        def answer(handler):
            if handler.headers.get("Authorization") == f"Bearer {gives}":
                return plain[path]
            challenge = f'Bearer realm="http://{fake.host}/token",service="a, service",scope="{scope}"'
            return (401, {"WWW-Authenticate": challenge}, packed({"errors": [{"code": "UNAUTHORIZED"}]}))

        return answer

    def token(handler):
        if wants and handler.headers.get("Authorization") != wants:
            return (401, {}, b"{}")
        return (200, {}, packed({"token": gives}))

    fake.answers = {path: guarded(path) for path in plain}
    fake.answers["/token?service=a%2C+service&scope=repository%3Asome%2Fimage%3Apull"] = token
    return token


def test_a_public_image_is_had_with_a_token_for_everybody(fake):
    there = Image()
    name = fake.put(there)
    token_server(fake)

    assert image(name).config.digest == digest(there.config)
    assert [path for _, path, _ in fake.requests if path.startswith("/token")] == [
        "/token?service=a%2C+service&scope=repository%3Asome%2Fimage%3Apull"
    ], "one token does for manifest and configuration"


USER = "Basic dXNlcjpwYXNz"  # user:pass


def test_a_login_of_the_docker_configuration_is_sent_for_a_token(fake, tmp_path):
    there = Image()
    name = fake.put(there)
    token_server(fake, wants=USER)
    with pytest.raises(KitError, match="HTTP 401") as caught:
        image(name)
    assert "docker login" in caught.value.hint

    login(tmp_path, auths={fake.host: {"auth": "dXNlcjpwYXNz"}})

    assert image(name).config.digest == digest(there.config)


@pytest.mark.parametrize("key", ["credsStore", "credHelpers"])
def test_a_login_of_a_credential_helper_is_sent(fake, tmp_path, monkeypatch, key):
    there = Image()
    name = fake.put(there)
    token_server(fake, wants=USER)
    helper = tmp_path / "bin/docker-credential-tests"
    helper.parent.mkdir()
    helper.write_text('#!/bin/sh\necho \'{"Username": "user", "Secret": "pass"}\'\n')
    helper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{helper.parent}:{os.environ['PATH']}")
    login(tmp_path, **{key: "tests" if key == "credsStore" else {fake.host: "tests"}})

    assert image(name).config.digest == digest(there.config)


def test_an_identity_token_is_changed_for_a_token(fake, tmp_path):
    there = Image()
    name = fake.put(there)
    token = token_server(fake)
    fake.answers["/token"] = token
    login(tmp_path, auths={fake.host: {"identitytoken": "mine"}})

    assert image(name).config.digest == digest(there.config)
    asked = next(headers for method, _, headers in fake.requests if method == "POST")
    assert b"grant_type=refresh_token" in asked["body"]
    assert b"refresh_token=mine" in asked["body"]


def test_a_login_is_sent_to_a_registry_that_wants_it_itself(registry_program, tmp_path):
    hashed = "$2y$05$MCvi3d8RG0ZoF9JWFYVdOOXsHqqALkP9ZpfWQmHWPRK4MPHpkWFCW"
    (tmp_path / "htpasswd").write_text(f"user:{hashed}\n")
    closed = Debian(registry_program, tmp_path / "closed", htpasswd=tmp_path / "htpasswd")
    try:
        with pytest.raises(KitError, match="wants a login, and there is none") as caught:
            image(f"{closed.host}/some/image:1")
        assert f"docker login {closed.host}" in caught.value.hint
        login(tmp_path, auths={closed.host: {"auth": "dXNlcjp3cm9uZw=="}})
        with pytest.raises(KitError, match="HTTP 401"):
            image(f"{closed.host}/some/image:1")
    finally:
        closed.stop()


@pytest.mark.parametrize(
    "config",
    [
        {"auths": {"HOST": {"auth": "no base64"}}},
        {"auths": {"HOST": []}},
        {"credsStore": "that-is-not-there"},
        {"credHelpers": {"HOST": "that-is-not-there"}},
        {"auths": 3},
    ],
    ids=["a login that cannot be read", "a login that is none", "no helper", "no helper of this host", "no logins"],
)
def test_a_configuration_that_cannot_be_used_is_said(fake, tmp_path, config):
    name = fake.put(Image())
    token_server(fake)
    (tmp_path / "docker/config.json").write_text(json.dumps(config).replace("HOST", fake.host))

    with pytest.raises(KitError, match=r"the Docker configuration has a login .* that cannot be used"):
        image(name)


@pytest.mark.parametrize(
    ("challenge", "words"),
    [
        ("", "wants a login in a way that is not known"),
        ("Negotiate", "wants a login in a way that is not known"),
        ("Bearer", "wants a login in a way that is not known"),
        ('Bearer realm="ftp://x"', "which is not https"),
        ('Bearer realm="http://127.0.0.1:1/token"', "cannot be reached"),
    ],
)
def test_a_challenge_that_cannot_be_answered_is_said(fake, challenge, words):
    fake.answers[f"{MANIFESTS}1"] = (401, {"WWW-Authenticate": challenge}, b"")

    with pytest.raises(KitError, match=words):
        image(f"{fake.host}/some/image:1")


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"token": 3}', b'{"token": "a\\nb"}', b"<html>"])
def test_a_token_server_that_gives_none_is_said(fake, body):
    name = fake.put(Image())
    token_server(fake)
    fake.answers["/token?service=a%2C+service&scope=repository%3Asome%2Fimage%3Apull"] = (200, {}, body)

    with pytest.raises(KitError, match="token") as caught:
        image(name)

    assert caught.value.hint


def test_a_login_goes_to_nobody_but_the_registry(fake, tmp_path):
    """Neither where a blob lies, nor to a server without encryption when the registry has one."""
    from tests.pins.fakes_registry import Fake

    there = Image()
    name = fake.put(there)
    blob = f"/v2/some/image/blobs/{digest(there.config)}"
    with Fake() as storage:
        storage.answers["/blob"] = fake.answers[blob]
        fake.answers[blob] = (307, {"Location": f"http://localhost:{storage.server.server_port}/blob"}, b"")
        token_server(fake)
        login(tmp_path, auths={fake.host: {"auth": "dXNlcjpwYXNz"}})
        image(name)
        assert all("Authorization" not in headers for _, _, headers in storage.requests)


def test_headers_of_a_netrc_file_are_left_out(fake, tmp_path, monkeypatch):
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login user password pass\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    image(fake.put(Image()))

    assert all("Authorization" not in headers for _, _, headers in fake.requests)


def test_fakes_send_what_they_were_told(fake):
    """The hostile server's own word, so that a test of it can fail."""
    fake.answers["/x"] = lambda handler: send(handler, 200, {}, b"x")
    answer = Client(fake.host).ask("GET", "/x", what="look")

    assert answer.content == b"x"
