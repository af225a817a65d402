"""What README.md, CONTRIBUTING.md and a few pages of docs say about files, keywords and output is true."""

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_tests_that_contributing_names_are_there():
    for path, test in re.findall(r"(tests/\S+\.py)(?:::(\w+))?", (ROOT / "CONTRIBUTING.md").read_text()):
        assert (ROOT / path).is_file(), path
        assert not test or f"def {test}(" in (ROOT / path).read_text(), test


def test_tests_that_ci_names_are_there():
    names = re.findall(r"tests/[\w./]+", (ROOT / ".ci" / "run").read_text())
    assert len(names) > 5
    assert [name for name in names if not (ROOT / name).exists()] == []


def test_the_row_that_contributing_shows_is_in_functions_py():
    row = re.search(r"^    (Function\(.*)$", (ROOT / "CONTRIBUTING.md").read_text(), re.M)[1]
    assert f"    {row}\n" in (ROOT / "pycuda" / "_kernels" / "builtin" / "functions.py").read_text()


def test_the_page_on_launching_has_every_keyword_of_a_launch():
    from pycuda.driver import Function

    page = (ROOT / "docs" / "guide" / "launching.md").read_text()
    keywords = [name for name, p in inspect.signature(Function.__call__).parameters.items() if p.kind == 3]
    assert len(keywords) > 5
    assert [word for word in keywords if not re.search(rf"^\| .*`{word}`.* \| ", page, re.M)] == []


def test_make_says_which_package_is_missing(tmp_path):
    """tools/prerequisites.py names Debian's packages for missing headers, venv and compiler: the functions
    that look for them are replaced to find nothing.
    """
    program = f"""
import importlib.util, sys, sysconfig
sys.path.insert(0, {str(ROOT / "tools")!r})
import prerequisites
sysconfig.get_path = lambda name: {str(tmp_path)!r}
importlib.util.find_spec = lambda name: None
sys.exit(prerequisites.main())
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env={"PATH": str(tmp_path)}
    )
    assert done.returncode == 1
    assert "apt-get install python3-venv python3-dev gcc" in done.stderr
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "prerequisites.py"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.cpu("what the page shows is printed for the CPU device")
def test_the_page_on_installing_shows_what_is_printed(elsewhere):
    """The page's output of `python -m pycuda` has the words that it prints; numbers and paths may differ."""
    page = (ROOT / "docs" / "install.md").read_text()
    shown = re.search(r"\$ python -m pycuda\n(.*?)```", page, re.S)[1]
    command = [sys.executable, "-W", "ignore", "-m", "pycuda"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout

    def words(text):
        text = re.sub(r"\((?:[^()]|\([^()]*\))*\)", "", re.sub(r"/\S+", "", text))
        capability = re.search(r"compute capability [\d.]+", text)[0]
        return re.sub(r"[\d.]+( ([KMG]iB|bytes))?", "0", text).split(), capability

    assert words(shown) == words(done.stdout)


def test_the_picture_of_a_graph_is_that_of_its_program(elsewhere):
    program = f"""
import sys
sys.path.insert(0, {str(ROOT / "tools")!r})
import draw_graph
sys.exit(draw_graph.draw(draw_graph.page_graph()) != draw_graph.PICTURE.read_text())
"""
    environment = {**os.environ, "PYCUDA_DEVICE": "cpu"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"python tools/draw_graph.py docs draws it again {done.stderr}"


def test_links_name_pages():
    """Links to headings are errors: Sphinx gives them no anchors in Markdown, and a build would
    stop there.
    """
    pages = [page for page in (ROOT / "docs").rglob("*.md") if "_build" not in page.parts]
    found = [
        f"{page.relative_to(ROOT)}: {link}"
        for page in pages
        for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text())
        if "://" not in link and ("#" in link or not (page.parent / link).exists())
    ]
    assert len(pages) > 30 and found == []


@pytest.mark.parametrize(
    "words, page",
    [
        ("Out of bounds", "troubleshooting.md"),
        ("Race", "troubleshooting.md"),
        ("Slow", "troubleshooting.md"),
        ("Leak", "troubleshooting.md"),
        ("Illegal address", "troubleshooting.md"),
        ("Out of memory", "guide/out_of_memory.md"),
        ("Environment variables", "environment.md"),
    ],
)
def test_a_heading_has_the_words_that_are_searched_for(words, page):
    """The search of the manual ranks a heading that is the query above all text."""
    assert re.search(rf"^##? {words}$", (ROOT / "docs" / page).read_text(), re.M)
