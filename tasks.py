"""The commands of ROCm Repro Kit."""

from __future__ import annotations

import sys

from invoke import Collection, Program, task
from invoke.exceptions import Exit, ParseError


@task
def hello(c):
    """hi"""
    print("x")
if __name__ == "__main__":
    Program(namespace=Collection.from_module(sys.modules[__name__])).run()
