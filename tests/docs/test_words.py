"""Pages, messages, docstrings and comments use no retired word."""

import ast
import re
from pathlib import Path

from checkout import tracked

ROOT = Path(__file__).resolve().parents[2]
ROWS = (Path(__file__).with_name("retired_words.txt")).read_text().splitlines()
RETIRED = [re.split(r"\s{2,}", row)[0] for row in ROWS if not row.startswith("#")]
TRACKED = tracked()


def words_of(path):
    """The text in which words are searched: of a page without its code blocks, of a program as a whole."""
    text = path.read_text()
    if path.suffix == ".md":
        return re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
    if (
        path.suffix == ".py"
    ):  # and the values of its strings, for words that a line break in a literal divides
        nodes = ast.walk(ast.parse(text))
        text += "\n".join(str(node.value) for node in nodes if isinstance(node, ast.Constant))
    return re.sub(r"^\s*(#|//|\*) ", "", text, flags=re.M)


def literal_of(pattern):
    """The longest text that all matches of a pattern contain, "" if none is known. Searching for it first is
    faster.
    """
    optional = r"\((?:[^()]|\([^()]*\))*\)[?*+]?|\[[^]]*\][?*+]?|\\b|.[?*]"
    bare = re.sub(optional, "\0", pattern)
    return "" if "|" in bare else max(bare.split("\0"), key=len)


def found_in(text, patterns):
    """The matches of (literal, pattern) pairs in a text."""
    return [match[0] for literal, pattern in patterns if literal in text for match in pattern.finditer(text)]


def test_literals():
    literals = {pattern: literal_of(pattern) for pattern in RETIRED}
    assert sum(bool(literal) for literal in literals.values()) > 40
    assert literals["arrays? without axes"] == " without axes"
    assert literals["ha(s|ve) not got"] == " not got"


def test_no_retired_words():
    patterns = [(literal_of(each), re.compile(each)) for each in RETIRED]
    suffixes = {".md", ".py", ".pyi", ".pycon", ".c", ".h", ".hpp", ".cu", ".def"}
    paths = [ROOT / name for name in TRACKED if Path(name).suffix in suffixes and name != "CHANGELOG.md"]
    assert len(paths) > 800
    found = [
        f"{path.relative_to(ROOT)}: {word}"
        for path in paths
        if path.exists() and not path.name.endswith("_gpu.def")
        for word in found_in(re.sub(r"\s+", " ", words_of(path)), patterns)
    ]
    assert not found
