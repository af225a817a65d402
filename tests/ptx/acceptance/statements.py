"""Statements: one or more for every row of the tables, and mutants of their words and operands.

They may be valid or invalid PTX; only the judges decide. Statements go into the body of PREAMBLE, which
declares registers of every type and variables in every space.
"""

import random
import re

from . import tables

REGISTER_TYPES = "b8 u8 s8 b16 u16 s16 b32 u32 s32 b64 u64 s64 b128 f16 f16x2 f32 f64 pred".split()
# Type of the registers that hold a value of a type which registers cannot have, by its bits (PTX manual).
CARRIERS = {1: "b32", 2: "b32", 4: "b32", 8: "b16", 16: "b16", 32: "b32", 64: "b64", 128: "b128"}

PREAMBLE = (
    ".version VERSION\n.target TARGET\n.address_size 64\n"
    ".global .texref tx; .global .surfref sf; .global .align 16 .b32 gv[32];"
    " .const .align 16 .b32 cv[32]; .shared .align 16 .b32 sv[32];\n"
    ".func (.reg .b32 fr) fn(.reg .b32 fa) { mov.b32 fr, fa; ret; }\n"
    ".visible .entry k(.param .b64 pv)\n{\n.local .align 16 .b32 lv[32];\n"
    + "\n".join(f".reg .{name} {name}_<8>;" for name in REGISTER_TYPES)
    + "\n"
)


def preamble(version, target):
    """PREAMBLE for a target, without registers of types that the target or the version lacks."""
    text = PREAMBLE.replace("VERSION", version).replace("TARGET", target)
    capability = int(re.search(r"\d+", target)[0])
    if float(version) < 8.3 or capability < 70:
        text = text.replace(".reg .b128 b128_<8>;", "")
    return text if capability >= 53 else text.replace(".reg .f16x2 f16x2_<8>;", "")


ENDING = "\nend: ret;\n}\n"

SIZES = {"x1": 1, "x2": 2, "x4": 4}
COORDINATES = {
    "1d": 1,
    "2d": 2,
    "3d": 3,
    "a1d": 2,
    "a2d": 3,
    "cube": 3,
    "acube": 4,
    "4d": 4,
    "5d": 5,
    "2dms": 4,
    "a2dms": 4,
}


def carrier(name):
    """The type of registers that hold a value of type `name`."""
    if name in REGISTER_TYPES:
        return name
    return CARRIERS.get(tables.TYPES[name][0], "b32")


def wide(name):
    """The type of twice as many bits."""
    return {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}.get(name, "b64")


def braces(kind, count, first=0):
    """A vector of `count` registers of a type, from number `first` on."""
    return "{" + ", ".join(f"{kind}_{(first + i) % 8}" for i in range(count)) + "}"


class Form:
    """The words of one mnemonic, from which the operands of its row follow."""

    def __init__(self, words):
        self.words = [word[1:] for word in words]
        self.types = [w for w in self.words if w in tables.TYPES and not re.fullmatch(r"v\d", w)]
        self.spaces = [w for w in self.words if w in tables.SPACES]
        self.vector = next((int(w[1]) for w in self.words if re.fullmatch(r"v[248]", w)), 1)

    def type(self, text, otherwise="b32"):
        """The type of an operand of the row, which is named, or a number among the mnemonic's types, or "w"
        for the first of those, widened."""
        if text.isdigit():
            return self.types[int(text)] if int(text) < len(self.types) else otherwise
        if text == "w":
            return wide(self.types[0]) if self.types else otherwise
        return otherwise if text in ("any", "") else text

    def address(self, at, space):
        """Operand number `at` as an address: by a register as wide as those of the space."""
        if space and space.startswith("param"):
            return "[pv]"
        return f"[b64_{at}]" if not (space or "").startswith("shared") else f"[b32_{at}]"

    def tuple(self):
        """A texture or surface and the coordinates of its geometry; three are written as a vector of four."""
        count = next((COORDINATES[w] for w in self.words if w in COORDINATES), 1)
        kind = self.types[-1] if self.types and self.types[-1] in ("f32", "s32") else "b32"
        count = {3: 4}.get(count, count)
        return f"[b64_0, {braces(kind, count)}]"

    def warpgroup(self, text):
        """The operand of wgmma.mma_async for one of its row, if that is a matrix or a number: with eight
        columns, no transposition, the signs as they are, and the metadata of the first lanes."""
        if text == "d:any*":
            return {"f32": braces("f32", 4), "f16": braces("b32", 2)}.get(self.types[0], braces("b32", 4))
        if text == "{a:u32}":
            return braces("b32", 4)
        return {"#x": "1", "#y": "1", "#z": "0", "#w": "0", "#s": "0"}.get(text)

    def operand(self, text, at):
        """The operand of a statement for an operand as the row spells it; None if it is left out."""
        if "mma_async" in self.words and (operand := self.warpgroup(text)):
            return operand
        if text.startswith("policy"):
            return "b64_7" if "L2::cache_hint" in self.words else None
        if text.startswith("[t]"):
            return self.tuple()
        if match := re.match(r"\[(\w)\](?::(\w+))?", text):
            which = match[2] or "0"
            if which.isdigit():
                space = self.spaces[int(which)] if int(which) < len(self.spaces) else None
            else:
                space = which
            return self.address(at, space)
        if text.startswith("#"):
            return match[1] if (match := re.match(r"#\w+=(\d+)", text)) else "16" if "<" not in text else "1"
        if text in ("label", "table", "call", "video", "mov", "dmov"):
            kind = carrier(self.types[0]) if self.types else "b32"
            return {"label": "end", "table": "end", "call": "(b32_0), fn, (b32_1)", "video": f"b32_{at}"}.get(
                text, f"{kind}_{at}"
            )
        if match := re.match(r"\{(\w+):?(\w*)\}", text):
            count = next((SIZES[w] for w in self.words if w in SIZES), self.vector)
            return braces(carrier(self.type(match[2])), count)
        match = re.match(r"=?([a-z]+)(?::([a-z0-9]+))?(.*)", text)
        kind, suffix = carrier(self.type(match[2] or "")), match[3]
        if "%" in suffix and self.vector > 1:
            return braces(kind, self.vector, at)
        return f"{kind}_{at}"


def operands_of(row, words, with_optional):
    """The operands of a statement with these words, with or without those that the row marks "?"."""
    form, found = Form(words), []
    for at, text in enumerate(row.operands):
        if text.endswith("?") and not with_optional:
            continue
        operand = form.operand(text.rstrip("?"), at)
        if operand:
            found.append(operand)
    return found


def seed(row, words, with_optional=False):
    """One statement of a row: (opcode, words, operands). `words` has one of each of its elements, or None."""
    words = [word for word in words if word]
    return row.opcode, words, operands_of(row, words, with_optional)


def complemented(statement):
    """The statement with every predicate that it reads negated."""
    opcode, words, operands = statement
    return opcode, words, operands[:1] + [re.sub(r"^pred_", "!pred_", operand) for operand in operands[1:]]


def spelled(statement):
    """The text of a statement."""
    opcode, words, operands = statement
    words = [re.sub(r"^\.m64nN", ".m64n8", word) for word in words]
    return opcode + "".join(words) + (" " + ", ".join(operands) if operands else "") + ";"


def seeds_of(row, rng, count):
    """Statements that together have each word of the row, and `count` random ones."""
    first = [None if element.optional else element.words[0] for element in row.elements]

    def with_word(wanted, word):
        """A statement with this word of one element, no optional ones, and a random word of each other
        element."""
        words = []
        for element in row.elements:
            if element is wanted:
                words.append(word)
            else:
                words.append(None if element.optional else rng.choice(element.words))
        return seed(row, words)

    def any_of_all():
        """A statement with random words; each optional element is in it with a probability of 0.4."""
        words = [
            None if element.optional and rng.random() < 0.6 else rng.choice(element.words)
            for element in row.elements
        ]
        return seed(row, words, with_optional=rng.random() < 0.5)

    found = [seed(row, first), seed(row, first, with_optional=True)]
    found += [complemented(statement) for statement in found]
    for element in row.elements:
        for word in element.words:
            found.append(with_word(element, word))
            if word == ".pred":
                found.append(complemented(found[-1]))
    return found + [any_of_all() for _ in range(count)]


# Operands that replace other ones. It lacks those that ptxas accepts where they mean nothing: names of
# functions, addresses other than those of mov, a sink as the second of a pair.
POOL = [f"{name}_1" for name in REGISTER_TYPES if name != "f16x2"]
POOL += (
    "0 1 -1 7 16 31 32 63 255 256 0x7fffffff 0xffffffff 0x100000000 -32769 65536 0xffffffffffffffff 0U 1.0"
    " -0.5 1e300 0f3F800000 0d3FF0000000000000 _ !pred_1 -b32_1 !b32_1 end tx sf %tid.x %laneid %clock64 %tid"
    " WARP_SZ ~1 !0 1<<4 [b64_1] [b64_1+4] [b64_1+-4] [b64_1-4] [b64_1+4+4] [gv] [gv+8] [sv] [cv] [lv] [pv]"
    " [f32_1] [f64_1] [fn]"
    " gv[1] b32_1.x b32_1.b0 b32_1.h1 f32_0|pred_1 b32_0|pred_1 pred_0|pred_1 b64_0|pred_1"
    " %ctaid %nctaid.y b32_1+1 u16_1+-1 b64_1+4 f32_1+1 f64_1+1 pred_1+1"
).split()
POOL += [
    "[b64_1, 4]",
    "[b64_1, {b32_1}]",
    "1 + 2",
    "- 1",
    "5 ? 1 : 2",
    "(.s64)1",
    "(.u64) 7",
    "(1+2)",
    "1.0 + 2.5",
]
POOL += [
    braces(kind, count)
    for kind in ("b16", "b32", "b64", "f32", "f16", "u8", "f64")
    for count in (1, 2, 3, 4, 8)
]
POOL += [
    "{b32_0, _}",
    "{_, b16_1}",
    "{_, _}",
    "{b16_0, 1}",
    "{}",
    "{b32_0, u32_1}",
    "{b8_1, b8_2, b8_3, b8_4}",
]

# Words that ptxas ignores anywhere.
OVERLOOKED = (
    "b1 b2 u2 s2 b4 u4 s4 b8x16 b6x16_p32 b4x16_p64 pred texref surfref samplerref b256 b1024 rank box_dim"
    " global_dim global_stride element_stride elemtype interleave_layout swizzle_mode swizzle_atomicity"
    " fill_mode global_address finite infinite number notanumber normal subnormal acc::f32"
    " sync_restrict::shared::cta sync_restrict::shared::cluster"
).split()


class Mutator:
    """Changes one thing of a statement: a word of its mnemonic or an operand."""

    def __init__(self, rows, rng):
        self.rng = rng
        self.words = {}
        for row in rows:
            known = self.words.setdefault(row.opcode, [])
            known += [word for element in row.elements for word in element.words if word not in known]
        words = [*tables.MODIFIERS, *tables.SPACES, "v2", "v4", "v8", "v3"]
        self.all_words = ["." + word for word in words if word not in OVERLOOKED]
        self.all_types = ["." + name for name in tables.TYPES if name not in OVERLOOKED]

    def word(self, opcode):
        """One that some row of the opcode has, or any type, or any word."""
        roll = self.rng.random()
        if roll < 0.5 and self.words[opcode]:
            return self.rng.choice(self.words[opcode])
        return self.rng.choice(self.all_types if roll < 0.8 else self.all_words)

    def mutant(self, statement):
        """The statement with a word or an operand deleted, inserted, replaced or swapped with the next, or
        two such changes ("both")."""
        opcode, words, operands = statement[0], list(statement[1]), list(statement[2])
        in_words = bool(words) and (not operands or self.rng.random() < 0.5)
        kind = self.rng.choice(["drop", "insert", "replace", "replace", "replace", "swap", "both"])
        if kind == "both":
            return self.mutant(self.mutant(statement))
        items = words if in_words else operands
        fresh = self.word(opcode) if in_words else self.rng.choice(POOL)
        if in_words and fresh in words and fresh[1:] not in tables.TYPES:
            kind = "drop"  # ptxas ignores a word that is repeated
        if kind == "insert" or not items:
            items.insert(self.rng.randint(0, len(items)), fresh)
        elif kind == "drop":
            items.pop(self.rng.randrange(len(items)))
        elif kind == "swap" and len(items) > 1:
            at = self.rng.randrange(len(items) - 1)
            items[at], items[at + 1] = items[at + 1], items[at]
        else:
            items[self.rng.randrange(len(items))] = fresh
        return opcode, words, operands


def generate(rng, per_row=6, mutants=4, opcodes=None):
    """Statements as text, without duplicates, in the order of the rows: for each row its seeds, `per_row` of
    them random, and `mutants` mutants of each seed."""
    rows = [row for row in tables.instruction_rows() if opcodes is None or row.opcode in opcodes]
    mutator, found = Mutator(rows, rng), {}
    for row in rows:
        for statement in seeds_of(row, rng, per_row):
            found[spelled(statement)] = None
            for _ in range(mutants):
                found[spelled(mutator.mutant(statement))] = None
    return list(found)


def shuffled(items, seed):
    items = list(items)
    random.Random(seed).shuffle(items)
    return items
