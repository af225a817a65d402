"""Every public module has its place in the reference, and a program or a picture that shows it at work."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [page.read_text() for page in DOCS.rglob("*.md") if "_build" not in page.parts]

# A command: the tests of driver/test_debug.py run it.
NO_PROGRAM = {"pycuda.debug", "pycuda.compyte", "pycuda.sparse"}


def public_modules():
    for path in (ROOT / "pycuda").rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        names = parts[:-1] if parts[-1] == "__init__" else parts
        if not any(name.startswith("_") for name in names):
            yield ".".join(names)


def test_each_is_in_the_reference():
    pages = "".join(page.read_text() for page in (DOCS / "reference").glob("*.md"))
    assert sorted(public_modules()) == sorted(re.findall(r"\.\. (?:auto|py:)module:: (\S+)", pages))


def test_each_is_at_work_in_a_program():
    """Those of the pages and those of the gallery, which test_docs.py and test_examples.py run."""
    programs = [program for page in PAGES for program in re.findall(r"```python\n(.*?)```", page, re.S)]
    shown = re.findall(r"literalinclude\} (\S+)", "".join(PAGES))
    programs += [(DOCS / "gallery" / path).read_text() for path in shown]
    unseen = set(public_modules()) - NO_PROGRAM
    for program in programs:
        for start, names in re.findall(r"^ *(?:import|from) (pycuda[\w.]*)(?: import (.+))?", program, re.M):
            unseen -= {start, *(f"{start}.{name}" for name in re.findall(r"\w+", names))}
    assert not unseen
