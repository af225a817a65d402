"""The plan of a random program, which its seed determines: its threads, contexts and settings, how it ends,
and what its exit code and stderr must be. The program and its runner both use it; it imports nothing of CUDA.
"""

import dataclasses
import random
import re

# Where the threads' contexts come from. The numbers here and below: how often each is drawn.
CONTEXTS = {
    "shared": 4,  # one, made by the main thread and pushed by the others
    "each": 3,  # one for each thread, on its device
    "primary": 2,  # retained by every thread
    "autoinit": 1,
    "default": 2,  # the program makes none: the first call does
}

# What happens to threads and objects before the main thread ends ...
ENDINGS = {
    "clean": 12,  # threads are joined, everything is dropped, no object may exist afterwards
    "leave": 3,  # threads are joined, objects are left to the interpreter
    "pushed": 2,  # the same, and contexts are left pushed
    "globals": 2,  # objects in cycles, modules, thread locals, finalizers
    "running": 2,  # threads still work; the interpreter waits for them
    "daemon": 4,  # daemon threads that never stop
    "atexit": 2,  # handlers use the device
    "fork": 2,  # children that do nothing, drop everything, or exit
    "fault": 1,  # a kernel fails at the end
    "_exit": 1,  # os._exit, while threads work
}

# ... and how it ends.
LASTS = {"end": 3, "exit": 2, "raise": 1}

# What stderr may have once where a kernel failed and nothing waited for it.
FAULT = r"Exception ignored in: 'cu\w+'\n(?:Traceback.*\n(?:  .*\n)+)?.*illegal memory access.*\n"
RAISED = r"Traceback \(most recent call last\):\n(  .*\n)+(\w+\.)?Planned: the end\n"


@dataclasses.dataclass(frozen=True)
class Plan:
    """What a random program does."""

    seed: int
    threads: int
    steps: int  # of each thread
    contexts: str
    devices: int  # on the CPU device
    lock: bool  # the CPU device's calls take one lock, which shows deadlocks and hides races
    functions: bool  # streams call Python functions
    compiling: bool  # threads compile sources
    focus: int  # how many kinds of steps there are; 0: all
    interval: float  # sys.setswitchinterval
    collecting: str  # "normal", "often" or "never"
    ending: str
    last: str
    code: int  # what the program must return
    stderr: str  # the pattern of what it must write there

    def is_right(self, code, stderr):
        """Whether the program ended as planned."""
        if self.ending == "fault":
            stderr = re.sub(FAULT, "", stderr, count=1)
        return code == self.code and re.fullmatch(self.stderr, stderr) is not None


def choose(dice, weights):
    """A random key of {key: weight}."""
    return dice.choices(list(weights), list(weights.values()))[0]


def make_plan(seed, ending=None):
    """The Plan of a seed; ending: another one than drawn."""
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
