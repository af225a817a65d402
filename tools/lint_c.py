"""Compiles every C file again as the build did, and runs clang-tidy with clang's warnings on it. Any warning
is a failure.

Usage: lint_c.py BIN BUILD...   BIN holds clang-tidy, each BUILD a compile_commands.json.

Tests are compiled only. With ccache nothing is compiled again: it repeats the warnings. The checks for a file
are in the .clang-tidy of its folder or of one above. (run-clang-tidy could replace the second half, but the
clang-tidy package that make installs lacks it.)
"""

import json
import os
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DROPPED = {"-o", "-c", "-MQ", "-MF"}  # flags that write files; all but -c have an argument
WARNINGS = ["-Wall", "-Wextra"]
# The analyzer's limit for the paths of one function, a ninth of the default: it takes a quarter of the time,
# and finds the same in files from which checks for NULL were removed. With a lower limit it abandons
# functions, and reports the values that they set as uninitialized.
BUDGET = [f"--extra-arg={word}" for word in ("-Xclang", "-analyzer-config", "-Xclang", "max-nodes=25000")]


def commands(builds):
    """{file: (folder, compiler, flags)} of every C file, as one of the builds compiles it."""
    found = {}
    for build in builds:
        for entry in json.loads((Path(build) / "compile_commands.json").read_text()):
            file = (Path(entry["directory"]) / entry["file"]).resolve()
            if file.suffix == ".c" and ROOT in file.parents and "fuzz" not in file.parts:
                found.setdefault(file, (entry["directory"], *split(entry)))
    return found


def split(entry):
    """(compiler, flags) of an entry of compile_commands.json: the compiler may have ccache before it; the
    flags are those without files.
    """
    words = entry.get("arguments") or shlex.split(entry["command"])
    first = next(i for i, word in enumerate(words) if word.startswith("-"))
    flags, skip = [], False
    for word in words[first:]:
        if skip:
            skip = False
        elif word in DROPPED:
            skip = word != "-c"
        elif word != "-MD" and not word.endswith(".c"):
            flags.append(word)
    return words[:first], flags


def check(job):
    """The warnings and errors of one file as text, empty if there are none."""
    file, folder, compiler, flags, tidy = job
    with tempfile.TemporaryDirectory() as scratch:
        compilation = [*compiler, *flags, "-c", file, "-o", os.path.join(scratch, "it.o")]
        done = subprocess.run(compilation, cwd=folder, capture_output=True, text=True)
    output = done.stdout + done.stderr
    if "tests" not in file.relative_to(ROOT).parts:
        analysis = [tidy, "--quiet", *BUDGET, file, "--", *flags, *WARNINGS]
        done = subprocess.run(analysis, cwd=folder, capture_output=True, text=True)
        if done.returncode:
            output += done.stdout + done.stderr
    return output


def main():
    tidy = str(Path(sys.argv[1]).resolve() / "clang-tidy")
    found = sorted(commands(sys.argv[2:]).items())
    jobs = [(file, *how, tidy) for file, how in found]
    complaints = 0
    with ThreadPoolExecutor(int(os.environ.get("JOBS", "2"))) as pool:
        for output in pool.map(check, jobs):
            print(output, end="", flush=True)
            complaints += bool(output)
    print(f"{len(jobs)} C files, {complaints} with complaints")
    return bool(complaints)


if __name__ == "__main__":
    sys.exit(main())
