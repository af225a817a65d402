"""Random PTX kernels that diverge in every way, and what they compute.

A kernel is a tree of nodes made from a seed. Each node writes its PTX and computes with NumPy what that does
to the variables of all lanes under a mask, so a run has one right result in whatever order lanes and blocks
run. A node stands in one of three kinds of place: BLOCK, where all threads of the block are together
(barriers are allowed), WARP, where the lanes of a known member mask are (warp collectives are), and ANYWHERE.
The kernels rely only on what CUDA guarantees: only members of the mask exchange values, and updates that
race are commutative.

    python generated.py SEED          print the PTX of a seed
    python generated.py FIRST COUNT   run the kernels of these seeds; prints those with a wrong result
    python generated.py FILE          the same with the cases that the file holds
"""

import pickle
import random
import sys
from typing import NamedTuple

import numpy as np
from generated_base import (
    OPERATIONS,
    SLOTS,
    U32,
    UNTOUCHED,
    VARIABLES,
    Condition,
    Machine,
    Operand,
    Writer,
    bits,
    of_warp,
)

ANYWHERE, WARP, BLOCK = range(3)


class Node:
    """Something a kernel does.

    write(to, members) writes its PTX with a Writer; members: the register with the mask of the lanes that are
    here together, None where that is not known. run(machine, mask) does the same to the state of all lanes of
    a Machine, for the lanes of the mask, and returns the mask of those that go on after it.

    exits: lanes may end in it, so the masks around it must be recomputed.
    parts: lanes may come out of it separately, and a GPU does not bring them together again by itself: those
    that return from different depths of a recursion.
    """

    exits = parts = False

    def consists_of(self, *bodies):
        """Sets exits and parts if any node of the bodies has them."""
        self.exits = any(node.exits for body in bodies for node in body)
        self.parts = any(node.parts for body in bodies for node in body)

    def rejoin(self, to, members):
        """Brings the members together again, and recomputes their mask, where that is needed."""
        if members and self.parts:
            to(f"bar.warp.sync {members};")
        if members and self.exits:
            to.ballot(members, "1", members)


class Assign(Node):
    """One operation on two variables, or a variable and a constant; sometimes under a guard."""

    def __init__(self, rng, tree):
        self.to, self.a, self.b = rng.randrange(VARIABLES), rng.randrange(VARIABLES), Operand(rng)
        self.operation = rng.choice(list(OPERATIONS))
        self.guard = Condition(rng) if rng.random() < 0.3 else None

    def write(self, to, members):
        if self.guard:
            self.guard.write(to)
        to(f"{'@%p ' if self.guard else ''}{self.operation} %v{self.to}, %v{self.a}, {self.b};")

    def run(self, machine, mask):
        doing = mask & self.guard.get(machine) if self.guard else mask
        result = OPERATIONS[self.operation](machine.vars[self.a], self.b.get(machine))
        machine.set(self.to, doing, result)
        return mask


class Local(Node):
    """A store into, then a load from, the lane's own array, at indices that differ."""

    def __init__(self, rng, tree):
        self.index, self.other, self.value, self.to = (rng.randrange(VARIABLES) for _ in range(4))

    def address(self, to, variable):
        """Sets %a to the address of the element that the variable picks."""
        to(f"and.b32 %t, %v{variable}, {SLOTS - 1}; mul.wide.u32 %a, %t, 4; add.u64 %a, %a, %local;")

    def write(self, to, members):
        self.address(to, self.index)
        to(f"st.local.u32 [%a], %v{self.value};")
        self.address(to, self.other)
        to(f"cvta.local.u64 %a, %a; ld.u32 %v{self.to}, [%a];")

    def run(self, machine, mask):
        lanes = np.flatnonzero(mask)
        machine.local[machine.vars[self.index][lanes] % SLOTS, lanes] = machine.vars[self.value][lanes]
        loaded = machine.local[machine.vars[self.other] % SLOTS, np.arange(mask.size)]
        machine.set(self.to, mask, loaded)
        return mask


class Total(Node):
    """Adds into a total of the grid: into one of the first SLOTS by an atomic, into one of the rest under a
    lock, for which lanes of one warp compete too."""

    def __init__(self, rng, tree):
        self.value, self.index, self.lock = (
            rng.randrange(VARIABLES),
            rng.randrange(VARIABLES),
            rng.random() < 0.1,
        )

    def write(self, to, members):
        to(f"and.b32 %t, %v{self.index}, {SLOTS - 1}; mul.wide.u32 %a, %t, 4;")
        to(f"add.u64 %a, %a, %totals; add.u64 %a, %a, {SLOTS * 4 * self.lock};")
        if not self.lock:
            to(f"red.global.add.u32 [%a], %v{self.value};")
            return
        again, taken = to.label(), to.label()
        to.place(again)
        to(f"atom.global.cas.b32 %t, [%lock], 0, 1; setp.eq.u32 %p, %t, 0; @%p bra {taken}; bra {again};")
        to.place(taken)
        to(f"membar.gl; ld.volatile.global.u32 %t, [%a]; add.u32 %t, %t, %v{self.value};")
        to("st.volatile.global.u32 [%a], %t; membar.gl; atom.global.exch.b32 %t, [%lock], 0;")

    def run(self, machine, mask):
        index = machine.vars[self.index][mask] % SLOTS + SLOTS * self.lock
        np.add.at(machine.totals, index, machine.vars[self.value][mask])
        return mask


class Exit(Node):
    """Ends the lanes for which a condition holds and a few bits of variable 4 are all set."""

    exits = True

    def __init__(self, rng, tree):
        self.condition = Condition(rng)
        self.rare = rng.choice([7, 15])

    def write(self, to, members):
        self.condition.write(to, "%q")
        to(f"not.b32 %t, %v4; and.b32 %t, %t, {self.rare}; setp.eq.and.u32 %p, %t, 0, %q; @%p exit;")
        if members:
            to.ballot(members, "1", members)

    def run(self, machine, mask):
        gone = mask & self.condition.get(machine) & ((~machine.vars[4] & self.rare) == 0)
        machine.live = machine.live & ~gone
        return mask & ~gone


class Leave(Node):
    """Some lanes leave the loop (break), or go on to its next turn (continue: `again`)."""

    def __init__(self, rng, tree):
        self.condition, self.again = Condition(rng), rng.random() < 0.5
        self.loop = tree.loops[-1]

    def write(self, to, members):
        self.condition.write(to)
        if members:
            to("not.pred %q, %p;")
            to.ballot("%s", "%q", members)
        to(f"@%p bra {self.loop.next if self.again and not members else self.loop.end};")
        if members:
            to(f"mov.b32 {members}, %s;")

    def run(self, machine, mask):
        gone = mask & self.condition.get(machine)
        skipped, left = machine.broken[-1]  # lanes that went on to the next turn, and out of the loop
        machine.broken[-1] = (
            (skipped | gone, left) if self.again and self.loop.place == ANYWHERE else (skipped, left | gone)
        )
        return mask & ~gone


def run_all(nodes, machine, mask):
    """Runs the nodes in their order; returns the mask of the lanes that go on after the last."""
    for node in nodes:
        mask = node.run(machine, mask)
    return mask


class If(Node):
    """A branch with one or two arms."""

    def __init__(self, rng, tree):
        self.condition = Condition(rng)
        self.place = min(tree.place, rng.choice([ANYWHERE, WARP]))
        self.arms = [tree.nodes(self.place, 3), tree.nodes(self.place, 3) if rng.random() < 0.7 else []]
        self.consists_of(*self.arms)

    def write(self, to, members):
        other, end = to.label(), to.label()
        taken, rest = (to.mask(), to.mask()) if self.place == WARP else (None, None)
        self.condition.write(to)
        if taken:
            to.ballot(taken, "%p", members)
            to(f"not.b32 {rest}, {taken}; and.b32 {rest}, {rest}, {members};")
        to(f"@!%p bra {other};")
        for node in self.arms[0]:
            node.write(to, taken)
        to(f"bra {end};")
        to.place(other)
        for node in self.arms[1]:
            node.write(to, rest)
        to.place(end)
        self.rejoin(to, members)

    def run(self, machine, mask):
        taken = self.condition.get(machine)
        return run_all(self.arms[0], machine, mask & taken) | run_all(self.arms[1], machine, mask & ~taken)


class Loop(Node):
    """A loop whose count comes from some bits of a variable, or is the same for all if the block comes
    together."""

    def __init__(self, rng, tree):
        self.place = min(tree.place, rng.choice([ANYWHERE, WARP, BLOCK]))
        self.variable, self.bits, self.min_turns = (
            rng.randrange(VARIABLES),
            rng.choice([1, 3, 5]),
            rng.randrange(3),
        )
        self.bits = 0 if self.place == BLOCK else self.bits
        tree.loops.append(self)
        self.body = tree.nodes(self.place, 3, leave=self.place != BLOCK)
        tree.loops.pop()
        self.consists_of(self.body)

    def write(self, to, members):
        head, self.next, self.end = to.label(), to.label(), to.label()
        turns, done = to.counter(), to.counter()
        inside = to.mask() if self.place == WARP else members if self.place == BLOCK else None
        to(f"and.b32 {turns}, %v{self.variable}, {self.bits}; add.u32 {turns}, {turns}, {self.min_turns};")
        to(f"mov.u32 {done}, 0;")
        if self.place == WARP:
            to(f"mov.b32 {inside}, {members};")
        to.place(head)
        to(f"setp.lt.u32 %p, {done}, {turns};")
        if self.place == WARP:
            to.ballot("%s", "%p", inside)
        to(f"@!%p bra {self.end};")
        if self.place == WARP:
            to(f"mov.b32 {inside}, %s;")
        for node in self.body:
            node.write(to, inside)
        to.place(self.next)
        to(f"add.u32 {done}, {done}, 1; bra {head};")
        to.place(self.end)
        self.rejoin(to, members)

    def run(self, machine, mask):
        turns = (machine.vars[self.variable] & U32(self.bits)) + U32(self.min_turns)
        none = np.zeros_like(mask)
        out, machine.broken = none, [*machine.broken, (none, none)]
        for done in range(self.bits + self.min_turns + 1):
            out, mask = out | (mask & (turns <= done)), mask & (turns > done)
            mask = run_all(self.body, machine, mask)
            skipped, left = machine.broken[-1]
            mask, out, machine.broken[-1] = mask | skipped, out | left, (none, none)
        machine.broken = machine.broken[:-1]
        return out


class Switch(Node):
    """A branch to one of four arms, by an index (brx.idx)."""

    def __init__(self, rng, tree):
        self.variable = rng.randrange(VARIABLES)
        self.arms = [tree.nodes(ANYWHERE, 2) for _ in range(4)]
        self.consists_of(*self.arms)

    def write(self, to, members):
        labels, end = [to.label() for _ in self.arms], to.label()
        to(f"and.b32 %t, %v{self.variable}, 3;")
        to.lines.append(f"table{end}: .branchtargets {', '.join(labels)};")
        to(f"brx.idx %t, table{end};")
        for label, arm in zip(labels, self.arms, strict=False):
            to.place(label)
            for node in arm:
                node.write(to, None)
            to(f"bra {end};")
        to.place(end)
        self.rejoin(to, members)

    def run(self, machine, mask):
        chosen, out = machine.vars[self.variable] & 3, np.zeros_like(mask)
        for k, arm in enumerate(self.arms):
            out = out | run_all(arm, machine, mask & (chosen == k))
        return out


class Function:
    """result = f(x, y). One that recurses calls itself y % 8 times."""

    def __init__(self, rng, tree, number):
        self.name, self.recurses = f"f{number}", rng.random() < 0.5
        kept, tree.place, tree.loops, tree.inside = (tree.place, tree.loops, tree.inside), ANYWHERE, [], True
        self.before, self.after = tree.nodes(ANYWHERE, 3), tree.nodes(ANYWHERE, 2)
        tree.place, tree.loops, tree.inside = kept

    def prototype(self):
        """Its declaration in PTX, without the `;`."""
        return f".func (.param .b32 result) {self.name} (.param .b32 x, .param .b32 y)"

    def write(self):
        """Its definition in PTX."""
        to, end = Writer(), "done"
        to("ld.param.u32 %v0, [x]; ld.param.u32 %v1, [y];")
        for k in range(2, VARIABLES):
            to(f"xor.b32 %v{k}, %v{k - 2}, {k * 77};")
        to("mov.u32 %depth, %v1;")
        for node in self.before:
            node.write(to, None)
        if self.recurses:
            to(f"and.b32 %t, %depth, 7; setp.eq.u32 %p, %t, 0; @%p bra {end}; sub.u32 %t, %t, 1;")
            write_call(to, self.name, "%v2", "%v0", "%t")
        to.place(end)
        for node in self.after:
            node.write(to, None)
        to("xor.b32 %v0, %v0, %v2; st.param.b32 [result], %v0; ret;")
        return self.prototype() + "\n" + to.text("\t.reg .b32 %depth;\n")

    def call(self, machine, mask, x, y):
        """The result in each lane of the mask."""
        kept = machine.vars
        machine.vars = [x, y]
        for k in range(2, VARIABLES):
            machine.vars.append(machine.vars[k - 2] ^ U32(k * 77))
        run_all(self.before, machine, mask)
        depth = y & U32(7)
        deeper = mask & (depth > 0)
        if self.recurses and deeper.any():
            machine.set(2, deeper, self.call(machine, deeper, machine.vars[0], depth - U32(1)))
        run_all(self.after, machine, mask)
        result, machine.vars = machine.vars[0] ^ machine.vars[2], kept
        return result


def write_call(to, target, result, x, y, prototype=""):
    """Writes result = target(x, y), of registers; target: a name, or a register if a prototype is given."""
    to(f"{{ .param .b32 px, py, pr; st.param.b32 [px], {x}; st.param.b32 [py], {y};")
    to(f"call (pr), {target}, (px, py){prototype}; ld.param.b32 {result}, [pr];")
    to.lines.append("\t}")


class Call(Node):
    """A call by name, or of the function that some bits of a variable pick from a table."""

    def __init__(self, rng, tree):
        self.x, self.y, self.pick, self.to = (rng.randrange(VARIABLES) for _ in range(4))
        self.functions = tree.functions
        self.chosen = None if rng.random() < 0.4 else rng.choice(tree.functions)
        callees = [self.chosen] if self.chosen else tree.functions
        self.parts = any(function.recurses for function in callees)

    def write(self, to, members):
        if self.chosen:
            write_call(to, self.chosen.name, f"%v{self.to}", f"%v{self.x}", f"%v{self.y}")
            self.rejoin(to, members)
            return
        to(f"rem.u32 %t, %v{self.pick}, {len(self.functions)}; mul.wide.u32 %a, %t, 8;")
        to("mov.u64 %b, functions;")
        to("add.u64 %a, %a, %b; ld.global.u64 %a, [%a];")
        write_call(to, "%a", f"%v{self.to}", f"%v{self.x}", f"%v{self.y}", ", kind")
        self.rejoin(to, members)

    def run(self, machine, mask):
        x, y, pick = (machine.vars[k] for k in (self.x, self.y, self.pick))
        for k, function in enumerate(self.functions):
            doing = mask & (self.chosen is function if self.chosen else pick % U32(len(self.functions)) == k)
            if doing.any():
                machine.set(self.to, doing, function.call(machine, doing, x, y))
        return mask


class Shuffle(Node):
    """A value from another lane, taken only where that lane is a member."""

    def __init__(self, rng, tree):
        self.mode, self.value, self.to = (
            rng.choice(["idx", "up", "down", "bfly"]),
            rng.randrange(VARIABLES),
            rng.randrange(VARIABLES),
        )
        self.by = Operand(rng)
        self.width = rng.choice([32, 32, 16, 8])

    def write(self, to, members):
        limit = (32 - self.width) << 8 | (0 if self.mode == "up" else 31)
        to(f"mov.b32 %s, {self.by}; and.b32 %s, %s, 31;")
        to(f"shfl.sync.{self.mode}.b32 %t|%q, %v{self.value}, %s, {limit}, {members};")
        if self.mode == "idx":
            to(f"and.b32 %s, %s, {self.width - 1}; and.b32 %x, %lane, {32 - self.width};")
            to("or.b32 %s, %s, %x;")
        else:
            to(f"{ {'up': 'sub.u32', 'down': 'add.u32', 'bfly': 'xor.b32'}[self.mode] } %s, %lane, %s;")
        to(f"shr.u32 %s, {members}, %s; and.b32 %s, %s, 1; setp.eq.and.u32 %p, %s, 1, %q;")
        to(f"@%p mov.b32 %v{self.to}, %t;")

    def run(self, machine, mask):
        by = np.broadcast_to(self.by.get(machine) & U32(31), mask.shape).astype(int)
        lane = machine.lane.astype(int)
        start = lane & (32 - self.width)
        source = {
            "idx": start | (by & (self.width - 1)),
            "up": lane - by,
            "down": lane + by,
            "bfly": lane ^ by,
        }[self.mode]
        inside = source >= start if self.mode == "up" else source < start + self.width
        source = np.where(inside, source, lane)
        machine.set(self.to, mask & inside & of_warp(mask, source), of_warp(machine.vars[self.value], source))
        return mask


class Vote(Node):
    """A vote of the members: its ballot, or a constant where the vote holds."""

    def __init__(self, rng, tree):
        self.kind, self.condition, self.to = (
            rng.choice(["ballot.b32", "any.pred", "all.pred", "uni.pred"]),
            Condition(rng),
            rng.randrange(VARIABLES),
        )

    def write(self, to, members):
        self.condition.write(to)
        if self.kind == "ballot.b32":
            to(f"vote.sync.ballot.b32 %v{self.to}, %p, {members};")
        else:
            to(f"vote.sync.{self.kind} %q, %p, {members}; selp.b32 %v{self.to}, 0x1234, %v{self.to}, %q;")

    def run(self, machine, mask):
        holds = self.condition.get(machine)
        yes, members = bits(mask & holds), bits(mask)
        if self.kind == "ballot.b32":
            machine.set(self.to, mask, yes)
            return mask
        holds = {"any.pred": yes != 0, "all.pred": yes == members, "uni.pred": (yes == members) | (yes == 0)}[
            self.kind
        ]
        machine.set(self.to, mask & holds, U32(0x1234))
        return mask


class Match(Node):
    """The mask of the members with the same value (match.any)."""

    def __init__(self, rng, tree):
        self.value, self.to, self.bits = (
            rng.randrange(VARIABLES),
            rng.randrange(VARIABLES),
            rng.choice([1, 7, 0xFFFFFFFF]),
        )

    def write(self, to, members):
        to(f"and.b32 %t, %v{self.value}, {self.bits}; match.any.sync.b32 %v{self.to}, %t, {members};")

    def run(self, machine, mask):
        value = (machine.vars[self.value] & U32(self.bits)).reshape(-1, 32)
        same = (value[:, :, None] == value[:, None, :]) & mask.reshape(-1, 1, 32)
        words = (same.astype(np.uint64) << np.arange(32, dtype=np.uint64)).sum(axis=2)
        machine.set(self.to, mask, words.ravel().astype(U32))
        return mask


# How strong the loads and stores of Turns are. Tests of racecheck set "relaxed.cta": for it, volatile
# accesses order nothing.
STRENGTH = "volatile"


class Turns(Node):
    """Members pass a cell on, each waiting in a loop until the member before it has had its turn.

    The cells are the node's own: other lanes of the warp may be at another such node at the same time.
    """

    def __init__(self, rng, tree):
        self.value, self.to = rng.randrange(VARIABLES), rng.randrange(VARIABLES)
        self.turn, self.cell = f"%turn + {tree.turns * 64}", f"%turn + {tree.turns * 64 + 4}"
        tree.turns += 1

    def write(self, to, members):
        wait, other = to.label(), to.label()
        to(f"mov.u32 %t, %lanemask_lt; and.b32 %t, %t, {members}; popc.b32 %s, %t;")
        to.place(wait)
        to(f"ld.{STRENGTH}.shared.u32 %t, [{self.turn}]; setp.ne.u32 %p, %t, %s; @%p bra {wait};")
        to(f"ld.{STRENGTH}.shared.u32 %t, [{self.cell}]; mad.lo.u32 %t, %t, 3, %v{self.value};")
        to(f"st.{STRENGTH}.shared.u32 [{self.cell}], %t; mov.b32 %v{self.to}, %t; membar.cta;")
        to("add.u32 %t, %s, 1;")
        to(f"st.{STRENGTH}.shared.u32 [{self.turn}], %t; bar.warp.sync {members}; setp.ne.u32 %p, %s, 0;")
        to(f"@%p bra {other};")
        to(f"st.{STRENGTH}.shared.u32 [{self.turn}], 0;")
        to.place(other)
        to(f"bar.warp.sync {members};")

    def run(self, machine, mask):
        result, value = machine.vars[self.to].copy(), machine.vars[self.value]
        cells = machine.cells.setdefault(self, np.zeros(mask.size // 32, U32))
        for lane in np.flatnonzero(mask):
            warp = lane // 32
            result[lane] = cells[warp] = (int(cells[warp]) * 3 + int(value[lane])) & 0xFFFFFFFF
        machine.vars[self.to] = result
        return mask


class Exchange(Node):
    """Every thread reads another's value through shared memory, between two barriers, which the threads may
    reach on two branches."""

    def __init__(self, rng, tree):
        self.value, self.to, self.by = (
            rng.randrange(VARIABLES),
            rng.randrange(VARIABLES),
            rng.randrange(1, 200),
        )
        self.barrier = rng.randrange(16)
        self.condition = Condition(rng) if rng.random() < 0.4 else None
        self.arms = [tree.nodes(ANYWHERE, 2), tree.nodes(ANYWHERE, 2)] if self.condition else []
        self.consists_of(*self.arms)

    def swap(self, to, wait):
        """Writes the exchange with barriers of the instruction `wait`."""
        to(f"st.shared.u32 [%slot], %v{self.value}; {wait} {self.barrier};")
        to(f"mov.u32 %t, %tid.x; mov.u32 %s, %ntid.x; add.u32 %t, %t, {self.by}; rem.u32 %t, %t, %s;")
        to("mul.lo.u32 %t, %t, 4; mov.u32 %s, slots;")
        to(f"add.u32 %s, %s, %t; ld.shared.u32 %t, [%s]; xor.b32 %v{self.to}, %v{self.to}, %t;")
        to(f"{wait} {self.barrier};")

    def write(self, to, members):
        if not self.condition:
            self.swap(to, "bar.sync")
            return
        other, end = to.label(), to.label()
        self.condition.write(to)
        to(f"@!%p bra {other};")
        for node in self.arms[0]:
            node.write(to, None)
        self.swap(to, "barrier.sync")
        to(f"bra {end};")
        to.place(other)
        for node in self.arms[1]:
            node.write(to, None)
        self.swap(to, "barrier.sync")
        to.place(end)
        self.rejoin(to, members)

    def run(self, machine, mask):
        if self.condition:
            taken = self.condition.get(machine)
            mask = run_all(self.arms[0], machine, mask & taken) | run_all(
                self.arms[1], machine, mask & ~taken
            )
        machine.shared[machine.block[mask], machine.tid[mask]] = machine.vars[self.value][mask]
        seen = machine.shared[machine.block, (machine.tid + self.by) % machine.threads]
        machine.set(self.to, mask, machine.vars[self.to] ^ seen)
        return mask


class Poll(Node):
    """A barrier that counts the threads' predicates or combines them (bar.red)."""

    def __init__(self, rng, tree):
        self.kind, self.condition, self.to = (
            rng.choice(["popc.u32", "and.pred", "or.pred"]),
            Condition(rng),
            rng.randrange(VARIABLES),
        )
        self.barrier = rng.randrange(16)

    def write(self, to, members):
        self.condition.write(to)
        if self.kind == "popc.u32":
            to(f"bar.red.popc.u32 %v{self.to}, {self.barrier}, %p;")
        else:
            to(f"bar.red.{self.kind} %q, {self.barrier}, %p;")
            to(f"selp.b32 %v{self.to}, 0x4321, %v{self.to}, %q;")

    def run(self, machine, mask):
        yes = machine.of_block(mask & self.condition.get(machine))
        if self.kind == "popc.u32":
            machine.set(self.to, mask, yes.astype(U32))
        else:
            holds = yes > 0 if self.kind == "or.pred" else yes == machine.of_block(mask)
            machine.set(self.to, mask & holds, U32(0x4321))
        return mask


CHOICES = {  # node: weight, and the minimum strictness of the place it may stand in
    Assign: (8, ANYWHERE), Total: (1, ANYWHERE), If: (3, ANYWHERE), Loop: (3, ANYWHERE),
    Switch: (1, ANYWHERE), Local: (1, ANYWHERE), Call: (2, ANYWHERE), Leave: (2, ANYWHERE),
    Exit: (0.7, ANYWHERE), Shuffle: (4, WARP),
    Vote: (2, WARP), Match: (1, WARP), Turns: (0.6, WARP), Exchange: (3, BLOCK), Poll: (1.5, BLOCK),
}  # fmt: skip
PARENTS, ONLY_IN_KERNELS = (If, Loop, Switch, Exchange), (Local, Total, Exit, Call)


class Tree:
    """The kernel of a seed. While it is made, its fields describe where the next node stands: the kind of
    place, the enclosing loops, the depth, whether inside a function, and how many nodes and Turns exist."""

    def __init__(self, seed):
        self.rng, self.seed = random.Random(seed), seed
        self.place, self.loops, self.depth, self.inside, self.size, self.turns = BLOCK, [], 0, False, 0, 0
        self.functions = []
        for number in range(self.rng.randrange(1, 4)):
            self.functions.append(Function(self.rng, self, number))
        self.blocks, self.threads = self.rng.choice([1, 2, 3]), self.rng.choice([32, 64, 96, 20, 45, 130])
        self.size = 0
        self.body = self.nodes(BLOCK, 9)

    def allowed(self, kind, leave):
        """Whether a node of this kind may stand here; leave: whether a Leave may."""
        if kind is Leave:
            return leave
        if self.inside and kind in ONLY_IN_KERNELS:
            return False
        return kind not in PARENTS or (
            self.depth < 4 and self.size < 60 and not (kind is Loop and len(self.loops) > 1)
        )

    def nodes(self, place, max_count, leave=False):
        """1 to max_count random nodes that may stand in such a place."""
        kept, self.place = self.place, place
        if place == ANYWHERE and self.loops and self.loops[-1].place == ANYWHERE:
            leave = True
        self.depth += 1
        made = []
        for _ in range(self.rng.randrange(1, max_count + 1)):
            kinds = [
                k for k, (_, strictness) in CHOICES.items() if strictness <= place and self.allowed(k, leave)
            ]
            kind = self.rng.choices(kinds, [CHOICES[k][0] for k in kinds])[0]
            self.size += 1
            made.append(kind(self.rng, self))
        self.depth -= 1
        self.place = kept
        return made

    def ptx(self):
        """The module with the kernel and its functions."""
        to = Writer()
        to(START)
        for address in range(0, self.turns * 64, 64):
            to(f"st.shared.u32 [%turn + {address}], 0; st.shared.u32 [%turn + {address + 4}], 0;")
        to("bar.sync 0;")
        members = to.mask()
        to.ballot(members, "1", "0xffffffff")
        for node in self.body:
            node.write(to, members)
        for k in range(VARIABLES):
            to(f"mul.lo.u32 %t, %all, {k * 4}; cvt.u64.u32 %a, %t; add.u64 %a, %a, %out;")
            to(f"st.global.u32 [%a], %v{k};")
        to("ret;")
        names = ", ".join(function.name for function in self.functions)
        return (
            ".version 7.0\n.target sm_70\n.address_size 64\n"
            + "".join(f"{function.prototype()};\n" for function in self.functions)
            + "".join(function.write() for function in self.functions)
            + f".global .align 8 .u64 functions[{len(self.functions)}] = {{{names}}};\n"
            + ".visible .entry kernel(.param .u64 in, .param .u64 out, .param .u64 totals)\n"
            + to.text(DECLARED + f"\t.shared .b32 turns[{16 * max(self.turns, 1)}];\n")
        )

    def wanted(self, values):
        """(variables of all threads, totals) that the kernel must compute from these input values."""
        with np.errstate(over="ignore"):
            machine = Machine(self.blocks, self.threads, values)
            machine.live = run_all(self.body, machine, machine.live)
            machine.finish()
        return machine.out, machine.totals


DECLARED = f"""\t.reg .b32 %lane, %all, %slot, %turn;
\t.reg .b64 %out, %totals, %lock, %local;
\t.shared .b32 slots[256];
\t.local .align 4 .b8 array[{SLOTS * 4}];
kind: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _);
"""
START = f"""
ld.param.u64 %a, [in]; ld.param.u64 %out, [out]; ld.param.u64 %totals, [totals];
add.u64 %lock, %totals, {SLOTS * 8}; mov.u64 %local, array;
{" ".join(f"st.local.u32 [%local + {k * 4}], 0;" for k in range(SLOTS))}
mov.u32 %lane, %laneid; mov.u32 %v0, %tid.x; mov.u32 %v2, %ctaid.x; mov.u32 %v3, %laneid;
mov.u32 %t, %ntid.x; mad.lo.u32 %v5, %v2, %t, %v0; mov.u32 %s, %nctaid.x; mul.lo.u32 %all, %s, %t;
mul.wide.u32 %b, %v5, 4; add.u64 %a, %a, %b; add.u64 %out, %out, %b; ld.global.u32 %v1, [%a];
mul.lo.u32 %v4, %v5, 2654435761; xor.b32 %v4, %v4, %v1;
mov.u32 %slot, slots; mad.lo.u32 %slot, %v0, 4, %slot; st.shared.u32 [%slot], 0;
mov.u32 %turn, turns; shr.u32 %t, %v0, 5; mad.lo.u32 %turn, %t, 8, %turn;
"""


class Case(NamedTuple):
    """A kernel, its launch and input values, and the variables and totals that it must compute."""

    seed: int
    ptx: str
    blocks: int
    threads: int
    values: np.ndarray
    wanted: np.ndarray
    totals: np.ndarray


def make_case(seed):
    """The Case of a seed, with random input values."""
    tree = Tree(seed)
    values = (
        np.random.default_rng(seed)
        .integers(0, 2**32, tree.blocks * tree.threads, dtype=np.uint64)
        .astype(U32)
    )
    return Case(seed, tree.ptx(), tree.blocks, tree.threads, values, *tree.wanted(values))


def run(case):
    """What the device computes differently from the tree, as a text; None if nothing."""
    import pycuda.driver as drv

    out, totals = np.full((VARIABLES, case.values.size), UNTOUCHED, U32), np.zeros(2 * SLOTS + 1, U32)
    # When ptxas optimizes, it assumes that lanes return from a recursion together, and drops the barriers
    # that bring them together.
    as_written = [(drv.jit_option.OPTIMIZATION_LEVEL, 0)]
    kernel = drv.module_from_buffer(case.ptx.encode(), as_written).get_function("kernel")
    kernel(
        drv.In(case.values), drv.InOut(out), drv.InOut(totals),
        block=(case.threads, 1, 1), grid=(case.blocks, 1),
    )  # fmt: skip
    for k in range(VARIABLES):
        if (out[k] != case.wanted[k]).any():
            at = np.flatnonzero(out[k] != case.wanted[k])
            return f"variable {k} of threads {at[:8]}: {out[k][at[:8]]}, not {case.wanted[k][at[:8]]}"
    if (totals[:-1] != case.totals).any():
        return f"totals {totals[:-1]}, not {case.totals}"
    return None


def run_cases(cases):
    """{seed: what differs} for the kernels with a wrong result."""
    import pycuda.driver as drv

    wrong = {}
    for case in cases:
        try:
            wrong[case.seed] = run(case)
        except drv.Error as error:
            wrong[case.seed] = str(error)
            break  # the context may be lost
    return {seed: what for seed, what in wrong.items() if what}


def run_many(first, count):
    """run_cases for the seeds from `first` on."""
    return run_cases(map(make_case, range(first, first + count)))


def save(cases, path):
    """Writes the cases to a file, for another process."""
    with open(path, "wb") as file:
        pickle.dump([tuple(case) for case in cases], file)


def saved(path):
    """The cases in a file that save() wrote."""
    with open(path, "rb") as file:
        return [Case(*each) for each in pickle.load(file)]


def main(*words):
    """Does what the command line asks, see the module's docstring."""
    if len(words) == 1 and words[0].isdigit():
        print(Tree(int(words[0])).ptx())
        return
    import pycuda.autoinit  # noqa: F401

    wrong = run_many(*map(int, words)) if len(words) == 2 else run_cases(saved(*words))
    for seed, what in wrong.items():
        print(seed, what)


if __name__ == "__main__":
    main(*sys.argv[1:])
