"""`python -m pycuda_cpu.check PROGRAM ARGUMENTS...` runs a program on the CPU device with all of its checks.

::

    python -m pycuda_cpu.check ./program argument
    python -m pycuda_cpu.check program.py --size 100
    python -m pycuda_cpu.check -m pytest tests

In pycuda the same command is `python -m pycuda.check`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile

from . import _RUNNER, _report, path

_CHECKS = "racecheck,initcheck,synccheck"
_SHOWN = 20
_NAME = "pycuda.check" if __package__ == "pycuda.cpu" else f"{__package__}.check"  # of this command

_EPILOG = """\
Detects accesses out of bounds, to the byte; of freed memory; misaligned; races in shared memory, and between
blocks in global memory; reads of uninitialized memory; divergent barriers. The first fault of a context ends
it, as on a GPU: its exception names the line of the kernel and of the launch. Faults without an exception are
in the summary.

The program is started by cuda-cpu, with the option --checks and with PYCUDA_POOL=0 (the memory of freed
arrays is not reused, so that a use after free is detected). On a GPU: compute-sanitizer python program.py.

The exit code is the program's, or 1 when that is 0 and a kernel has failed.
"""


def _count_text(count: int, one: str, more: str) -> str:
    return f"{count} {one if count == 1 else more}"


def _summary(report: _report.Report) -> str:
    """The lines printed at the end."""
    counts = [
        _count_text(len(report.all_faults), "fault", "faults"),
        _count_text(report.launches, "launch", "launches"),
        _count_text(report.unfreed, "byte", "bytes") + " not freed at the end",
    ]
    lines = [f"{_NAME}: " + ", ".join(counts)]
    lines += [f"  {fault}" for fault in report.all_faults[:_SHOWN]]
    if len(report.all_faults) > _SHOWN:
        lines.append(f"  and {len(report.all_faults) - _SHOWN} more")
    return "\n".join(lines)


def _environment(seed: int | None, report: str) -> dict[str, str]:
    """The environment of cuda-cpu. report: the path of the file in which the device counts faults."""
    schedule = {} if seed is None else {"PYCUDA_CPU_SCHEDULE": f"random:{seed}"}
    return {**os.environ, **schedule, "PYCUDA_POOL": "0", "PYCUDA_CPU_REPORT": report}


def _command(kind: str | None, program: str) -> list[str] | None:
    """What starts the program: Python, or the program itself; None: there is no such file. kind: "-m", "-c"
    or None.
    """
    if kind is not None:
        return [sys.executable, kind, program]
    found = shutil.which(program)
    if found is not None and not program.endswith(".py"):
        return [found]
    return [sys.executable, program] if os.path.exists(program) else None


def _run_program(command: list[str], environment: dict[str, str]) -> int:
    """Run it to its end: Ctrl-C is the program's business."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process = subprocess.Popen(
            command, env=environment, preexec_fn=lambda: signal.signal(signal.SIGINT, before)
        )
        return process.wait()
    finally:
        signal.signal(signal.SIGINT, before)


def _parser() -> argparse.ArgumentParser:
    """The parser of the command line."""
    parser = argparse.ArgumentParser(
        prog=f"python -m {_NAME}",
        usage=f"python -m {_NAME} [options] (PROGRAM | -m MODULE | -c CODE) ARGUMENTS...",
        description="Run a program on the CPU device with all of its checks on, and say what was found.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--checks", default=_CHECKS, metavar="LIST", help=f"what PYCUDA_CPU_CHECK may be (default: {_CHECKS})"
    )
    parser.add_argument(
        "--seed", type=int, metavar="N", help="run threads one by one in a random order: shows more races"
    )
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("-m", dest="kind", action="store_const", const="-m", help="PROGRAM is a module's name")
    kind.add_argument("-c", dest="kind", action="store_const", const="-c", help="PROGRAM is code")
    parser.add_argument("program", metavar="PROGRAM", help="a script or an executable")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARGUMENTS", help="of the program")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Run the program that the arguments name.

    Parameters
    ----------
    arguments : list of str
        None is those of this process.

    Returns
    -------
    int
        The program's exit code; 1 when that is 0 and a kernel has failed.
    """
    given = _parser().parse_args(arguments)
    command = _command(given.kind, given.program)
    if command is None:
        print(f"{given.program}: no such file", file=sys.stderr)
        return 2
    runner = [os.path.join(path(), _RUNNER), f"--checks={given.checks}", "--"]
    with tempfile.TemporaryDirectory(prefix="pycuda-check-") as folder:
        file = os.path.join(folder, "report")
        with open(file, "w"):
            pass
        code = _run_program([*runner, *command, *given.arguments], _environment(given.seed, file))
        report, _ = _report.read(file)
    print(_summary(report), file=sys.stderr)
    if code < 0:  # by a signal
        return 128 - code
    return code or int(bool(report.all_faults))


if __name__ == "__main__":
    sys.exit(main())
