"""Compiles every C file once with warnings as errors, and runs clang-tidy over it.

Usage: lint_c.py BIN BUILD...   BIN holds clang-tidy, each BUILD a compile_commands.json.
"""

import json
import os
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COMPILERS = [name for name in ("gcc", "clang") if subprocess.run(["which", name], capture_output=True).returncode == 0]
DROPPED = {"-o", "-c", "-MQ", "-MF"}


def commands(builds):
    """{file: (folder, flags)} of every C file, as one of the builds compiles it."""
    found = {}
    for build in builds:
        for entry in json.loads((Path(build) / "compile_commands.json").read_text()):
            file = (Path(entry["directory"]) / entry["file"]).resolve()
            if file.suffix == ".c" and ROOT in file.parents and "fuzz" not in file.parts:
                found.setdefault(file, (entry["directory"], flags_of(entry)))
    return found


def flags_of(entry):
    words = entry.get("arguments") or shlex.split(entry["command"])
    flags, skip = [], True  # the compiler itself
    for word in words:
        if skip:
            skip = False
        elif word in DROPPED:
            skip = word != "-c"
        elif word != "-MD" and not word.endswith(".c"):
            flags.append(word)
    return flags


def check(job):
    """What is wrong with one file, as text."""
    file, folder, flags, tidy = job
    said = []
    for compiler in COMPILERS:
        run = subprocess.run([compiler, *flags, "-Wall", "-Wextra", "-Werror", "-c", file, "-o", os.devnull],
                             cwd=folder, capture_output=True, text=True)
        if run.returncode:
            said.append(f"{compiler}: {run.stderr}")
    run = subprocess.run([tidy, "--quiet", file, "--", *flags], cwd=folder, capture_output=True, text=True)
    if run.returncode:
        said.append(run.stdout)
    return "".join(said)


def main():
    tidy = str(Path(sys.argv[1]).resolve() / "clang-tidy")
    jobs = [(str(file), folder, flags, tidy) for file, (folder, flags) in sorted(commands(sys.argv[2:]).items())]
    with ThreadPoolExecutor(int(os.environ.get("JOBS", "2"))) as pool:
        complaints = [said for said in pool.map(check, jobs) if said]
    print("".join(complaints), end="")
    print(f"{len(jobs)} C files, {len(complaints)} with complaints")
    return bool(complaints)


if __name__ == "__main__":
    sys.exit(main())
