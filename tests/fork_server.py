"""A process that has imported what tests import and forks once for each program: one starts in a tenth of the
time that a new interpreter needs. It has one thread and calls no driver, so that a fork finds both as new.
"""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys


class ForkServer:
    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, source, output, env, timeout=100):
        """Exit code of a program whose stdout and stderr go to the file `output`."""
        request = {"source": source, "output": str(output), "env": env, "timeout": timeout}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def close(self):
        with self.process:  # closes its stdin, which ends it
            pass


def _become(source, output, env):
    """The forked process: what a new interpreter would begin with."""
    with open(os.devnull) as nothing, open(output, "w") as file:
        os.dup2(nothing.fileno(), 0)
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    os.environ.clear()
    os.environ.update(env)
    exec(compile(source, "program", "exec"), {"__name__": "__main__"})


def _exit_code(pid, timeout):
    process = os.pidfd_open(pid)
    if not select.select([process], [], [], timeout)[0]:
        os.kill(pid, signal.SIGKILL)
    os.close(process)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _serve():
    while line := sys.stdin.readline():
        request = json.loads(line)
        timeout = request.pop("timeout")
        pid = os.fork()
        if pid == 0:
            _become(**request)
            return
        print(_exit_code(pid, timeout), flush=True)


if __name__ == "__main__":
    # What many of them import; where something is missing, those that need it say so.
    with contextlib.suppress(ImportError):
        import numpy.testing  # noqa: F401
        import pytest  # noqa: F401

        import pycuda.compiler
        import pycuda.gpuarray  # noqa: F401
    _serve()
