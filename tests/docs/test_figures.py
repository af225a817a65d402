"""What `make plots` draws of a table, and what `make figures` says of it; tables are as the benchmarks leave
them in benchmarks/results.
"""

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def plots():
    sys.path.insert(0, str(BENCHMARKS))
    try:
        import plots
    finally:
        sys.path.remove(str(BENCHMARKS))
    yield plots
    for name in "plots", "common":
        sys.modules.pop(name, None)


def test_rows_of_libraries_share_what_they_did(plots):
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


def test_make_bench_and_make_plots_say_what_comes_first(tmp_path):
    """Where nothing was measured, neither writes a page without numbers."""
    for name in "common.py", "plots.py", "page.py":
        (tmp_path / name).write_text((BENCHMARKS / name).read_text())
    done = subprocess.run([sys.executable, "page.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr == "run `make bench` first\n"
