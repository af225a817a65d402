"""What a seed stands for: which threads, contexts and habits a random program has, how it ends, and what its
exit code and its words on stderr must be. The program and its runner ask here; nothing of CUDA
is imported.
"""

import dataclasses
import random
import re

# How the contexts of the threads come about.
CONTEXTS = {
    "shared": 4,  # one, made by the main thread and pushed by the others
    "each": 3,  # one for each thread, on its device
    "primary": 2,  # retained by every thread
    "autoinit": 1,
    "default": 2,  # none is made: the first call makes one
}

# What becomes of threads and objects before the main thread ends ...
ENDINGS = {
    "clean": 12,  # threads are joined, everything is dropped, nothing may be left
    "leave": 3,  # threads are joined, objects are left to the interpreter
    "pushed": 2,  # the same, and contexts are left pushed
    "globals": 2,  # objects in cycles, modules, thread locals, finalizers
    "running": 2,  # threads still work; the interpreter waits for them
    "daemon": 4,  # threads work for ever
    "atexit": 2,  # handlers use the device
    "fork": 2,  # children that do nothing, drop everything, or exit
    "fault": 1,  # a kernel fails at the end
    "_exit": 1,  # no end at all
}

# ... and how it ends.
LASTS = {"end": 3, "exit": 2, "raise": 1}

# The failure of a kernel without a wait is reported once.
FAULT = r"Exception ignored in: 'cu\w+'\n(?:Traceback.*\n(?:  .*\n)+)?.*illegal memory access.*\n"
RAISED = r"Traceback \(most recent call last\):\n(  .*\n)+(\w+\.)?Planned: the end\n"


@dataclasses.dataclass(frozen=True)
class Plan:
    seed: int
    threads: int
    steps: int  # of each thread
    contexts: str
    devices: int  # on the CPU device
    lock: bool  # the CPU device takes one lock, which shows deadlocks and hides races
    functions: bool  # Python functions in streams
    compiling: bool  # threads load sources on their own
    focus: int  # how many kinds of steps there are; 0: all
    interval: float  # how often the interpreter changes threads, in seconds
    collecting: str  # "normal", "often" or "never"
    ending: str
    last: str
    code: int  # what the program must return
    stderr: str  # what it must say: a pattern

    def is_right(self, code, stderr):
        if self.ending == "fault":
            stderr = re.sub(FAULT, "", stderr, count=1)
        return code == self.code and re.fullmatch(self.stderr, stderr) is not None


def choose(dice, weights):
    return dice.choices(list(weights), list(weights.values()))[0]


def make_plan(seed, ending=None):
    dice = random.Random(f"plan {seed}")
    contexts, drawn, last = choose(dice, CONTEXTS), choose(dice, ENDINGS), choose(dice, LASTS)
    ending = ending or drawn
    code = {"end": 0, "exit": dice.choice([0, 1, 3, 42]), "raise": 1}[last]
    if ending == "_exit":
        last, code = "exit", dice.choice([0, 5, 77])
    stderr = RAISED if last == "raise" else ""
    focus = dice.choice([0, 0, 0, 1, 2, 3, 5, 8])
    return Plan(
        seed=seed,
        threads=dice.choice([1, 2, 3, 3, 4, 5]),
        steps=dice.choice([10, 20, 40, 60]) * (3 if focus in (1, 2) else 1),
        contexts=contexts,
        devices=dice.choice([1, 1, 1, 2]),
        lock=dice.random() < 0.6,
        functions=dice.random() < 0.7,
        compiling=dice.random() < 0.2,
        focus=focus,
        interval=dice.choice([5e-3, 5e-3, 1e-4, 1e-6]),
        collecting=dice.choice(["normal", "normal", "often", "never"]),
        ending=ending,
        last=last,
        code=code,
        stderr=stderr,
    )
