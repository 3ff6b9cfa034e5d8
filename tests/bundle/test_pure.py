"""`bundle` stands on documents and pure functions: it needs neither torch nor an engine nor a network."""

import subprocess
import sys
from pathlib import Path

from tests.bundle import fakes_bundle as fakes

ROOT = Path(__file__).parents[2]
SCRIPT = """
import sys
for name in ("torch", "docker", "yaml", "invoke", "socket", "ssl", "urllib.request"):
    sys.modules[name] = None
from pathlib import Path
from bundle import card, demo, kept, seal, verify
folder = Path(sys.argv[1])
evidence = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
print(verify.judge(seal.assemble(evidence, created_at="2026-11-30T12:00:00Z", names={})[1])["verdict"])
"""


def test_sealing_and_verifying_need_no_torch_no_engine_and_no_network(tmp_path):
    fakes.write(fakes.evidence(), tmp_path)

    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert (ran.stdout, ran.returncode) == ("CONFIRMED\n", 0), ran.stderr


def test_importing_verify_does_not_import_what_costs_time():
    script = "import sys; import bundle.verify; print(sorted({'jsonschema', 'docker', 'numpy'} & set(sys.modules)))"

    ran = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)

    assert ran.stdout == "[]\n"
