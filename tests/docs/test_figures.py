"""`make plots` draws tables, and `make figures` writes a page about them. The tables here have the form of
those in benchmarks/results.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def plots():
    """The module benchmarks/plots.py."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        import plots
    finally:
        sys.path.remove(str(BENCHMARKS))
    yield plots
    for name in "plots", "common":
        sys.modules.pop(name, None)


def test_rows_of_several_libraries_for_one_task_are_one_group(plots):
    table = {
        "header": ["call", "us", "min", "max", "x raw C"],
        "rows": [["raw C, replay", "1.3", "1.2", "2.0", "1"], ["pycuda, replay", "1.5", "1.4", "-", "1.1"]],
    }
    found = "us", [("replay", "raw C, replay", 1.3, 1.2, 2.0), ("replay", "pycuda, replay", 1.5, 1.4, 1.5)]
    assert plots.points(table) == found
    labels = [plots.library(name)[0] for _, name, *_ in found[1]]
    assert labels == ["C, CUDA", "pycuda"]


def test_columns_of_libraries(plots):
    table = {"header": ["ms", "pycuda", "cupy", "x best peer"], "rows": [["sort", "5.5", "-", "1.2"]]}
    assert plots.points(table) == ("ms", [("sort", "pycuda", 5.5, 5.5, 5.5)])


def test_rows_of_other_units_are_left_out(plots):
    table = {
        "header": ["what", "unit", "median", "min", "max", "goal"],
        "rows": [["launch", "us", "0.6", "0.2", "5.9", "< 2"], ["blocks", "x", "1.7", "1.6", "1.8", ""]],
    }
    assert plots.points(table) == ("us", [("launch", "launch", 0.6, 0.2, 5.9)])


@pytest.mark.parametrize(
    "name, label",
    [
        ("PyCUDA 2026.1 f()", "PyCUDA"),
        ("pycuda f()", "pycuda"),
        ("SourceModule, cold", "pycuda"),
        ("PyCUDA 2026.1 SourceModule, cold", "PyCUDA"),
        ("cuda.core launch()", "cuda.core"),
        ("torch.empty() on the device, 4 KiB", "torch"),
        ("ours, AVX2", "pycuda, AVX2"),
        ("(an empty Python lambda)", "for comparison"),
        ("CUDA", "C, CUDA"),
        ("cache filled", "cache filled"),
    ],
)
def test_a_library_is_known_by_its_name(plots, name, label):
    assert plots.library(name)[0] == label


def results(folder):
    """Writes results as `make bench` does, a machine, tables and curves, into a new folder, which is
    returned.
    """
    tables = {
        "sparse": {
            "title": "Sparse matrix",
            "header": ["ms", "pycuda", "torch"],
            "rows": [["grid", "2", "3"]],
        },
        "launch": {
            "title": "Host time of one launch",
            "on": "On 2 cores.",
            "header": ["call", "us", "min", "max"],
            "rows": [["pycuda f()", "3.8", "3.4", "5.0"]],
        },
        "import": {"title": "Import", "header": ["module", "ms"], "rows": [["numpy", "-"]]},
        "machine": {"Measured on": "a GPU on 2026-01-02", "driver": "CUDA 13.0"},
        "bandwidth": {"title": "Bandwidth", "header": ["GB/s", "pycuda"], "rows": [["add", "25"]]},
        "bandwidth.data": {
            "copy": {"1024": 60.5, "4096": 61.5},
            "work": {"add": {"pycuda": {"1024": 25.5, "4096": 26.5}, "CUDA": {"1024": 27.5}}},
        },
    }
    folder.mkdir()
    for name, content in tables.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    return folder


@pytest.fixture
def clone(tmp_path):
    """A folder with the programs that draw and write, and an empty folder docs."""
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "docs").mkdir()
    for name in "common.py", "plots.py", "page.py":
        shutil.copy(BENCHMARKS / name, tmp_path / "benchmarks")
    return tmp_path


def test_a_folder_of_json_makes_the_page_and_its_pictures(clone):
    pytest.importorskip("matplotlib")
    pictures = clone / "docs" / "pictures" / "figures"
    pictures.mkdir(parents=True)
    (pictures / "bandwidth.png").touch()
    measured = results(clone / "measured")
    measured.chmod(0o555)
    command = [sys.executable, "benchmarks/page.py", measured]
    done = subprocess.run(command, cwd=clone, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    recorded = clone / "benchmarks" / "recorded"
    assert {path.name for path in recorded.iterdir()} == {path.name for path in measured.iterdir()}
    text = (clone / "docs" / "figures.md").read_text()
    assert "\nMeasured on a GPU on 2026-01-02, driver CUDA 13.0.\n" in text
    titles = [line for line in text.splitlines() if line.startswith("## ")]
    of_tables = ["## Host time of one launch", "## Import", "## Sparse matrix"]
    assert titles == ["## Bandwidth against size", *of_tables]
    assert "At 2^12 elements" in text and "| add | 26.5 | - |\n| the driver's copy | 61.5 | - |" in text
    assert "| pycuda f() | 3.8 | 3.4 | 5.0 |" in text and "On 2 cores." in text
    # A table without numbers is not drawn, and earlier pictures are removed.
    drawn = {"bandwidth-add.svg", "launch.svg", "sparse.svg"}
    assert {path.name for path in pictures.iterdir()} == drawn
    assert all(text.count(f"(pictures/figures/{name})") == 1 for name in drawn)


def test_make_bench_comes_first(clone):
    """Without measurements no page is written."""
    command = [sys.executable, "benchmarks/page.py"]
    done = subprocess.run(command, cwd=clone, capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr == "run `make bench` first\n"
    assert not (clone / "docs" / "figures.md").exists()


def test_the_page_has_the_programs_text():
    """docs/figures.md has the introduction that page.py writes. Its numbers are of another machine."""
    shown = (BENCHMARKS.parent / "docs" / "figures.md").read_text()
    head = (BENCHMARKS / "page.py").read_text().partition('HEAD = """')[2].partition('"""')[0]
    assert head.partition("{machine}")[2] in shown


def test_every_figure_of_the_page_is_of_the_recorded_run():
    code = "import page; print(page.page(page.RECORDED), end='')"
    done = subprocess.run([sys.executable, "-c", code], cwd=BENCHMARKS, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == (BENCHMARKS.parent / "docs" / "figures.md").read_text()
