"""Random programs of arrays, compared with NumPy.

    python tests/differential/run_cases.py --seeds 0:5000 --jobs 2
    python tests/differential/run_cases.py --seeds 17

A seed is one program. The first form prints the differences and a line of summary; the second, for one seed,
also its program, which runs on its own. Cases run in worker processes; one that crashes, hangs or loses its
context is reported, and another takes over the next seeds.
"""

import argparse
import collections
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

WORKER = str(Path(__file__).with_name("worker.py"))
LONGEST = 2000  # characters of a difference


class Worker:
    """Runs cases, with calls of one group or, for None, of all, in a process that is started for the first
    seed and again after one that ended it. `timeout`: seconds for one case.
    """

    def __init__(self, group, timeout):
        self.command = [
            sys.executable,
            "-X",
            "faulthandler",
            "-W",
            "ignore",
            WORKER,
            *([group] if group else []),
        ]
        self.timeout = timeout
        self.process = None  # or the process that waits for a seed
        self.words = ""  # the end of the last process's stderr

    def start(self):
        """Starts the process and waits until it is ready."""
        self.errors = tempfile.TemporaryFile(mode="w+")  # noqa: SIM115  closed by close()
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True
        )
        if self.process.stdout.readline() != "ready\n":
            self.close()
            raise RuntimeError(f"no worker: {self.words}")

    def last_words(self):
        """The end of the process's stderr."""
        self.errors.seek(0)
        return self.errors.read()[-LONGEST:]

    def run(self, seed):
        """The answer of the process for a seed (a dict as in worker.py), or one that says how the process
        ended.
        """
        if self.process is None:
            self.start()
        watch = threading.Timer(self.timeout, self.process.kill)
        watch.start()
        try:
            self.process.stdin.write(f"{seed}\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        watch.cancel()
        answer = json.loads(line) if line.endswith("\n") else None
        if answer is None or answer["lost"]:
            code = self.close()
            if answer is None:
                found = f"the process ended with {code}: {self.words}"
                answer = {"seed": seed, "found": found, "lost": True}
        return answer

    def close(self):
        """Ends the process, if there is one, and returns its exit code. The next seed starts another."""
        process, self.process = self.process, None
        if process is None:
            return None
        process.stdin.close()
        code = process.wait()
        process.stdout.close()
        self.words = self.last_words()
        self.errors.close()
        return code


def run_seeds(seeds, jobs, group=None, timeout=120):
    """Runs seeds in `jobs` processes. Yields their answers (worker.py) in the order in which they arrive."""
    waiting, answers = queue.SimpleQueue(), queue.SimpleQueue()
    for seed in seeds:
        waiting.put(seed)

    def serve():
        """A thread's function: takes seeds until there is none, and then puts None into `answers`."""
        worker = Worker(group, timeout)
        try:
            while True:
                answers.put(worker.run(waiting.get_nowait()))
        except queue.Empty:
            worker.close()
        except BaseException as error:
            answers.put({"seed": -1, "found": f"run_cases.py: {error!r}", "lost": True})
        answers.put(None)

    threads = [threading.Thread(target=serve, daemon=True) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    running = jobs
    while running:
        answer = answers.get()
        if answer is None:
            running -= 1
        else:
            yield answer


def parse_seeds(text):
    """The range of seeds for "FIRST:END" or for one number."""
    first, colon, end = text.partition(":")
    return range(int(first), int(end)) if colon else range(int(first), int(first) + 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=parse_seeds, default=range(5000), metavar="FIRST:END or N")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--group", help="draw calls of this group alone")
    options = parser.parse_args()
    started, failed, groups = time.monotonic(), 0, collections.Counter()
    for answer in run_seeds(options.seeds, options.jobs, options.group):
        groups.update(answer.get("group", ()))
        if answer["found"]:
            failed += 1
            print(f"seed {answer['seed']}: {answer['found'][:LONGEST]}", flush=True)
        if len(options.seeds) == 1:
            print(program_of(options.seeds[0], options.group))
    seconds = time.monotonic() - started
    print(
        f"{len(options.seeds)} programs, {failed} differ, {seconds:.0f} s; calls:",
        dict(sorted(groups.items())),
    )
    return failed > 0


def program_of(seed, group):
    """The text of a seed's program."""
    from case import Case

    return Case(seed, group).program()


if __name__ == "__main__":
    sys.exit(main())
