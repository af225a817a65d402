"""The two judges: ptxas, which gets many statements at once, and the CPU device, which gets one at a time."""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from .statements import ENDING, preamble

PLACE = re.compile(r"^ptxas \S+, line (\d+); (error|fatal) +: (.*)$", re.M)
BATCH = 300  # statements in one run of ptxas
OLDEST = "sm_75"  # the oldest target of ptxas 13; modules may name older ones
CRASH = "ptxas ended with"  # starts the message of a ptxas that crashed


def find_ptxas():
    """The path of a ptxas that runs, or None."""
    path = shutil.which("ptxas") or shutil.which("ptxas", path="/usr/local/cuda/bin")
    if path and not subprocess.run([path, "--version"], capture_output=True).returncode:
        return path
    return None


def version_of(path):
    """(major, minor) of this ptxas."""
    text = subprocess.run([path, "--version"], capture_output=True, text=True).stdout
    return tuple(map(int, re.search(r"release (\d+)\.(\d+)", text).groups()))


class Ptxas:
    """Statements that ptxas refuses, and why."""

    def __init__(self, path, target="sm_90a", version="9.0"):
        self.path, self.target = path, target
        self.preamble = preamble(version, target)
        self.first = self.preamble.count("\n") + 1  # line of the first statement
        self.runs = 0

    def complaints(self, text, parse_only=True):
        """[(line, kind, message)] about a whole file; line 0 if ptxas names none."""
        self.runs += 1
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "a.ptx"
            file.write_text(text)
            target = max(self.target, OLDEST, key=lambda name: int(re.search(r"\d+", name)[0]))
            arch = target.replace("sm_", "compute_") if parse_only else target
            done = subprocess.run(
                [self.path, "-arch", arch, "-O0", "-c", str(file), "-o", os.devnull],
                capture_output=True,
                text=True,
                timeout=100,
            )
        output = done.stderr + done.stdout
        found = [(int(line), kind, message) for line, kind, message in PLACE.findall(output)]
        if done.returncode < 0 or (done.returncode and not found):
            found = [(0, "fatal", f"{CRASH} {done.returncode}: {output.strip()[-200:]}")]
        return found

    def text(self, statements):
        """A file with these statements, one on each line."""
        return self.preamble + "\n".join(statements) + ENDING

    def alone(self, statement, parse_only=True):
        """What ptxas says of this statement, or None."""
        output = self.complaints(self.text([statement]), parse_only)
        return output[0][2] if output else None

    def judge(self, statements, parse_only=True):
        """{statement: None if it is accepted, otherwise the complaint}"""
        verdicts = {}
        for start in range(0, len(statements), BATCH):
            self.judge_batch(statements[start : start + BATCH], verdicts, parse_only)
        return verdicts

    def judge_batch(self, batch, verdicts, parse_only):
        """Adds the verdicts on a batch. ptxas stops at a syntax error: the statement in that line is judged
        alone, and the others again without it."""
        left = list(batch)
        while left:
            fatal, wrong = None, {}
            for line, kind, message in self.complaints(self.text(left), parse_only):
                at = line - self.first
                if kind == "fatal" or not 0 <= at < len(left):
                    fatal = at, message
                else:
                    wrong.setdefault(at, message)
            if fatal is None:
                verdicts.update({statement: wrong.get(at) for at, statement in enumerate(left)})
                return
            at = fatal[0]
            if 0 <= at < len(left) and self.alone(left[at], parse_only):
                verdicts[left[at]] = fatal[1]
                # Statements before it were parsed, but symbols are looked up only at the end of the file.
                del left[at]
            elif len(left) == 1:
                verdicts[left[0]] = self.alone(left[0], parse_only)
                return
            else:
                half = len(left) // 2
                self.judge_batch(left[:half], verdicts, parse_only)
                left = left[half:]


class Device:
    """Statements that the CPU device refuses, and why. Needs a current context."""

    def __init__(self, target="sm_90a", version="9.0"):
        self.preamble = preamble(version, target)

    def load(self, text):
        """None if the device accepts the module, otherwise its error message."""
        import pycuda.driver as drv

        try:
            drv.module_from_buffer(text.encode())
        except drv.Error as error:
            return next((line for line in str(error).splitlines() if "error:" in line), str(error)).split(
                "error: "
            )[-1]
        return None

    def alone(self, statement):
        return self.load(self.preamble + statement + ENDING)

    def judge(self, statements):
        return {statement: self.alone(statement) for statement in statements}
