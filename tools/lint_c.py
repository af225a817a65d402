"""Compiles every C file again as the build did, and runs clang-tidy with clang's warnings on it. Any warning
is a failure.

Usage: lint_c.py BIN BUILD...   BIN holds clang-tidy, each BUILD a compile_commands.json.

Tests are compiled only. With ccache nothing is compiled again: it repeats the warnings. A file is analyzed
again only if it, a header, a flag, a .clang-tidy or clang-tidy itself has changed since it was found to be
clean. The checks for a file are in the .clang-tidy of its folder or of one above.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DROPPED = {"-o", "-c", "-MQ", "-MF"}  # flags that write files; all but -c have an argument
WARNINGS = ["-Wall", "-Wextra"]
CHECKS = sorted([ROOT / ".clang-tidy", *(ROOT / "device").rglob(".clang-tidy")])
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


def analyzer(folder):
    """(the words before a compiler's arguments that have clang-tidy check a file, their environment): ccache,
    if it is installed, and checking_compiler.sh. folder: BIN.
    """
    # The script in BIN spends 0.1 s in Python before it starts this program.
    programs = folder.parent.glob("lib/python*/site-packages/clang_tidy/data/bin/clang-tidy")
    tidy = str(next(programs, folder / "clang-tidy"))
    version = subprocess.run([tidy, "--version"], capture_output=True, text=True, check=True).stdout
    program = ROOT / "tools" / "checking_compiler.sh"
    options = " ".join(["--quiet", *BUDGET])
    environment = {
        **os.environ,
        "TIDY": f"{tidy} {options}",
        "CCACHE_COMPILERTYPE": "gcc",
        "CCACHE_COMPILERCHECK": f"string:{version} {options} {program.read_text()}",
        "CCACHE_EXTRAFILES": os.pathsep.join(map(str, CHECKS)),
    }
    return [*["ccache"] * (shutil.which("ccache") is not None), str(program)], environment


def run(command, folder, file, environment=None):
    """Compiles a file by a command. Returns whether that succeeded, and what it says."""
    with tempfile.TemporaryDirectory() as scratch:
        compilation = [*command, "-c", file, "-o", os.path.join(scratch, "it.o")]
        done = subprocess.run(compilation, cwd=folder, capture_output=True, text=True, env=environment)
    return done.returncode == 0, done.stdout + done.stderr


def check(job):
    """The warnings and errors of one file as text, empty if there are none."""
    file, folder, compiler, flags, (tidy, environment) = job
    _, output = run([*compiler, *flags], folder, file)
    if "tests" not in file.relative_to(ROOT).parts:
        clean, text = run([*tidy, *flags, *WARNINGS], folder, file, environment)
        if not clean:
            output += text or f"clang-tidy failed on {file}\n"
    return output


def main():
    tidy = analyzer(Path(sys.argv[1]).resolve())
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
