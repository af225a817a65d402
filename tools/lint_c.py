"""Compiles every C file once more as the build did, where any warning is one too many, and runs clang-tidy
with clang's warnings over it.

Usage: lint_c.py BIN BUILD...   BIN holds clang-tidy, each BUILD a compile_commands.json.

Tests are compiled only. With ccache nothing is compiled again: it repeats the warnings. Which checks a file
gets is said in .clang-tidy of its folder or one above.
(run-clang-tidy would do the second half, but the clang-tidy package that make installs has none.)
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
DROPPED = {"-o", "-c", "-MQ", "-MF"}
WARNINGS = ["-Wall", "-Wextra"]
# Of the analyzer, a ninth of the default for the paths of one function: it takes a quarter of the time, and
# finds the same in files from which checks for NULL were taken out. With less it reports values as
# uninitialized that functions have set which it gave up.
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
    """The compiler, with ccache before it or not, and its flags."""
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
    """What is wrong with one file, as text."""
    file, folder, compiler, flags, tidy = job
    with tempfile.TemporaryDirectory() as scratch:
        compilation = [*compiler, *flags, "-c", file, "-o", os.path.join(scratch, "it.o")]
        done = subprocess.run(compilation, cwd=folder, capture_output=True, text=True)
    output = done.stdout + done.stderr
    if "tests" not in file.relative_to(ROOT).parts:
        analysis = [tidy, "--quiet", *BUDGET, file, "--", *flags, *WARNINGS]
        done = subprocess.run(analysis, cwd=folder, capture_output=True, text=True)
        output += (done.stdout + done.stderr) * bool(done.returncode)
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
