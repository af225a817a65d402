"""The instructions in the asm statements of CUDA's own headers, with registers of this package's preamble for
their operands."""

import re
from collections import Counter
from pathlib import Path

REGISTERS = {"r": "b32", "l": "b64", "f": "f32", "d": "f64", "h": "b16", "q": "b128"}
# Macros that stand for the constraint of a pointer.
POINTERS = re.compile(r"_CG_ASM_PTR\w*|__CUDA_\w*PTR\w*|__LDG_PTR|__ASM_PTR|__SIZE_\w*")
COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
START = re.compile(r"\basm\s*(?:volatile|__volatile__)?\s*\(")
LITERAL = re.compile(r'\s*"((?:[^"\\]|\\.)*)"')
CONSTRAINT = re.compile(r'"[=+&]*([rlfdhqnC])"\s*\(')
# Not in compute capability 9.0, or refused (docs/limits/ptx.md).
LEFT_OUT = re.compile(r"tcgen05|tensor|clusterlaunch|multimem|cvta\.(to\.)?param\.u32")


def statements(folder):
    """{statement: the header it comes from}"""
    found = {}
    for path in sorted(Path(folder).rglob("*")):
        if not path.is_file() or path.suffix not in (".h", ".hpp", ".inl", ".cuh"):
            continue
        text = POINTERS.sub('"l"', COMMENTS.sub(" ", path.read_text(errors="replace")))
        for start in START.finditer(text):
            statement = filled(text, start.end())
            if statement and not LEFT_OUT.search(statement):
                found.setdefault(statement, path.name)
    return found


def filled(text, at):
    """The asm statement that begins at a place, its operands replaced; "" if its text comes from a macro."""
    template = ""
    while match := LITERAL.match(text, at):
        template, at = template + match[1], match.end()
    if not re.match(r"\s*[:)]", text[at : at + 99]):
        return ""
    end, depth = at, 1
    while depth and end < len(text):
        depth += (text[end] == "(") - (text[end] == ")")
        end += 1
    used, registers = Counter(), []
    for kind in CONSTRAINT.findall(text[at:end]):
        name = REGISTERS.get(kind)
        registers.append(f"{name}_{used[kind] % 8}" if name else "16")
        used[kind] += 1
    template = template.encode().decode("unicode_escape", "replace")
    if any(int(n) >= len(registers) for n in re.findall(r"%(\d+)", template)):
        return ""
    statement = re.sub(r"%(\d+)", lambda m: registers[int(m[1])], template).replace("%%", "%")
    statement = " ".join(statement.split())
    return statement if not statement or statement.endswith((";", "}")) else statement + ";"
