"""Starts Python programs quickly: a server process imports the slow modules once and forks for each program,
which takes a tenth of the time that a new interpreter needs to import NumPy.

The server is an interpreter that has not opened its main program yet (`sitecustomize.py`). So each fork goes
on like a new interpreter: `__main__`, arguments, the import of pycuda, tracebacks, signals, exit codes and
the interpreter's end are as usual.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, wait

# Prefixes of the variables that the interpreter, the dynamic loader, malloc and NumPy read only once, before
# a program's first line. A fork cannot have other values of them than the server.
_START_PREFIXES = ("PYTHON", "LD_", "MALLOC_", "GLIBC_", "OPENBLAS_", "NPY_", "LANG", "LC_")


def _start_variables(env):
    """The part of an environment that takes effect only when an interpreter starts."""
    return {key: value for key, value in env.items() if key.startswith(_START_PREFIXES)}


class ForkServer:
    """A server process.

    Parameters: `folder`, an empty one, for the server alone; `env`, its environment; `modules`, the names of
    those to import before the forks. A module that cannot be imported is left out.
    """

    def __init__(self, folder, env, modules):
        self.env = env
        # The interpreter got the path of its main program when it started, so all forks open the same path:
        # a link in this folder, which run() points at the program's folder.
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
        """Whether a fork can run a program with this environment: the variables that are read only at the
        start are those of the server.
        """
        return _start_variables(env) == _start_variables(self.env)

    def run(self, folder, env, timeout):
        """Run `program.py` of a folder as subprocess.run(text=True, capture_output=True, timeout=timeout)
        does, with its result and its TimeoutExpired. After a timeout the program is killed.
        """
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.current)
        os.symlink(folder, self.current)
        pipes = [os.pipe(), os.pipe()]
        request = json.dumps({"env": env, "folder": os.getcwd()}).encode()
        socket.send_fds(self.socket, [request], [write for _, write in pipes])
        for _, write in pipes:
            os.close(write)
        # The server answers twice: the fork's process ID now, its exit code when it has ended.
        process_id = int(self.socket.recv(100))
        with ThreadPoolExecutor(2) as readers:
            ends = [readers.submit(_read, read) for read, _ in pipes]
            try:
                if wait(ends, timeout).not_done:
                    raise subprocess.TimeoutExpired(str(folder), timeout)
            except BaseException:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process_id, signal.SIGKILL)
                raise
            finally:
                code = int(self.socket.recv(100))
        return subprocess.CompletedProcess(str(folder), code, *(end.result() for end in ends))

    def close(self):
        """End the server and wait for its end."""
        self.socket.close()  # the server ends when it can receive nothing more
        with self.process:
            pass


def _read(descriptor):
    """The text that comes from a pipe until its other end is closed."""
    with open(descriptor) as pipe:
        return pipe.read()
