"""Programs under cuda-cpu, the command that runs them with the CPU device's libraries."""

import os
import subprocess

from pycuda import cpu

RUNNER = os.path.join(cpu.path(), "cuda-cpu")


def run(*arguments, command=(RUNNER,), cwd=None, timeout=60, **environment):
    """The finished process of cuda-cpu, or of the command in its place, with these arguments. environment:
    changes of the environment, which has none of the CPU device's settings otherwise.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYCUDA_CPU_")}
    command, environment = [*command, *map(str, arguments)], {**kept, **environment}
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=timeout, env=environment)


def preload(*libraries):
    """LD_PRELOAD with these libraries after those that it has."""
    before = os.environ.get("LD_PRELOAD", "").replace(" ", ":")
    return ":".join(filter(None, [before, *libraries]))
