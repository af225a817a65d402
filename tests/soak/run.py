"""Runs many random programs, each in a process of its own, and checks that they end, with the exit code and
the stderr of their plan.

    python tests/soak/run.py --seeds 0:2000 --jobs 12 --timeout 60

prints the failures and one line of summary. For a program that hangs, it shows the stacks of all threads: in
Python, and, where gdb is installed, in the driver. One seed again: python tests/soak/run.py --seeds 17
"""

import argparse
import concurrent.futures
import functools
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from plan import make_plan  # noqa: E402

PROGRAM = str(HERE / "program.py")
LONGEST = 6000  # characters of a failure that are shown


def environment(plan, timeout):
    """The environment of a program. What the caller's sets stays, except SOAK_TIMEOUT."""
    settings = {
        "PYCUDA_CPU_LOCK": str(int(plan.lock)),
        "PYCUDA_CPU_CANCEL": str(int(plan.seed % 3 > 0)),  # 0: waits poll
        "PYCUDA_CPU_DEVICES": str(plan.devices),
        "PYCUDA_FAULT_CALL": "0",  # PyCUDA counts its calls
        "SOAK_TIMEOUT": str(timeout),
        "OPENBLAS_NUM_THREADS": "1",
    }
    return {**settings, **os.environ, "SOAK_TIMEOUT": str(timeout)}


def native_stacks(process):
    """The C stacks of a program that hangs, by gdb, which show a deadlock inside the driver."""
    if not shutil.which("gdb"):
        return ""
    command = ["gdb", "-p", str(process.pid), "-batch", "-ex", "thread apply all backtrace 16"]
    try:
        output = subprocess.run(command, capture_output=True, text=True, timeout=60).stdout
    except subprocess.TimeoutExpired:
        return ""
    return "\n".join(line[:160] for line in output.splitlines() if line.startswith(("Thread", "#")))


def run_seed(seed, timeout):
    """(seed, kind of failure or None, details, seconds) of one program, which may take `timeout` seconds."""
    plan = make_plan(seed, os.environ.get("SOAK_ENDING"))
    started = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, PROGRAM, str(seed)],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, env=environment(plan, max(timeout - 2, 1)), start_new_session=True,
    )  # fmt: skip
    kind, stacks = None, ""
    try:
        out, error = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        kind, stacks = "hang", native_stacks(process)
        os.killpg(process.pid, signal.SIGKILL)  # forked children too
        out, error = process.communicate()
    code, seconds = process.returncode, time.monotonic() - started
    if not kind and (out or not plan.is_right(code, error)):
        kind = classify(plan, code, out, error)
    details = f"expected: code {plan.code}, {plan}\ngot: code {code}\n{cut(out + error)}{stacks}"
    return seed, kind, details, seconds


def cut(text):
    """The text, without its middle if it is long."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]}\n[...]\n{text[-LONGEST // 2 :]}"


def classify(plan, code, out, error):
    """The kind of failure, in a few words."""
    if code < 0:
        return f"signal {signal.Signals(-code).name}"
    frames = " ", "Traceback", "Exception"
    lines = [line for line in error.splitlines() if line and not line.startswith(frames)]
    errors = [line for line in lines if "Planned: the end" not in line]
    if errors:
        return errors[-1][:100]
    return f"code {code} instead of {plan.code}" if code != plan.code else "unexpected output"


@functools.cache
def warm_up(timeout):
    """Compiles the kernels into the cache, once. If PyCUDA warns that there is no GPU, prints that and sets
    PYCUDA_DEVICE, as the warning would be unexpected on the stderr of each program."""
    done = subprocess.run(
        [sys.executable, PROGRAM], capture_output=True, text=True, timeout=timeout,
        env=environment(make_plan(0), timeout),
    )  # fmt: skip
    if done.returncode:
        sys.exit(f"the kernels do not compile:\n{done.stdout}{done.stderr}")
    notice = re.search(r"RuntimeWarning: (.*)", done.stderr)
    if notice:
        print(notice[1], file=sys.stderr, flush=True)
        os.environ["PYCUDA_DEVICE"] = "cpu"


def seed_range(text):
    """The seeds of FIRST:LAST (without LAST), or of one number."""
    first, _, last = text.partition(":")
    return range(int(first), int(last)) if last else range(int(first), int(first) + 1)


def run_seeds(seeds, jobs, timeout, report=lambda result: None, seconds=math.inf):
    """The results (of run_seed) in the order in which the programs end. `jobs` run at once, those that have
    not begun within `seconds` are left out, `report` is called with each result."""
    warm_up(300)
    results, end = [], time.monotonic() + seconds
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        futures = [
            pool.submit(lambda seed: run_seed(seed, timeout) if time.monotonic() < end else None, seed)
            for seed in seeds
        ]
        for future in concurrent.futures.as_completed(futures):
            result = future.result()
            if result:
                results.append(result)
                report(result)
    return results


def show(result):
    """Prints the result of a program that failed."""
    seed, kind, details, _ = result
    if kind:
        print(f"---- seed {seed}: {kind}\n{details}\n", flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=seed_range, default=range(0, 300), help="FIRST:LAST, or one")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="programs at once")
    parser.add_argument("--timeout", type=float, default=60, help="seconds that a program may take")
    parser.add_argument("--seconds", type=float, default=math.inf, help="after that, no program is started")
    parser.add_argument("--brief", action="store_true", help="no details of failures")
    given = parser.parse_args()
    started = time.monotonic()
    results = run_seeds(
        given.seeds, given.jobs, given.timeout, (lambda result: None) if given.brief else show, given.seconds
    )
    failed = sorted(result for result in results if result[1])
    for kind, count in Counter(kind for _, kind, _, _ in failed).most_common():
        print(f"{count:5}  {kind}  (seeds {' '.join(str(r[0]) for r in failed if r[1] == kind)})"[:300])
    longest = max((seconds, seed) for seed, _, _, seconds in results)
    print(
        f"{len(failed)} of {len(results)} programs failed in {time.monotonic() - started:.0f} s"
        f" (the longest, seed {longest[1]}: {longest[0]:.1f} s)"
    )
    if failed:
        print(f"again: {sys.executable} {os.path.relpath(__file__)} --seeds {failed[0][0]}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
