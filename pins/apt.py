"""Let apt choose packages in a root of its own: nothing of the host's package state is read or changed."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from pathlib import Path
from urllib.parse import unquote

from pins import archives, process
from pins.paths import there
from schema.errors import KitError

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
LABELS = {"Debian": archives.DEBIAN, "Debian-Security": archives.SECURITY}
NEWER = "run ./kit lock on the newest Debian, or in a container of it"
UPDATE_S, SOLVE_S = 900, 300
ESSENTIAL = "?essential"  # a pattern that apt knows since 2.0

# Transport and clock settings are the host's own; what is trusted and what is chosen are not.
FROM_HOST = re.compile(r"^Acquire::(https?::|Check-|Retries|ForceIPv[46])")
# ForceEssential: apt counts itself as essential, and nothing is installed in an image that is there already.
CONFIG = """\
Dir "{root}";
Dir::State "{root}/state";
Dir::State::status "{root}/status";
Dir::Cache "{root}/cache";
Dir::Etc "{root}/etc";
Dir::Log "{root}/log";
APT::Architecture "amd64";
APT::Architectures {{ "amd64"; }};
APT::Install-Recommends "false";
APT::Install-Suggests "false";
APT::Sandbox::User "";
APT::Get::AllowUnauthenticated "false";
APT::Update::Error-Mode "any";
Acquire::AllowInsecureRepositories "false";
Acquire::AllowWeakRepositories "false";
Acquire::ForceHash "SHA256";
Acquire::Languages "none";
pkgCacheGen::ForceEssential ",";
"""
URI = re.compile(r"^'(?P<uri>[^']+)' (?P<file>\S+) (?P<size>\d+) SHA256:(?P<sha256>[0-9a-f]{64})$")


@dataclass(frozen=True)
class Package:
    """One .deb as the signed index names it. `size` in bytes."""

    name: str
    version: str
    architecture: str
    sha256: str
    size: int
    archive: str
    path: str


class Apt:
    """apt for Debian `suite`, fed from `uris` (archive name to URIs), with everything it writes under `root`."""

    def __init__(self, root: Path, suite: str, uris: dict[str, list[str]]) -> None:
        self.root, self.suite = root, suite
        if not uris[archives.DEBIAN]:
            raise KitError(
                "the apt sources of this machine name no Debian archive, so packages cannot be resolved here",
                "run ./kit lock on Debian, or in a container of it; the locks that are here can be built anywhere",
            )
        if not there(Path(KEYRING)):
            raise KitError(
                f"Debian's keys are not on this machine: {KEYRING}", "apt-get install debian-archive-keyring"
            )
        self.uris = {name: found[0] for name, found in uris.items() if found}
        for folder in ("etc/preferences.d", "etc/apt.conf.d", "state/lists/partial", "cache/archives/partial", "log"):
            (root / folder).mkdir(parents=True)
        (root / "status").write_text("")
        (root / "etc/sources.list").write_text(self._sources())
        (root / "apt.conf").write_text(self._host_settings() + CONFIG.format(root=root))

    def update(self) -> None:
        """Fetch the indexes and check their signatures; KitError with apt's own words when either fails."""
        done = self._run(["apt-get", "update"], UPDATE_S)
        wanted = 3 if archives.SECURITY in self.uris else 2
        releases = list((self.root / "state/lists").glob("*InRelease"))
        if done.code or len(releases) != wanted:
            words = " ".join(line for line in done.stderr.splitlines() if line.startswith(("E:", "W:")))
            signature = re.search(r"NO_PUBKEY|not signed|signature", words)
            raise KitError(
                f"the signed indexes of Debian {self.suite} cannot be had: {words[:600] or 'apt gave no reason'}",
                f"update the package debian-archive-keyring: its keys are too old for {self.suite}"
                if signature
                else "check the network and the proxy, then run ./kit lock again",
            )

    def solve(self, names: list[str]) -> list[Package]:
        """Return the packages that installing `names` into an empty system takes, sorted by name."""
        argv = ["apt-get", "--print-uris", "-qq", "-y", "install", *names]
        done = self._run(argv, SOLVE_S)
        if done.code:
            words = " ".join(line.strip() for line in (done.stderr + done.stdout).splitlines() if line.strip())
            raise KitError(
                f"apt finds no solution in Debian {self.suite}: {words[:600]}", "correct `packages` in the pin"
            )
        return sorted((self._package(line) for line in done.stdout.splitlines() if line), key=lambda item: item.name)

    def snapshots(self) -> dict[str, str]:
        """Return, by archive, the date of its youngest signed Release file, as the snapshot service writes times."""
        found: dict[str, datetime] = {}
        for path in (self.root / "state/lists").glob("*InRelease"):
            fields = dict(re.findall(r"^(Label|Date): (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE))
            name, date = LABELS[fields["Label"]], parsedate_to_datetime(fields["Date"]).astimezone(timezone.utc)
            found[name] = max(date, found.get(name, date))
        return {name: date.strftime("%Y%m%dT%H%M%SZ") for name, date in found.items()}

    def _package(self, line: str) -> Package:
        match = URI.match(line)
        if not match:
            raise KitError(f"apt printed a line that is not understood: {line[:200]}", NEWER)
        # The file name that apt saves under is name_version_architecture.deb, the epoch's colon escaped.
        name, version, architecture = unquote(match["file"]).removesuffix(".deb").split("_")
        for archive, uri in self.uris.items():
            if match["uri"].startswith(uri):
                path = unquote(match["uri"].removeprefix(uri))
                return Package(name, version, architecture, match["sha256"], int(match["size"]), archive, path)
        raise KitError(f"apt would take {name} from an archive that was not given: {match['uri'][:200]}", NEWER)

    def _sources(self) -> str:
        line = f"deb [signed-by={KEYRING}] {{uri}} {{suite}} main\n"
        debian = self.uris[archives.DEBIAN]
        text = "".join(line.format(uri=debian, suite=self.suite + part) for part in ("", "-updates"))
        if archives.SECURITY in self.uris:
            text += line.format(uri=self.uris[archives.SECURITY], suite=f"{self.suite}-security")
        return text

    def _host_settings(self) -> str:
        dump = process.run(["apt-config", "dump"], timeout_s=60).stdout
        return "".join(line + "\n" for line in dump.splitlines() if FROM_HOST.match(line))

    def _run(self, argv: list[str], timeout_s: float) -> process.Done:
        env = dict(os.environ) | {"APT_CONFIG": str(self.root / "apt.conf"), "LC_ALL": "C"}
        return process.run(argv, timeout_s=timeout_s, env=env)
