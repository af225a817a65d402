"""Compiles every C file once with gcc, warnings as errors, and runs clang-tidy with clang's warnings over it.

Usage: lint_c.py BIN BUILD...   BIN holds clang-tidy, each BUILD a compile_commands.json.

Tests are compiled only. Which checks a file gets is said in .clang-tidy of its folder or one above.
(run-clang-tidy would do the second half, but the clang-tidy package that make installs has none.)
"""

import json
import os
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DROPPED = {"-o", "-c", "-MQ", "-MF"}
WARNINGS = ["-Wall", "-Wextra"]
# Of the analyzer, a third of the default for the paths of one function: it takes less than half of the time,
# and finds the same in files from which checks for NULL were taken out.
BUDGET = [f"--extra-arg={word}" for word in ("-Xclang", "-analyzer-config", "-Xclang", "max-nodes=75000")]


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
    while not words[0].startswith("-"):  # the compiler, with ccache before it or not
        words = words[1:]
    flags, skip = [], False
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
    steps = [["gcc", *flags, *WARNINGS, "-O1", "-Werror", "-c", file, "-o", os.devnull]]
    if "tests" not in file.relative_to(ROOT).parts:
        steps.append([tidy, "--quiet", *BUDGET, file, "--", *flags, *WARNINGS])
    runs = [subprocess.run(step, cwd=folder, capture_output=True, text=True) for step in steps]
    return "".join(run.stdout + run.stderr for run in runs if run.returncode)


def main():
    tidy = str(Path(sys.argv[1]).resolve() / "clang-tidy")
    found = sorted(commands(sys.argv[2:]).items())
    jobs = [(file, folder, flags, tidy) for file, (folder, flags) in found]
    complaints = 0
    with ThreadPoolExecutor(int(os.environ.get("JOBS", "2"))) as pool:
        for said in pool.map(check, jobs):
            print(said, end="", flush=True)
            complaints += bool(said)
    print(f"{len(jobs)} C files, {complaints} with complaints")
    return bool(complaints)


if __name__ == "__main__":
    sys.exit(main())
