"""Does the image's hipcc build a kernel for the targets, and does it compute rightly where there is an AMD GPU?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from validate import amd, backends
from validate.outcome import fail, passed, skip, warn
from validate.parsers import code_object

if TYPE_CHECKING:
    from schema.records import Outcome
    from validate.machine import Machine

SHAPE = {"missing": bool, "why": str, "form": str, "objects": list, "wanted": list, "run": (dict, type(None))}
TARGETS = ("gfx90a", "gfx942", "gfx1100")  # MI200, MI300, RX 7900: one of each kind the kit is for
KERNEL = "kit_vector_add"
COUNT = 1_000_003  # odd, so that the last block is not full
TAIL = 800
RUNS_ON = {"rocm": True}  # the backends whose devices take HIP code objects
SOURCE = f"""
#include <hip/hip_runtime.h>
#include <cmath>
#include <cstdio>
#include <vector>
#define CALL(x) do {{ hipError_t e = (x); if (e != hipSuccess) {{ \\
  std::printf("error %s: %s\\n", #x, hipGetErrorString(e)); return 3; }} }} while (0)

extern "C" __global__ void {KERNEL}(const float* a, const float* b, float* c, int n) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}}

int main() {{
  const int n = {COUNT};
  const size_t bytes = n * sizeof(float);
  // halves and quarters below 2^22 are exact in float, so the sum must be exact too
  std::vector<float> a(n), b(n), c(n, NAN);
  for (int i = 0; i < n; ++i) {{ a[i] = 0.5f * i; b[i] = 0.25f * i; }}
  float *da, *db, *dc;
  CALL(hipMalloc((void**)&da, bytes)); CALL(hipMalloc((void**)&db, bytes)); CALL(hipMalloc((void**)&dc, bytes));
  CALL(hipMemcpy(da, a.data(), bytes, hipMemcpyHostToDevice));
  CALL(hipMemcpy(db, b.data(), bytes, hipMemcpyHostToDevice));
  CALL(hipMemcpy(dc, c.data(), bytes, hipMemcpyHostToDevice));  // poison: what is not written stays NaN
  hipLaunchKernelGGL({KERNEL}, dim3((n + 255) / 256), dim3(256), 0, 0, da, db, dc, n);
  CALL(hipGetLastError());
  CALL(hipDeviceSynchronize());
  CALL(hipMemcpy(c.data(), dc, bytes, hipMemcpyDeviceToHost));
  int wrong = 0;
  for (int i = 0; i < n; ++i) if (!(c[i] == 0.75f * i)) ++wrong;
  std::printf("checked %d wrong %d\\n", n, wrong);
  return wrong ? 4 : 0;
}}
"""


def gather(machine: Machine, lock: dict[str, Any] | None) -> dict[str, Any]:  # noqa: ARG001 - the interface
    """Compile for all targets at once and look into the code objects; build and run the program on an AMD GPU."""
    backend = backends.detect(machine)
    gpus = sorted({gpu["gfx"] for gpu in amd.nodes(machine) if gpu["gfx"]}) if RUNS_ON.get(backend) else []
    with machine.scratch() as folder:
        machine.write(f"{folder}/add.hip", SOURCE)
        wanted = sorted({*TARGETS, *gpus})
        flags = [f"--offload-arch={gfx}" for gfx in wanted]
        ran = machine.run(["hipcc", "--genco", *flags, f"{folder}/add.hip", "-o", f"{folder}/add.co"], 240)
        content = machine.read_bytes(f"{folder}/add.co") or b""
        found = code_object.parse(content, KERNEL)
        facts: dict[str, Any] = {
            "backend": backend,
            "missing": ran.missing,
            "why": ran.why,
            "stderr": ran.stderr[-TAIL:].replace(folder, "FOLDER"),
            "wanted": wanted,
            **found,
            "run": None,
        }
        if gpus and ran.ok:
            facts["run"] = _run(machine, folder, gpus)
    return facts


def _run(machine: Machine, folder: str, gpus: list[str]) -> dict[str, Any]:
    flags = [f"--offload-arch={gfx}" for gfx in gpus]
    built = machine.run(["hipcc", *flags, f"{folder}/add.hip", "-o", f"{folder}/add"], 240)
    if not built.ok:
        return {"step": "link", "why": built.why, "output": built.stderr[-TAIL:].replace(folder, "FOLDER")}
    ran = machine.run([f"{folder}/add"], 60)
    why = ran.why.replace(f"{folder}/add", "the program")
    return {"step": "run", "why": why, "output": (ran.stdout + ran.stderr)[-TAIL:].strip()}


def judge(facts: dict[str, Any], lock: dict[str, Any] | None) -> list[Outcome]:  # noqa: ARG001 - the interface
    """Judge the compiler by the code objects it made, and the GPU by the checked sum."""
    if facts["missing"]:
        return [skip("hip_compile.no_compiler", "there is no hipcc here; images for running alone come without it")]
    if facts["why"]:
        return [
            fail(
                "hip_compile.compiles",
                f"{facts['why']}: {_first_error(facts['stderr'])}",
                seen=facts["stderr"],
                remedy="hipcc --genco --offload-arch=gfx90a FILE.hip -v   # shows the compiler and device library",
            )
        ]
    return [_judge_objects(facts), _judge_run(facts)]


def _first_error(stderr: str) -> str:
    lines = [line for line in stderr.splitlines() if "error" in line.lower()]
    return (lines or stderr.splitlines() or ["it printed nothing"])[0][:300]


def _judge_objects(facts: dict[str, Any]) -> Outcome:
    """The exit code is not enough: empty and dropped targets have been published before."""
    if facts["form"] == "compressed":
        return warn(
            "hip_compile.objects", "the bundle is compressed; its targets cannot be read here", seen=facts["form"]
        )
    if not set(TARGETS) <= set(facts["wanted"]):
        raise ValueError("the facts do not say which targets were asked for")
    objects = facts["objects"] if facts["form"] == "bundle" else []
    good = [item["built_for"] for item in objects if item["has_kernel"] and item["built_for"] == item["named"]]
    absent = sorted(set(facts["wanted"]) - set(good))
    if absent:
        return fail(
            "hip_compile.objects",
            f"hipcc ended well, but there is no kernel for {', '.join(absent)}",
            seen=facts["objects"] or facts["form"],
            expected=facts["wanted"],
            remedy=f"hipcc --genco --offload-arch={absent[0]} FILE.hip -v   # shows what became of this target",
        )
    return passed(
        "hip_compile.objects", {item["built_for"]: item["bytes"] for item in facts["objects"]}, facts["wanted"]
    )


def _judge_run(facts: dict[str, Any]) -> Outcome:
    run = facts["run"]
    if run is None:
        return skip("hip_compile.runs", "compiled, not run: there is no AMD GPU here")
    if run["why"] or f"checked {COUNT} wrong 0" not in run["output"]:
        return fail(
            "hip_compile.runs",
            f"the vector sum did not come out ({run['step']}): {run['why'] or 'wrong results'}; {run['output'][:300]}",
            seen=run,
            expected=f"checked {COUNT} wrong 0",
            remedy="AMD_LOG_LEVEL=3 for this one program shows the failing call, `sudo dmesg | tail` its fault",
        )
    return passed("hip_compile.runs", run["output"])
