"""A program that the fork server runs behaves as in a new interpreter."""

import subprocess

import pytest

# Prints what a program can see of its interpreter.
STATE = """
import __main__, atexit, os, signal, sys, threading
print(sys.argv, __file__, vars() is vars(__main__), sys.path, sys.flags, sorted(os.environ), os.getcwd())
print(threading.active_count(), signal.getsignal(signal.SIGINT), sys.stdout.line_buffering, os.read(0, 10))
print(sorted(os.listdir("/proc/self/fd")), [name for name in sys.modules if "pycuda" in name], flush=True)
atexit.register(print, "the end")
"""
# Ways in which a program may end.
ENDS = {
    "exception": "def f(): raise ValueError('no')\nf()",
    "words": "raise SystemExit('no')",
    "code": "import sys; sys.exit(3)",
    "syntax": "x = (",
    "interrupt": "import os, signal; os.kill(os.getpid(), signal.SIGINT)",
    "signal": "import os; os.abort()",
    "at once": "import os; os._exit(7)",
    "thread": "import threading; threading.Thread(target=print, args=('there',)).start()",
    "destructor": "class Late:\n    def __del__(self, print=print): print('gone', flush=True)\nkept = Late()",
    "left alone": "import os, time\nif os.fork() == 0:\n    time.sleep(0.2)\n    print('later')",
}


@pytest.mark.parametrize("end", ENDS)
def test_output_and_exit_code_are_those_in_a_new_interpreter(run_python, fork_server, tmp_path, end):
    new, forked = (run_python(STATE + ENDS[end], fresh=fresh) for fresh in (True, False))
    folder = str(fork_server.current)

    def output(done):
        """([stdout, stderr], exit code), with one path for the program's folder."""
        return [text.replace(folder, str(tmp_path)) for text in (done.stdout, done.stderr)], done.returncode

    assert folder in forked.stdout + forked.stderr
    assert output(forked) == output(new)


def test_a_program_that_does_not_end(run_python):
    """It is killed after its timeout, and the server runs the next one."""
    with pytest.raises(subprocess.TimeoutExpired):
        run_python("import time; time.sleep(60)", timeout=0.5)
    assert run_python("print(1)").stdout == "1\n"


def test_what_is_read_at_the_start_needs_a_new_interpreter(run_python):
    assert (
        run_python("import sys; print(sys.warnoptions)", env={"PYTHONWARNINGS": "ignore"}).stdout
        == "['ignore']\n"
    )
