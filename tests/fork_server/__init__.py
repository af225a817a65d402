"""Starts Python programs from a process that has imported what takes long and forks once for each: an
interpreter with NumPy begins in a tenth of the time. The fork is taken before the interpreter opens its main
program (`sitecustomize.py`), so all that follows is as in a new one: `__main__`, arguments, the import of
pycuda, tracebacks, signals, exit codes, the end.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, wait

# What the interpreter, the loader of libraries, malloc and NumPy read before a program's first line.
_READ_AT_START = ("PYTHON", "LD_", "MALLOC_", "GLIBC_", "OPENBLAS_", "NPY_", "LANG", "LC_")


def _read_at_start(env):
    return {key: value for key, value in env.items() if key.startswith(_READ_AT_START)}


class ForkServer:
    """`folder` is its own; `env`, what it starts with; `modules`, what it imports if that is possible."""

    def __init__(self, folder, env, modules):
        self.env = env
        # The path of the main program is the interpreter's first argument: the same for all of them.
        self.current = folder / "current"
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        path = os.pathsep.join([os.path.dirname(__file__), env["PYTHONPATH"]])
        settings = {"PYTHONPATH": path, "FORK_SERVER": json.dumps([theirs.fileno(), *modules])}
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, self.current / "program.py"],
                env={**env, **settings}, pass_fds=[theirs.fileno()], stdout=subprocess.PIPE,
            )  # fmt: skip
        self.socket = ours

    def fits(self, env):
        """Whether a program with that environment begins as the server did."""
        return _read_at_start(env) == _read_at_start(self.env)

    def run(self, folder, env, timeout):
        """Runs `program.py` of a folder, as subprocess.run(text=True, capture_output=True) does."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.current)
        os.symlink(folder, self.current)
        pipes = [os.pipe(), os.pipe()]
        request = json.dumps({"env": env, "folder": os.getcwd()}).encode()
        socket.send_fds(self.socket, [request], [write for _, write in pipes])
        for _, write in pipes:
            os.close(write)
        program = int(self.socket.recv(100))
        with ThreadPoolExecutor(2) as readers:
            ends = [readers.submit(_read, read) for read, _ in pipes]
            try:
                if wait(ends, timeout).not_done:
                    raise subprocess.TimeoutExpired(str(folder), timeout)
            except BaseException:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(program, signal.SIGKILL)
                raise
            finally:
                code = int(self.socket.recv(100))
        return subprocess.CompletedProcess(str(folder), code, *(end.result() for end in ends))

    def close(self):
        self.socket.close()  # which ends it
        with self.process:
            pass


def _read(descriptor):
    with open(descriptor) as pipe:
        return pipe.read()
