import os
import re
import threading
from pathlib import Path

import pytest

from pins import download
from pins.fetch import Fetched, fetch
from pins.lock import from_document
from pins.sources import Sources
from pins.store import Store
from schema.errors import KitError
from tests.pins.fakes_archive import BASE, deb, document, host_root, lock_of, sha256

CONTENTS = {"aa": b"a" * 300_000, "bb": b"b" * 10, "cc": os.urandom(200_000)}
PATH = "pool/main/a/aa/aa_1.0-1_all.deb"


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(download, "BACK_OFF_S", 0.01)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "cache")


@pytest.fixture
def here(archive, tmp_path):
    return Sources(host_root(tmp_path / "root", archive.url))


def run(lock, store, sources, **more):
    return fetch(lock, store, progress=False, sources=sources, **more)


def all_there(lock, store):
    return all(store.path(entry["sha256"]).read_bytes() == CONTENTS[entry["name"]] for entry in lock.debs)


def test_everything_is_fetched_once_and_verified(archive, store, here):
    lock = archive.add(lock_of(CONTENTS), CONTENTS)
    total = sum(map(len, CONTENTS.values()))

    assert run(lock, store, here) == Fetched(3, total, total)
    assert all_there(lock, store)
    assert run(lock, store, here) == Fetched(3, total, 0)
    assert len(archive.requests) == 3
    assert not list((store.root / "parts").iterdir())


@pytest.mark.parametrize("contents", [{}, CONTENTS], ids=["an image alone", "packages on an image"])
def test_an_image_that_is_not_fetched_is_said(archive, store, here, contents):
    lock = archive.add(lock_of(contents, channel="amd", base=BASE), CONTENTS)
    note = f"the base image rocm/pytorch@{BASE['digest']} is not fetched here: `./kit build` pulls it"

    assert [run(lock, store, here).note for _ in range(2)] == [note, note]


def test_an_image_that_no_registry_has_is_not_said_to_be_pulled(archive, store, here):
    lock = archive.add(lock_of({}, channel="adopted", base=BASE | {"digest_kind": "config"}), {})

    note = run(lock, store, here).note

    assert "docker load" in note
    assert "pulls" not in note


def test_connections_are_kept(archive, store, here):
    contents = {f"p{number:02}": bytes([number]) for number in range(40)}
    lock = archive.add(lock_of(contents), contents)

    run(lock, store, here)

    assert len(archive.requests) == 40
    assert archive.connections <= 6


FAULTS = {  # sentence: (answers before the right one, requests it takes)
    "a cut connection is resumed where it ended": (["cut"], [None, "bytes=150000-"]),
    "a short file is resumed by length": (["cut"] * 2, [None, "bytes=150000-", "bytes=225000-"]),
    "a busy server is asked again": ([503, 429, 500], [None] * 4),
    "a server that ignores ranges is read from the beginning": (["cut", "no range"], [None, "bytes=150000-"]),
    "a server that gives another range is asked for all": (["cut", "other range"], [None, "bytes=150000-", None]),
    "a server that refuses the range is asked for all": (["cut", 416], [None, "bytes=150000-", None]),
}


@pytest.mark.parametrize(("faults", "ranges"), FAULTS.values(), ids=FAULTS)
def test_a_fault_that_passes_is_passed_over(archive, store, here, faults, ranges):
    lock = archive.add(lock_of({"aa": CONTENTS["aa"]}), CONTENTS)
    archive.faults[PATH] = list(faults)

    run(lock, store, here)

    assert all_there(lock, store)
    assert archive.requests == [(PATH, wanted) for wanted in ranges]


LASTING = {  # sentence: (answers, words, number of requests)
    "gone": ([404], "HTTP 404", 1),
    "forbidden": ([403], "HTTP 403", 1),
    "other bytes": (["wrong"], "its bytes have another sha256", 1),
    "too long": (["long"], "is longer than 300000 bytes", 1),
    "another length": (["cut short"], "has another length, 150000 bytes instead of 300000", 1),
    "always busy": ([503, "always"], "HTTP 503", download.TRIES),
    "always cut at the same place": (["cut", "always"], "cut off", download.TRIES),
    "a redirect to nowhere": (["https://127.0.0.1:9/x", "always"], "refused", download.TRIES),
    "a redirect to another protocol": (["file:///etc/passwd"], "redirected to file:///etc/passwd|HTTP", 1),
}


@pytest.mark.parametrize("case", LASTING.values(), ids=LASTING)
def test_a_lasting_fault_names_file_reason_and_setting(archive, store, here, case):
    faults, words, requests = case
    lock = archive.add(lock_of(CONTENTS), CONTENTS)
    archive.faults[PATH] = list(faults)

    with pytest.raises(KitError, match=rf"aa_1\.0-1_all\.deb \({archive.url}: .*{words}") as caught:
        run(lock, store, here)

    assert "no source has 1 of the files of small" in caught.value.message
    assert caught.value.hint.startswith("KIT_SOURCE=DIR ./kit fetch --lock small")
    assert "./kit lock --pin small" in caught.value.hint
    assert sum(path == PATH for path, _ in archive.requests) == requests
    assert not store.has(lock.debs[0]["sha256"])
    assert all(store.has(entry["sha256"]) for entry in lock.debs[1:]), "the others are kept for the next try"


def test_the_next_source_helps(archive, store, tmp_path, monkeypatch):
    lock = archive.add(lock_of(CONTENTS), CONTENTS)
    archive.faults[PATH] = ["wrong"]
    monkeypatch.setenv("KIT_SOURCE", archive.url)

    run(lock, store, Sources(host_root(tmp_path / "root", archive.url)))

    assert all_there(lock, store)


def test_wrong_bytes_left_by_one_source_do_not_spoil_another(archive, store, here):
    lock = archive.add(lock_of({"aa": CONTENTS["aa"]}), CONTENTS)
    store.part(lock.debs[0]["sha256"]).write_bytes(b"junk" * 100)

    run(lock, store, here)

    assert all_there(lock, store)
    assert archive.requests == [(PATH, "bytes=400-"), (PATH, None)]


@pytest.mark.parametrize("left", [CONTENTS["aa"], CONTENTS["aa"] + b"more", b"z" * 300_000])
def test_a_part_as_long_as_the_file_is_judged_by_its_hash(archive, store, here, left):
    lock = archive.add(lock_of({"aa": CONTENTS["aa"]}), CONTENTS)
    store.part(lock.debs[0]["sha256"]).write_bytes(left)

    run(lock, store, here)

    assert all_there(lock, store)


def test_a_silent_server_is_given_up_in_time(archive, store, here):
    lock = archive.add(lock_of({"aa": CONTENTS["aa"]}), CONTENTS)
    archive.faults[PATH] = ["slow", "always"]

    with pytest.raises(KitError, match=r"no answer in time|cut off"):
        run(lock, store, here, timeout_s=0.1)


PAGES = {  # sentence: (answer, words)
    **{
        f"a page of {status} that is {end}": ((status, {}, end), f"HTTP {status}")
        for status in (404, 503)
        for end in ("cut", "hang", "endless")
    },
    "a time to ask again that is no number": ((503, {"Retry-After": "\u00b2"}, "whole"), "HTTP 503"),
    "a time to ask again that is a date": ((503, {"Retry-After": "Wed, 21 Oct"}, "whole"), "HTTP 503"),
    "a redirect to half an address": ((302, {"Location": "http://[bad"}, "whole"), "an address cannot be read"),
    "a redirect to no port": ((302, {"Location": "http://a.example:x/"}, "whole"), "nonnumeric|an address cannot be"),
    "a redirect to an unwritable name": (
        (302, {"Location": f"http://{'a' * 70}.example/"}, "whole"),
        "address|label|not",
    ),
    "a redirect without an address": ((302, {}, "whole"), "more than 5 redirects"),
    "a redirect whose page never comes": ((302, {"Location": "/debian/x"}, "hang"), "no answer in time|HTTP 404"),
    "a redirect whose page is cut": ((302, {"Location": "/debian/x"}, "cut"), "HTTP 404"),
    "a redirect whose page has no end": ((302, {"Location": "/debian/x"}, "endless"), "HTTP 404"),
    "a part of a file of odd length": (
        (206, {"Content-Range": "bytes 0-1/\u00b2"}, "cut"),
        "cut off|no answer|206|slow",
    ),
    "a part of a file of endless length": ((206, {"Content-Range": f"bytes 0-1/{'9' * 5000}"}, "cut"), "cut off|206"),
}


@pytest.mark.parametrize(("answer", "words"), PAGES.values(), ids=PAGES)
def test_what_comes_with_an_answer_that_is_no_file_changes_nothing_and_hides_nothing(
    archive, store, here, answer, words
):
    lock = archive.add(lock_of({"aa": CONTENTS["aa"]}), CONTENTS)
    archive.faults[PATH] = [answer, "always"]

    with pytest.raises(KitError, match=rf"no source has 1 of the files of small:\n  aa_.*({words})"):
        run(lock, store, here, timeout_s=0.2)


def test_a_connection_outlives_a_redirect(archive, store, here):
    lock = archive.add(lock_of({"aa": CONTENTS["aa"]}), CONTENTS)
    archive.files["moved"] = CONTENTS["aa"]
    archive.faults[PATH] = [(302, {"Location": "/debian/moved"}, "whole")]

    run(lock, store, here)

    assert (len(archive.requests), archive.connections) == (2, 1)


@pytest.mark.parametrize("address", ["http://[bad/debian", "http://a:x/debian", "http://\u0130/debian"])
def test_a_setting_that_is_no_address_is_an_answer_not_a_traceback(store, tmp_path, monkeypatch, address):
    monkeypatch.setenv("KIT_SNAPSHOT", address)
    root = host_root(tmp_path / "root", address)

    with pytest.raises(KitError, match="no source has 1 of the files"):
        run(lock_of({"aa": b"x"}), store, Sources(root))


@pytest.mark.parametrize("address", ["http://[bad", "http://a:x", "://"])
def test_a_proxy_that_is_no_address_is_an_answer_not_a_traceback(store, tmp_path, monkeypatch, address):
    monkeypatch.setenv("http_proxy", address)
    monkeypatch.setenv("no_proxy", "")

    with pytest.raises(KitError, match="no source has 1 of the files"):
        run(lock_of({"aa": b"x"}), store, Sources(host_root(tmp_path / "root", "http://archive.example/debian")))


def test_no_proxy_is_asked_for_this_machine(archive, store, here, monkeypatch):
    lock = archive.add(lock_of({"aa": b"x"}), {"aa": b"x"})
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "")

    assert run(lock, store, here).downloaded_bytes == 1


def test_a_trickle_is_given_up(archive, store, here, monkeypatch):
    monkeypatch.setattr(download, "GRACE_S", -100.0)
    lock = archive.add(lock_of({"aa": CONTENTS["aa"]}), CONTENTS)
    monkeypatch.setattr(download, "BLOCK", 1000)

    with pytest.raises(KitError, match="is slower than 20000 bytes a second"):
        run(lock, store, here)


def test_a_dead_source_is_asked_for_one_file_and_said_once(archive, store, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("pins.fetch.THREADS", 1)
    lock = archive.add(lock_of(CONTENTS), CONTENTS)
    root = host_root(tmp_path / "root", "http://127.0.0.1:9/debian", archive.url)

    fetch(lock, store, sources=Sources(root))

    assert all_there(lock, store)
    assert capsys.readouterr().err.count("http://127.0.0.1:9/debian/ does not answer") == 1


def test_a_folder_that_a_mirror_filled_is_enough(store, tmp_path, monkeypatch):
    lock = lock_of(CONTENTS)
    for entry in lock.debs:
        path = tmp_path / "mirror" / entry["path"]
        path.parent.mkdir(parents=True)
        path.write_bytes(CONTENTS[entry["name"]])
    monkeypatch.setenv("KIT_SOURCE", str(tmp_path / "mirror"))

    assert run(lock, store, Sources(tmp_path / "bare")).downloaded_bytes == 0
    assert all_there(lock, store)


@pytest.mark.parametrize("has", [0, 1, 2])
def test_what_a_given_source_did_not_have_is_said(archive, store, tmp_path, monkeypatch, capsys, has):
    contents = {"aa": b"a" * 300, "bb": b"b"}
    lock = archive.add(lock_of(contents), contents)
    for entry in lock.debs[:has]:
        path = tmp_path / "given" / entry["path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(contents[entry["name"]])
    monkeypatch.setenv("KIT_SOURCE", str(tmp_path / "given"))
    (tmp_path / "given").mkdir(exist_ok=True)

    fetch(lock, store, sources=Sources(host_root(tmp_path / "root", archive.url)))

    said = f"KIT_SOURCE had {has} of these 2 files: the others were asked for elsewhere"
    assert (said in capsys.readouterr().err) == (has < 2)


def test_a_folder_that_lacks_a_file_or_has_another_is_said(store, tmp_path, monkeypatch):
    lock = lock_of(CONTENTS)
    (tmp_path / PATH).parent.mkdir(parents=True)
    (tmp_path / PATH).write_bytes(b"z" * 300_000)
    monkeypatch.setenv("KIT_SOURCE", str(tmp_path))

    with pytest.raises(KitError, match=r"aa_.*KIT_SOURCE: its bytes have another sha256(?s:.)*No such file") as caught:
        run(lock, store, Sources(tmp_path / "bare"))

    assert "no source has 3 of the files" in caught.value.message


def test_without_a_network_it_says_so_and_what_to_do(store, tmp_path, monkeypatch):
    monkeypatch.setattr(download, "BACK_OFF_S", 0)
    monkeypatch.setenv("KIT_SNAPSHOT", "http://127.0.0.1:9/archive")
    root = host_root(tmp_path / "root", "http://127.0.0.1:9/debian", "http://nobody.invalid/debian")

    with pytest.raises(KitError, match="this machine seems to have no network") as caught:
        run(lock_of(CONTENTS), store, Sources(root))

    assert "KIT_SOURCE=FOLDER" in caught.value.hint
    assert "http://127.0.0.1:9/archive" in caught.value.message


def test_one_source_that_answers_is_a_network(archive, store, tmp_path, monkeypatch):
    monkeypatch.setattr(download, "BACK_OFF_S", 0)
    root = host_root(tmp_path / "root", "http://127.0.0.1:9/debian", archive.url)

    with pytest.raises(KitError, match="no source has 3 of the files of small") as caught:
        run(lock_of(CONTENTS), store, Sources(root))

    assert "no network" not in caught.value.message


def test_without_any_source_it_says_so(store, tmp_path):
    with pytest.raises(KitError, match="no source is known for it"):
        run(lock_of(CONTENTS), store, Sources(tmp_path))


def test_many_failures_are_counted_not_listed(store, tmp_path):
    lock = lock_of({f"p{number:02}": bytes([number]) for number in range(30)})

    with pytest.raises(KitError, match="and 25 more") as caught:
        run(lock, store, Sources(tmp_path))

    assert caught.value.message.count(".deb") == 5


def test_a_corrupt_file_in_the_store_is_said_and_fetched_again(archive, store, here, capsys):
    lock = archive.add(lock_of(CONTENTS), CONTENTS)
    run(lock, store, here)
    path = store.path(lock.debs[1]["sha256"])
    path.chmod(0o644)
    path.write_bytes(b"b" * 9 + b"B")

    assert fetch(lock, store, sources=here).downloaded_bytes == 10
    assert f"{path} is corrupt and was thrown away" in capsys.readouterr().err
    assert all_there(lock, store)


def test_size_and_free_disk_are_said_before_anything_is_fetched(archive, store, here, capsys):
    lock = archive.add(lock_of(CONTENTS), CONTENTS)

    fetch(lock, store, sources=here)

    assert f"fetch: 3 files are missing: 500.0 kB to download into {store.root} (" in capsys.readouterr().err


def test_a_disk_that_is_too_small_is_said_before_anything_is_fetched(archive, store, here, monkeypatch):
    lock = archive.add(lock_of(CONTENTS), CONTENTS)
    monkeypatch.setattr(Store, "free_bytes", lambda _: 1000)

    with pytest.raises(KitError, match=r"has 1\.0 kB free, and the inputs of small need"):
        run(lock, store, here)

    assert archive.requests == []


def test_a_disk_that_fills_up_ends_the_fetch_without_a_traceback(archive, store, here, monkeypatch):
    lock = archive.add(lock_of(CONTENTS), CONTENTS)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(download.Part, "append", full)

    with pytest.raises(KitError, match=r"the disk of the cache .* is full"):
        run(lock, store, here)


def test_a_cache_that_cannot_be_written_names_the_setting(archive, here, tmp_path):
    (tmp_path / "file").write_text("")
    lock = archive.add(lock_of(CONTENTS), CONTENTS)

    with pytest.raises(KitError, match="cannot be written") as caught:
        run(lock, Store(tmp_path / "file"), here)

    assert "KIT_CACHE=DIR" in caught.value.hint


CACHES = {  # sentence: makes of a path what cannot be a cache, or not a whole one
    "a file": Path.touch,
    "a folder below a file": lambda path: path.parent.touch(),
    "a pipe": os.mkfifo,
    "a link to itself": lambda path: path.symlink_to(path),
    "a link into nothing that can be": lambda path: path.symlink_to("/proc/nobody"),
    "a cache whose folders are files": lambda path: [path.mkdir(), (path / "sha256").touch(), (path / "parts").touch()],
    "a cache whose files are pipes": lambda path: every_input(path, os.mkfifo),
    "a cache whose files are folders": lambda path: every_input(path, Path.mkdir),
    "a cache whose files are devices": lambda path: every_input(path, lambda file: file.symlink_to("/dev/zero")),
}


def every_input(path, make):
    for content in CONTENTS.values():
        file = Store(path).path(sha256(content))
        file.parent.mkdir(parents=True, exist_ok=True)
        make(file)


@pytest.mark.parametrize("make", CACHES.values(), ids=CACHES)
def test_what_can_be_no_cache_is_said_at_once_with_the_setting(archive, here, tmp_path, make):
    lock, path = archive.add(lock_of(CONTENTS), CONTENTS), tmp_path / "below" / "cache"
    if make is not CACHES["a folder below a file"]:
        path.parent.mkdir()
    make(path)

    with pytest.raises(KitError, match=re.escape(str(path))) as caught:
        run(lock, Store(path), here)

    assert "KIT_CACHE" in caught.value.hint


def test_a_cache_of_somebody_else_is_said_with_the_setting(archive, here, closed):
    lock = archive.add(lock_of(CONTENTS), CONTENTS)

    with pytest.raises(KitError, match="Permission denied") as caught:
        run(lock, Store(closed / "cache"), here)

    assert "KIT_CACHE" in caught.value.hint


ENTRIES = {  # sentence: makes of a path what no file of a mirror is
    "a pipe": os.mkfifo,
    "a folder": Path.mkdir,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a link to itself": lambda path: path.symlink_to(path),
    "an empty file": Path.touch,
    "a file without an end": lambda path: os.truncate(touched(path), 1 << 40),
}


def touched(path):
    path.touch()
    return path


@pytest.mark.parametrize("make", ENTRIES.values(), ids=ENTRIES)
def test_what_a_given_folder_has_in_place_of_a_file_is_passed_over(archive, store, tmp_path, monkeypatch, make):
    lock = archive.add(lock_of(CONTENTS), CONTENTS)
    for entry in lock.debs:
        path = tmp_path / "given" / entry["path"]
        path.parent.mkdir(parents=True)
        make(path)
    monkeypatch.setenv("KIT_SOURCE", str(tmp_path / "given"))

    run(lock, store, Sources(host_root(tmp_path / "root", archive.url)))

    assert all_there(lock, store)


@pytest.mark.parametrize("make", [Path.touch, os.mkfifo, lambda path: path.symlink_to(path), lambda _path: None])
def test_a_given_source_that_is_no_folder_is_refused(tmp_path, monkeypatch, make):
    make(tmp_path / "given")
    monkeypatch.setenv("KIT_SOURCE", str(tmp_path / "given"))

    with pytest.raises(KitError, match="is neither a folder nor a web address") as caught:
        Sources(tmp_path)

    assert caught.value.hint


def test_two_fetches_at_once_do_not_spoil_each_other(archive, store, here):
    lock = archive.add(lock_of(CONTENTS), CONTENTS)
    results = []
    threads = [threading.Thread(target=lambda: results.append(run(lock, store, here))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(results) == 4
    assert all_there(lock, store)
    assert len(archive.requests) == 3


def test_a_password_in_an_address_is_sent_and_never_shown(archive, store, tmp_path, monkeypatch):
    lock = archive.add(lock_of({"aa": b"x", "bb": b"y"}), {"aa": b"x", "bb": b"y"})
    archive.faults[PATH] = [404]
    monkeypatch.setenv("KIT_SOURCE", archive.url.replace("http://", "http://user:secret@"))
    root = host_root(tmp_path / "root", archive.url.replace("http://", "http://me:hidden@"))
    archive.faults[PATH] = [404, "always"]

    with pytest.raises(KitError) as caught:
        run(lock, store, Sources(root))

    assert archive.url in caught.value.message
    assert not {"secret", "hidden"} & set(re.split(r"\W", str(caught.value)))
    assert {"Basic dXNlcjpzZWNyZXQ=", "Basic bWU6aGlkZGVu"} == set(archive.logins)


def test_an_interrupt_leaves_parts_to_go_on_with(archive, store, here, monkeypatch):
    lock = archive.add(lock_of({"aa": CONTENTS["aa"]}), CONTENTS)
    interrupted = []
    append = download.Part.append

    def interrupt(part, block):
        append(part, block)
        interrupted.append(part.size)
        raise KeyboardInterrupt

    monkeypatch.setattr(download.Part, "append", interrupt)
    with pytest.raises(KeyboardInterrupt):
        run(lock, store, here)
    monkeypatch.setattr(download.Part, "append", append)

    assert run(lock, store, here).downloaded_bytes == 300_000 - interrupted[0]
    assert archive.requests[-1] == (PATH, f"bytes={interrupted[0]}-")


def test_a_file_that_two_packages_share_is_fetched_once(archive, store, here):
    lock = from_document(document([deb("aa", b"same"), deb("bb", b"same")]))
    archive.add(lock, {"aa": b"same", "bb": b"same"})

    assert run(lock, store, here) == Fetched(1, 4, 4)


def test_a_proxy_is_used_and_told_who_asks(archive, store, tmp_path, monkeypatch):
    lock = archive.add(lock_of({"aa": b"x"}), {"aa": b"x"})
    port = archive.server.server_port
    monkeypatch.setenv("http_proxy", f"http://user:p%40ss@127.0.0.1:{port}")
    monkeypatch.setenv("no_proxy", "")

    run(lock, store, Sources(host_root(tmp_path / "root", "http://archive.example/debian")))

    assert archive.requests == [(PATH, None)]
    assert archive.proxy_logins == ["Basic dXNlcjpwQHNz"]
    assert sha256(b"x") == lock.debs[0]["sha256"]
