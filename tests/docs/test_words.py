"""Pages, messages and docstrings use the words of GLOSSARY.md, not those of retired_words.txt."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROWS = (Path(__file__).with_name("retired_words.txt")).read_text().splitlines()
RETIRED = [re.split(r"\s{2,}", row)[0] for row in ROWS if not row.startswith("#")]
C_STRING = re.compile(r'/\*.*?\*/|//[^\n]*|"((?:[^"\\\n]|\\.)*)"', re.S)


def texts():
    """(file, its words): a page without its code, the strings of a program."""
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        if "_build" not in path.parts and path.name != "CHANGELOG.md":
            yield path, re.sub(r"^```.*?^```", "", path.read_text(), flags=re.S | re.M)
    for path in (path for folder in ("abi", "core", "device", "ext") for path in (ROOT / folder).rglob("*")):
        if path.suffix in {".c", ".h", ".def"}:
            yield path, " ".join(C_STRING.findall(path.read_text()))
    for path in (ROOT / "pycuda").rglob("*.py"):
        nodes = ast.walk(ast.parse(path.read_text()))
        yield path, "\n".join(str(node.value) for node in nodes if isinstance(node, ast.Constant))


def test_no_retired_words():
    pattern = re.compile("|".join(RETIRED))
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path, text in texts()
        for match in pattern.finditer(re.sub(r"\s+", " ", text))
    ]
    assert not found
