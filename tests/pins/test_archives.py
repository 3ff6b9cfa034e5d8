import pytest

from pins.archives import find

DEB822 = """\
# a comment before
Types: deb deb-src
URIs: http://mirror.example/debian
Suites: bookworm
  bookworm-updates
# a comment within
Components: main

Types: deb
URIs: http://mirror.example/debian-security/
Suites: bookworm-security
"""


def test_both_archives_are_read_from_stanzas(tmp_path):
    (tmp_path / "etc/apt/sources.list.d").mkdir(parents=True)
    (tmp_path / "etc/apt/sources.list.d/debian.sources").write_text(DEB822)

    assert find(tmp_path) == {
        "debian": ["http://mirror.example/debian/"],
        "debian-security": ["http://mirror.example/debian-security/"],
    }


M = "http://m.example/"
LINES = {  # sentence: (line, what is found of debian, of debian-security)
    "a plain line": (f"deb {M}debian bookworm main", [f"{M}debian/"], []),
    "options are passed over": (f"deb [arch=amd64 signed-by=/k.gpg] {M}debian sid main", [f"{M}debian/"], []),
    "a code name tells, whatever the path": (f"deb {M}d trixie main", [f"{M}d/"], []),
    "a path tells, whatever the suite": (f"deb {M}debian newname main", [f"{M}debian/"], []),
    "a security suite": (f"deb {M}s trixie-security main", [], [f"{M}s/"]),
    "the old name of a security suite": (f"deb {M}s bullseye/updates main", [], [f"{M}s/"]),
    "a release too old to know": (f"deb {M}s buster/updates main", [], []),
    "Ubuntu holds other packages": (f"deb {M}ubuntu noble main", [], []),
    "another vendor": (f"deb {M}apt cloud-sdk-bookworm main", [], []),
    "sources are not packages": (f"deb-src {M}debian bookworm main", [], []),
    "a comment": (f"# deb {M}debian bookworm main", [], []),
    "a disc cannot be asked": ("deb cdrom:[Debian]/ bookworm main", [], []),
    "a local copy": ("deb file:/srv/debian bookworm main", ["file:/srv/debian/"], []),
    "each once": (f"deb {M}debian sid main\ndeb {M}debian/ trixie main", [f"{M}debian/"], []),
    "nothing": ("", [], []),
}


@pytest.mark.parametrize(("text", "debian", "security"), LINES.values(), ids=LINES)
def test_one_line_sources(tmp_path, text, debian, security):
    (tmp_path / "etc/apt").mkdir(parents=True)
    (tmp_path / "etc/apt/sources.list").write_text(text + "\n")

    assert find(tmp_path) == {"debian": debian, "debian-security": security}


@pytest.mark.parametrize("off", ["Enabled: no", "enabled: false"])
def test_a_disabled_stanza_is_left_out(tmp_path, off):
    (tmp_path / "etc/apt/sources.list.d").mkdir(parents=True)
    text = f"{off}\nTypes: deb\nURIs: http://m.example/debian\nSuites: sid\n"
    (tmp_path / "etc/apt/sources.list.d/x.sources").write_text(text)

    assert find(tmp_path)["debian"] == []


def test_a_file_that_apt_would_ignore_is_ignored(tmp_path):
    (tmp_path / "etc/apt/sources.list.d").mkdir(parents=True)
    (tmp_path / "etc/apt/sources.list.d/x.list.save").write_text("deb http://m.example/debian sid main\n")

    assert find(tmp_path)["debian"] == []


def test_a_machine_without_apt_has_none(tmp_path):
    assert find(tmp_path) == {"debian": [], "debian-security": []}
