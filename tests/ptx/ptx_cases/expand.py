"""Expands rows in the notation of the PTX manual to forms: one mnemonic with operands, and one kernel each.

`{.a|.b}` is an optional word, `(.a|.b)` a required one. Operands are written name:kind; the names d, q, r, s
are results, a, b, c, e are sources; all other text is copied to the instruction. Kinds are those of
inputs.py, or @ (the last type of the mnemonic), @0 @1 (the n-th), w (twice as wide as the first type).
"""

import re
from dataclasses import dataclass, field
from itertools import product

from .inputs import ALL_16_BIT, LANES, WIDTH

TYPES = set(WIDTH) - {"pred", "shift", "lane", "mode", "bit", "fp8x2", "tf32"}
TYPES |= {"tf32", "e4m3x2", "e5m2x2", "pred"}
PART = re.compile(r"\{([^{}]*)\}|\(([^()]*)\)|([^{}()]+)")
OPERAND = re.compile(r"\b([a-z]):(@?\w*)")


@dataclass(frozen=True)
class Form:
    """One instruction form and the statements around it in its kernel."""

    name: str  # unique; the mnemonic, then what distinguishes it from others
    family: str  # rows of one section of the manual
    text: str  # the instruction with operands
    operands: tuple = ()  # (name, kind) of each
    sm: int = 75  # the compute capability it needs
    before: str = ""  # statements ahead of it
    after: str = ""  # statements after it
    cell: str = ""  # the memory that the register `cell` points to: a name of kernels.CELLS
    lanes: int = LANES  # how many lanes run it, each with its own operands
    cancel: bool = False  # in half of the lanes c is about minus the product of a and b
    opcode: str = field(default="", compare=False)

    @property
    def sources(self):
        return [(name, kind) for name, kind in self.operands if name in "abce"]

    @property
    def results(self):
        return [(name, kind) for name, kind in self.operands if name in "dqrs"]


def spellings(mnemonic):
    """Every mnemonic of a row."""
    choices = []
    for optional, required, plain in PART.findall(mnemonic):
        if plain:
            choices.append([plain])
        else:
            choices.append([""] * bool(optional) + (optional or required).split("|"))
    return ["".join(words) for words in product(*choices)]


def types_of(mnemonic):
    """Its words that are types, in their order."""
    return [word for word in mnemonic.split(".") if word in TYPES]


def wide(kind):
    return kind[0] + str(2 * int(kind[1:]))


def kind_of(word, types):
    """The kind of inputs.py for the text after the colon of an operand; types: those of the mnemonic."""
    if word == "w":
        return wide(types[0])
    kind = word
    if word.startswith("@"):
        kind = types[int(word[1:] or -1)]
    return "fp8x2" if kind in ("e4m3x2", "e5m2x2") else kind


def one_form(family, mnemonic, operands, note, options):
    """A Form: `operands`, and `before` and `after` of the options, in the notation above; `note`
    distinguishes it from other forms of the mnemonic."""
    types = types_of(mnemonic)
    found = {}

    def name_only(match):
        found[match[1]] = kind_of(match[2], types)
        return match[1]

    text = OPERAND.sub(name_only, operands)
    options = {
        key: OPERAND.sub(name_only, value) if key in ("before", "after") else value
        for key, value in options.items()
    }
    sources = [kind for name, kind in found.items() if name in "abce"]
    if len(sources) == 1 and WIDTH[sources[0]] == 16 and "lanes" not in options:
        options["lanes"] = ALL_16_BIT
    return Form(
        name=mnemonic + (" " + note if note else ""),
        family=family,
        text=f"{mnemonic} {text};",
        operands=tuple(found.items()),
        opcode=mnemonic.split(" ")[-1].split(".")[0],
        **options,
    )


class Table:
    """Collects forms. A form that an earlier row had is not added again, so that rows may overlap."""

    def __init__(self):
        self.forms = {}

    def rows(self, family, operands, *mnemonics, note="", **options):
        """Adds a form for each spelling of the mnemonics, all with these operands; options: fields of
        Form."""
        for row in mnemonics:
            for mnemonic in spellings(row):
                form = one_form(family, mnemonic, operands, note, dict(options))
                self.forms.setdefault(form.name, form)
