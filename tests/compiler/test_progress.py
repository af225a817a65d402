"""A long compilation prints what it compiles if stderr is a terminal, and nothing otherwise."""

import os
import pty
import subprocess
import sys
import threading

import pytest

from pycuda._compile import progress

pytestmark = pytest.mark.usefixtures("elsewhere")


class Terminal:
    """A stand-in for sys.stderr, a terminal or not, that keeps what is written."""

    def __init__(self, is_terminal=True):
        self.is_terminal, self.text, self.written = is_terminal, "", threading.Event()

    def isatty(self):
        return self.is_terminal

    def write(self, text):
        self.text += text
        self.written.set()

    def flush(self):
        pass


SOURCE = (
    "template <int n> __global__ void __launch_bounds__(32) first(int *a) {}\n__global__ void second() {}\n"
)


def test_says_what_it_compiles(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress, "AFTER", 0.01)
    monkeypatch.delenv("PYCUDA_PROGRESS", raising=False)
    with progress.watched("NVRTC", SOURCE):
        assert terminal.written.wait(60)
    assert "NVRTC has been compiling" in terminal.text and "first, second (2 lines)" in terminal.text
    assert "PYCUDA_PROGRESS=0" in terminal.text and terminal.text.count("\n") == 1


def test_is_quiet_in_a_pipe_by_the_switch_and_when_it_is_quick(monkeypatch):
    """Without a terminal or with PYCUDA_PROGRESS=0 not even a thread is started; with one, a quick
    compilation prints nothing.
    """
    for terminal, switch in (Terminal(False), None), (Terminal(), "0"), (Terminal(), "1"):
        monkeypatch.setattr(sys, "stderr", terminal)
        monkeypatch.setenv("PYCUDA_PROGRESS", switch or "")
        threads = threading.active_count()
        with progress.watched("NVRTC", SOURCE):
            assert threading.active_count() == threads + (switch == "1")
        assert not terminal.text


PROGRAM = """
from pycuda._compile import progress
progress.AFTER = 0
from pycuda.compiler import SourceModule
SourceModule("__global__ void slow(float *a) { a[0] = 1; }")
"""


def run_with_stderr_on(end):
    """Runs PROGRAM, whose compilation counts as long at once, with its stderr on a file descriptor."""
    environment = {**os.environ, "PYCUDA_DISABLE_CACHE": "1", "PYCUDA_PROGRESS": ""}
    return subprocess.run([sys.executable, "-c", PROGRAM], stderr=end, env=environment, timeout=100)


def test_a_module_on_a_terminal():
    ours, theirs = pty.openpty()
    try:
        assert run_with_stderr_on(theirs).returncode == 0
        assert b"NVRTC has been compiling slow (1 lines)" in os.read(ours, 4096)
    finally:
        os.close(ours)
        os.close(theirs)


def test_nothing_is_printed_into_a_pipe():
    done = run_with_stderr_on(subprocess.PIPE)
    assert done.returncode == 0 and not done.stderr
