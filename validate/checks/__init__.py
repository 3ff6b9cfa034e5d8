"""The checks, in the order a doctor would ask. Each file answers the question in its first line.

`gather(machine, lock)` touches the world and returns plain JSON; `judge(facts, lock)` is pure. `lock` is the lock's
document or None. `SHAPE` names the facts that the judgement stands on, with their types; `NOT_HERE` the backends that
the question is not for, with the reason.
"""

from __future__ import annotations

from validate.checks import (
    device_counts,
    device_nodes,
    driver,
    environment,
    groups,
    hip_compile,
    host_state,
    inventory,
    libraries,
    numerics,
    processes,
    telemetry,
    torch_build,
    torch_family,
    versions,
)

CHECKS = (
    driver,
    device_nodes,
    groups,
    environment,
    torch_build,
    torch_family,
    device_counts,
    versions,
    inventory,
    libraries,
    hip_compile,
    numerics,
    telemetry,
    processes,
    host_state,
)
