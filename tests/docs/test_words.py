"""Pages, messages, docstrings and comments use no retired word."""

import ast
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROWS = (Path(__file__).with_name("retired_words.txt")).read_text().splitlines()
RETIRED = [re.split(r"\s{2,}", row)[0] for row in ROWS if not row.startswith("#")]
TRACKED = subprocess.run(["git", "-C", str(ROOT), "ls-files"], capture_output=True, text=True).stdout.split()


def words_of(path):
    """A page without its code; a program as a whole."""
    text = path.read_text()
    if path.suffix == ".md":
        return re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
    if path.suffix == ".py":  # the strings once more: one that is made of several is whole there
        nodes = ast.walk(ast.parse(text))
        text += "\n".join(str(node.value) for node in nodes if isinstance(node, ast.Constant))
    return re.sub(r"^\s*(#|//|\*) ", "", text, flags=re.M)


def test_no_retired_words():
    pattern = re.compile("|".join(RETIRED))
    suffixes = {".md", ".py", ".pyi", ".c", ".h", ".hpp", ".cu", ".def"}
    paths = [ROOT / name for name in TRACKED if Path(name).suffix in suffixes and name != "CHANGELOG.md"]
    assert len(paths) > 800
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in paths
        if path.exists() and not path.name.endswith("_gpu.def")
        for match in pattern.finditer(re.sub(r"\s+", " ", words_of(path)))
    ]
    assert not found
