"""Runs the tests on the GPU of this machine, against the `pycuda` that is installed for this Python.

    python tools/test_gpu.py [OPTIONS AND FILES FOR pytest]

As many processes as the processors and the GPU's free memory allow run the tests. What fails is printed with
its name as it fails. A test over its time ends its process, which another one replaces: what waits in the
driver cannot be interrupted. Of pytest's plugins, only those that the tests need are loaded.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PLUGINS = "xdist.plugin", "pytest_timeout", "_hypothesis_pytestplugin"
# Of the GPU's memory, for each process: its context and modules, and what the largest tests allocate.
MEMORY_OF_A_WORKER = 3 << 30
FREE_MEMORY = "import pycuda.autoprimaryctx, pycuda.driver as drv; print(drv.mem_get_info()[0])"


class Failures:
    """Prints what fails as it fails."""

    def pytest_runtest_logreport(self, report):
        if report.failed:
            print(f"\nFAILED {report.nodeid} ({report.when})\n{report.longreprtext}\n", flush=True)

    def pytest_collectreport(self, report):
        if report.failed:
            print(f"\nFAILED {report.nodeid}\n{report.longreprtext}\n", flush=True)


def workers():
    """The number of processes."""
    found = subprocess.run([sys.executable, "-c", FREE_MEMORY], capture_output=True, text=True, cwd=os.sep)
    if found.returncode:
        sys.exit(f"there is no GPU that pycuda can use:\n{found.stderr}")
    processors = len(os.sched_getaffinity(0))
    return max(1, min(processors, int(found.stdout) // MEMORY_OF_A_WORKER))


def main():
    os.environ |= {"PYCUDA_DEVICE": "gpu", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    os.chdir(Path(__file__).parent.parent)
    chosen = [option for name in PLUGINS for option in ("-p", name)]
    options = ["-n", str(workers()), "--dist", "worksteal", "--tb", "no", "--durations", "15"]
    options += ["-o", "timeout_method=thread"]
    sys.exit(pytest.main([*chosen, *options, *sys.argv[1:]], plugins=[Failures()]))


if __name__ == "__main__":
    main()
