"""Which engine an environment means, and what is said when it cannot be reached."""

import hashlib
import json
import os
import socket

import pytest

from images import endpoint
from images.endpoint import Endpoint, EngineError

WRONG = ("chmod", "777", "--privileged", "reinstall")


def place(root, path):
    file = root / path.lstrip("/")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch()


def define_context(folder, name, host, tls=()):
    key = hashlib.sha256(name.encode()).hexdigest()
    meta = folder / "contexts/meta" / key
    meta.mkdir(parents=True)
    meta.joinpath("meta.json").write_text(
        json.dumps({"Name": name, "Metadata": {}, "Endpoints": {"docker": {"Host": host, "SkipTLSVerify": False}}})
    )
    for kind in tls:
        place(folder, f"contexts/tls/{key}/docker/{kind}.pem")


@pytest.mark.parametrize(
    ("environ", "sockets", "url", "source"),
    [
        pytest.param({}, ["/var/run/docker.sock"], "/var/run/docker.sock", "the default socket", id="the default"),
        pytest.param({}, [], "/var/run/docker.sock", "the default socket", id="nothing there: the default is named"),
        pytest.param({}, ["/run/podman/podman.sock"], "/run/podman/podman.sock", "Podman's socket", id="only Podman"),
        pytest.param(
            {"XDG_RUNTIME_DIR": "/run/user/1000"},
            ["/run/user/1000/docker.sock", "/run/user/1000/podman/podman.sock"],
            "/run/user/1000/docker.sock",
            "rootless Docker's socket",
            id="rootless Docker before Podman",
        ),
        pytest.param(
            {"HOME": "/home/a"},
            ["/home/a/.docker/desktop/docker.sock"],
            "/home/a/.docker/desktop/docker.sock",
            "Docker Desktop's socket",
            id="Docker Desktop on Linux",
        ),
    ],
)
def test_without_a_setting_the_socket_that_is_there_is_used(environ, sockets, url, source, tmp_path):
    for path in sockets:
        place(tmp_path, path)

    found = endpoint.find(environ, tmp_path)

    assert (found.url, found.source) == (f"unix://{tmp_path}{url}", source)


BOTH = ["/var/run/docker.sock", "/run/podman/podman.sock"]


@pytest.mark.parametrize(
    ("engine", "environ", "there", "url", "source"),
    [
        pytest.param("podman", {}, BOTH, "/run/podman/podman.sock", "Podman's socket", id="Podman beside Docker"),
        pytest.param("docker", {}, BOTH, "/var/run/docker.sock", "the default socket", id="Docker beside Podman"),
        pytest.param("docker", {}, BOTH[1:], "/var/run/docker.sock", "the default socket", id="no Docker: not Podman"),
        pytest.param(
            "podman",
            {"XDG_RUNTIME_DIR": "/run/user/1000"},
            ["/run/user/1000/podman/podman.sock"],
            "/run/user/1000/podman/podman.sock",
            "Podman's socket",
            id="rootless Podman",
        ),
    ],
)
def test_the_engine_that_is_asked_for_is_found_at_its_own_sockets(engine, environ, there, url, source, tmp_path):
    for path in there:
        place(tmp_path, path)

    found = endpoint.find(environ, tmp_path, engine)

    assert (found.url, found.source, found.engine) == (f"unix://{tmp_path}{url}", source, engine)


def test_podman_goes_by_its_own_setting_and_not_by_docker_s(tmp_path):
    define_context(tmp_path, "far", "ssh://a@b")
    settings = {"DOCKER_HOST": "tcp://1.2.3.4:2376", "DOCKER_CONTEXT": "far", "DOCKER_CONFIG": str(tmp_path)}

    assert endpoint.find(settings, tmp_path, "podman").source == "Podman's socket"
    found = endpoint.find(settings | {"CONTAINER_HOST": "/a/podman.sock"}, tmp_path, "podman")
    assert (found.url, found.source, found.undo) == ("unix:///a/podman.sock", "CONTAINER_HOST", "unset CONTAINER_HOST")


@pytest.mark.parametrize("listening", [False, True], ids=["no socket", "a socket that nobody holds"])
def test_podman_s_service_that_does_not_run_is_told_with_how_it_is_started(listening, tmp_path):
    path = tmp_path / "run/podman/podman.sock"
    path.parent.mkdir(parents=True)
    if listening:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(path))
    with pytest.raises(EngineError, match="not running") as caught:
        endpoint.reach(endpoint.find({"XDG_RUNTIME_DIR": str(tmp_path / "none")}, tmp_path, "podman"))

    assert caught.value.code == "silent"
    assert "podman system service" in caught.value.hint
    assert "dockerd" not in caught.value.hint


@pytest.mark.parametrize(
    ("url", "far"),
    [
        ("ssh://me@far:22/run/user/1000/podman/podman.sock", "/run/user/1000/podman/podman.sock"),
        ("ssh://me@far", "/run/podman/podman.sock"),
    ],
    ids=["with its socket", "without"],
)
def test_podman_s_own_ssh_address_is_told_as_a_forwarded_socket(url, far):
    with pytest.raises(EngineError) as caught:
        endpoint.reach(endpoint.find({"CONTAINER_HOST": url}, engine="podman"))

    assert f"-L /tmp/engine.sock:{far} me@far" in caught.value.hint
    assert caught.value.hint.endswith("CONTAINER_HOST=unix:///tmp/engine.sock")


def test_a_folder_of_another_user_holds_no_engine_of_ours(closed):
    environ = {"XDG_RUNTIME_DIR": str(closed), "HOME": str(closed)}

    assert endpoint.find(environ, closed).source == "the default socket"


def test_docker_host_comes_before_a_context(tmp_path):
    define_context(tmp_path, "far", "ssh://a@b")
    environ = {"DOCKER_HOST": "tcp://10.0.0.1:2376", "DOCKER_CONTEXT": "far", "DOCKER_CONFIG": str(tmp_path)}

    assert endpoint.find(environ) == Endpoint("tcp://10.0.0.1:2376", "DOCKER_HOST", "unset DOCKER_HOST")


def test_docker_host_may_be_a_bare_path():
    assert endpoint.find({"DOCKER_HOST": "/x/y.sock"}).url == "unix:///x/y.sock"


@pytest.mark.parametrize("how", ["variable", "configuration"])
def test_a_context_is_read_as_the_docker_client_reads_it(how, tmp_path):
    define_context(tmp_path, "far", "tcp://10.0.0.1:2376", tls=("ca", "cert", "key"))
    environ = {"DOCKER_CONFIG": str(tmp_path)}
    if how == "variable":
        environ["DOCKER_CONTEXT"] = "far"
    else:
        tmp_path.joinpath("config.json").write_text('{"currentContext": "far"}')

    found = endpoint.find(environ)

    assert (found.url, found.source, sorted(found.tls)) == (
        "tcp://10.0.0.1:2376",
        "docker context far",
        ["ca", "cert", "key"],
    )
    assert found.remote


def test_a_context_that_is_not_defined_is_named(tmp_path):
    with pytest.raises(EngineError, match="'gone' is not defined") as caught:
        endpoint.find({"DOCKER_CONTEXT": "gone", "DOCKER_CONFIG": str(tmp_path)})

    assert "docker context ls" in caught.value.hint


@pytest.mark.parametrize(
    ("url", "remote"),
    [
        ("unix:///var/run/docker.sock", False),
        ("ssh://a@b", True),
        ("tcp://1.2.3.4:1", True),
    ],
)
def test_only_a_socket_is_surely_this_machine(url, remote):
    assert Endpoint(url, "x").remote is remote


def test_an_absent_socket_is_told_apart(tmp_path):
    with pytest.raises(EngineError, match="does not exist") as caught:
        endpoint.reach(Endpoint(f"unix://{tmp_path}/none.sock", "DOCKER_HOST"))

    assert caught.value.code == "absent"


def test_a_socket_on_which_nobody_listens_is_told_apart(tmp_path):
    path = tmp_path / "dead.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
    with pytest.raises(EngineError, match="not running") as caught:
        endpoint.reach(Endpoint(f"unix://{path}", "DOCKER_HOST"))

    assert caught.value.code == "silent"
    assert "systemctl start docker" in caught.value.hint


def denied(path):
    return endpoint._unreachable(path, Endpoint(f"unix://{path}", "x"), PermissionError(13, "Permission denied"))


def test_a_denied_socket_names_its_own_group_and_never_widens_its_mode(tmp_path):
    path = tmp_path / "docker.sock"
    path.touch()
    if os.getuid() == 0:
        os.chown(path, 0, 1)  # group `daemon` on every Linux
    error = denied(path)

    assert error.code == "denied"
    assert "usermod -aG" in error.hint
    assert not [word for word in WRONG if word in str(error)]


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file to root's group")
def test_nobody_is_told_to_join_the_group_of_root(tmp_path):
    path = tmp_path / "docker.sock"
    path.touch()
    os.chown(path, 0, 0)

    assert "usermod" not in denied(path).hint
