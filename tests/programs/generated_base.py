"""What generated kernels are made with: the state of all lanes, a writer of PTX, operands, conditions."""

import numpy as np

VARIABLES, SLOTS = 6, 8  # registers %v0 ... of each lane; words of local memory of each lane
UNTOUCHED = 0xDEADBEEF  # what the output holds where no lane writes
U32 = np.uint32


def bits(flags):
    """For each lane, the mask of its warp: bit k says whether lane k has its flag set."""
    words = (flags.reshape(-1, 32).astype(np.uint64) << np.arange(32, dtype=np.uint64)).sum(axis=1)
    return np.repeat(words.astype(U32), 32)


def of_warp(values, lanes):
    """The value that lane lanes[i] of the same warp has."""
    return values[np.arange(values.size) // 32 * 32 + lanes]


def signed(values):
    """The values as int32, as PTX reads registers for .s32."""
    return values.astype(np.int32)


def shift(values, by, left):
    """The values shifted as PTX shifts them: by more than 31 bits gives 0."""
    amount = np.minimum(by, 31)
    return np.where(by > 31, 0, values << amount if left else values >> amount).astype(U32)


OPERATIONS = {  # mnemonic: what it computes
    "add.u32": lambda a, b: a + b,
    "sub.u32": lambda a, b: a - b,
    "mul.lo.u32": lambda a, b: a * b,
    "mul.hi.u32": lambda a, b: (a.astype(np.uint64) * b >> 32).astype(U32),
    "xor.b32": lambda a, b: a ^ b,
    "and.b32": lambda a, b: a & b,
    "or.b32": lambda a, b: a | b,
    "shl.b32": lambda a, b: shift(a, b, True),
    "shr.u32": lambda a, b: shift(a, b, False),
    "min.s32": lambda a, b: np.minimum(signed(a), signed(b)).astype(U32),
    "max.u32": lambda a, b: np.maximum(a, b),
}
COMPARISONS = {
    "eq.s32": lambda a, b: a == b,
    "ne.u32": lambda a, b: a != b,
    "lt.s32": lambda a, b: signed(a) < signed(b),
    "ge.u32": lambda a, b: a >= b,
    "hi.u32": lambda a, b: a > b,
}


class Machine:
    """The state of a grid while a tree is run: one element a lane, dead lanes at the end of each block."""

    def __init__(self, blocks, threads, values):
        self.blocks, self.threads = blocks, threads
        self.warps = -(-threads // 32)
        self.tid = np.tile(np.arange(self.warps * 32, dtype=U32), blocks)
        self.block = np.repeat(np.arange(blocks), self.warps * 32)
        self.lane = self.tid % 32
        self.live = self.tid < threads
        self.gid = (self.block * threads + np.where(self.live, self.tid, 0)).astype(U32)
        start = values[self.gid]
        self.vars = [  # what START in generated.py puts in %v0 ... %v5
            self.tid,
            start,
            self.block.astype(U32),
            self.lane,
            start ^ self.gid * U32(2654435761),
            self.gid,
        ]
        self.vars = [np.array(v, U32) for v in self.vars]
        self.local = np.zeros((SLOTS, self.tid.size), U32)
        self.shared = np.zeros((blocks, threads), U32)  # a word for each thread
        self.cells = {}  # Turns node: its cell in each warp
        self.totals = np.zeros(2 * SLOTS, U32)  # those of atomics, then those under the lock
        self.broken = []  # for each enclosing loop: (lanes gone on to its next turn, lanes that left it)
        self.out = np.full((VARIABLES, blocks * threads), UNTOUCHED, U32)

    def set(self, k, mask, value):
        """Variable k gets the value in the lanes of the mask."""
        self.vars[k] = np.where(mask, value, self.vars[k]).astype(U32)

    def of_block(self, flags):
        """For each lane, how many lanes of its block have their flag set."""
        return np.bincount(self.block, flags, self.blocks)[self.block]

    def finish(self):
        """Writes the variables of live lanes to the output."""
        for k in range(VARIABLES):
            self.out[k, self.gid[self.live]] = self.vars[k][self.live]


class Writer:
    """The PTX of one function in the making."""

    def __init__(self):
        self.lines = []
        self.labels, self.masks, self.counters = 0, 0, 0  # how many there are

    def __call__(self, text):
        """Adds the instructions in `text`, which `;` separates."""
        self.lines += [f"\t{line.strip()};" for line in text.split(";") if line.strip()]

    def label(self):
        """The name of a new label, which place() puts somewhere."""
        self.labels += 1
        return f"L{self.labels}"

    def place(self, label):
        """Puts the label before the next instruction."""
        self.lines.append(label + ":")

    def mask(self):
        """A new register for a mask of lanes."""
        self.masks += 1
        return f"%m{self.masks}"

    def counter(self):
        """A new register for a loop's count."""
        self.counters += 1
        return f"%c{self.counters}"

    def ballot(self, to, predicate, members):
        """Sets register `to` to the mask of the members for which the predicate holds."""
        self(f"vote.sync.ballot.b32 {to}, {predicate}, {members};")

    def text(self, extra=""):
        """The body of the function: its registers, `extra` declarations, the instructions."""
        registers = (
            f"\t.reg .pred %p, %q;\n\t.reg .b32 %v<{VARIABLES}>, %t, %s, %x, %m<{self.masks + 1}>, "
            f"%c<{self.counters + 1}>;\n\t.reg .b64 %a, %b;\n{extra}"
        )
        return "{\n" + registers + "\n".join(self.lines) + "\n}\n"


class Operand:
    """The second operand of an instruction: a variable or a constant."""

    def __init__(self, rng):
        self.variable = rng.randrange(VARIABLES) if rng.random() < 0.7 else None
        self.number = rng.choice([rng.getrandbits(32), rng.randrange(40)])

    def __str__(self):
        return f"{self.number:#x}" if self.variable is None else f"%v{self.variable}"

    def get(self, machine):
        """The value in each lane; one number for a constant."""
        return U32(self.number) if self.variable is None else machine.vars[self.variable]


class Condition:
    """A comparison, or a test of bits of a variable. It holds in about half of the lanes, seldom in all."""

    def __init__(self, rng):
        self.variable, self.operand = rng.randrange(VARIABLES), Operand(rng)
        self.comparison = rng.choice([*COMPARISONS, None, None])  # None: a test of bits
        self.bits, self.equals = rng.choice([(1, 0), (3, 1), (6, 2), (24, 8), (7, 5), (32, 0)])

    def write(self, to, predicate="%p"):
        """Sets the predicate; to: a Writer."""
        if self.comparison:
            to(f"setp.{self.comparison} {predicate}, %v{self.variable}, {self.operand};")
        else:
            to(f"and.b32 %t, %v{self.variable}, {self.bits}; setp.eq.u32 {predicate}, %t, {self.equals};")

    def get(self, machine):
        """Whether it holds, for each lane."""
        value = machine.vars[self.variable]
        if self.comparison:
            return COMPARISONS[self.comparison](value, self.operand.get(machine))
        return (value & self.bits) == self.equals
