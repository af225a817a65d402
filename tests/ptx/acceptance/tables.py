"""The front end's tables (device/ptx/*.def) as Python values: the one description of the instruction set."""

import re
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parents[3] / "device" / "ptx"
ROW = re.compile(r"^([A-Z]+)\(((?:\"(?:[^\"]*)\"|[^\")])*)\)", re.M)


def rows(name):
    """(word, arguments) of a table, strings joined and without their quotes."""
    text = re.sub(r"/\*.*?\*/", "", (FOLDER / name).read_text(), flags=re.S)
    for word, arguments in ROW.findall(text):
        joined = re.sub(r'"\s+"', "", arguments)
        yield word, [part.strip().strip('"') for part in re.findall(r'"[^"]*"|[^,]+', joined)]


CLASSES = {name: words.split("|") for _, (name, words) in rows("classes.def")}
TYPES = {name: (int(bits), kind, register) for _, (name, bits, kind, register) in rows("types.def")}
MODIFIERS = [spelling for _, (_, spelling, _) in rows("modifiers.def")]
SPACES = [spelling for _, (_, spelling) in rows("spaces.def")]


class Element(NamedTuple):
    optional: bool
    words: list[str]  # with their dots


class Row(NamedTuple):
    opcode: str
    elements: list[Element]
    operands: list[str]  # as the table spells them


def elements_of(text):
    found = []
    for part in re.findall(r"\{[^}]*\}|\S+", text):
        words = []
        for alternative in part.strip("{}").removeprefix("^").split("|"):
            words += CLASSES[alternative[1:-1]] if alternative.startswith("<") else [alternative]
        found.append(Element(part.startswith("{"), words))
    return found


def instruction_rows():
    opcode, found = None, []
    for word, arguments in rows("instructions.def"):
        if word == "OPCODE":
            opcode = arguments[0]
        else:
            modifiers, operands = (arguments + [""])[:2]
            found.append(Row(opcode, elements_of(modifiers), re.findall(r"\{[^}]*\}\S*|\S+", operands)))
    return found
