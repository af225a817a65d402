"""benchmarks/scaling.py: all its parts on the CPU device, whose results they check, and the page that it
writes. No time is looked at.
"""

import fcntl
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = ROOT / "benchmarks"
NCCL = "not run: nccl is not installed", "not run: NCCL needs NVIDIA's driver; the CPU device cannot run it"


@pytest.fixture(scope="module")
def parts():
    """The package benchmarks/scaling_parts, with `large_product`, `model` and `page`."""
    before = set(sys.modules)
    sys.path.insert(0, str(BENCHMARKS))
    try:
        import scaling_parts.large_product
        import scaling_parts.model
        import scaling_parts.page
    finally:
        sys.path.remove(str(BENCHMARKS))
    yield scaling_parts
    for name in {"common", *(name for name in sys.modules if name.startswith("scaling_parts"))} - before:
        sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    """What a small run writes: one for all workers."""
    folder = tmp_path_factory.mktemp("scaling")
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = tmp_path_factory.getbasetemp().parent
    out = folder / "scaling.json"
    made = folder / "unfinished.json"
    command = [sys.executable, str(BENCHMARKS / "scaling.py"), "--small", "--seconds", "480", "--out", made]
    with open(folder / "scaling.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not out.exists():
            done = subprocess.run(command, capture_output=True, text=True, timeout=560)
            assert done.returncode == 0, done.stdout + done.stderr
            made.rename(out)
    return json.loads(out.read_text())


def rows(result, part, number=0):
    """The rows of a part's table, as dictionaries."""
    table = result["parts"][part]["tables"][number]
    assert all(len(row) == len(table["header"]) for row in table["rows"])
    return [dict(zip(table["header"], row, strict=True)) for row in table["rows"]]


def installed(*names):
    return all(importlib.util.find_spec(name) for name in names)


pytestmark = pytest.mark.timeout(600)


def test_every_part_runs_or_says_why_not(result):
    notes = {name: part["notes"] for name, part in result["parts"].items()}
    known = {
        "peers": [], "copies": [], "programs": [],
        "heat": ["without NCCL: the CPU device cannot run it"],
        "clusters": ["without CuPy: it needs a GPU"],
    }  # fmt: skip
    for name in "collectives", "products":
        assert len(notes.pop(name)) == 1 and result["parts"][name]["notes"][0] in NCCL
    if not installed("dask", "distributed"):
        del known["clusters"], known["copies"]
        assert notes.pop("clusters")[0].endswith("is not installed") and notes.pop("copies")
    has_mpi = result["parts"]["messages"]["tables"]
    if not has_mpi:
        assert notes["messages"][0].startswith("not run: ") and "mpi" in notes["messages"][0]
        known["heat"] = [*known["heat"], notes["messages"][0].replace("not run", "without MPI")]
    del notes["messages"]
    assert notes == known


def test_copies_between_devices(result):
    for number in (0, 1):
        assert [row["size"] for row in rows(result, "peers", number)] == ["1 KiB", "64 KiB"]
    assert all(row["pairs"] == 56 for row in rows(result, "peers", 1))
    assert len(result["parts"]["peers"]["data"]["64 KiB"]) == 56


def test_the_solver(result):
    ways = [("one device", 1), ("threads, copies", 2), ("threads, copies", 8)]
    if result["parts"]["messages"]["tables"]:
        ways.append(("processes, MPI", 2))
    for number, side in enumerate(["96", "768"]):
        found = rows(result, "heat", number)
        assert [(row["how"], row["GPUs"]) for row in found] == ways
        assert found[2]["plate"] == f"{side} x 96"


def test_messages(result):
    if not result["parts"]["messages"]["tables"]:
        pytest.skip("no MPI library")
    found = [(row["operation"], row["size"]) for row in rows(result, "messages")]
    names = "send/recv", "all-reduce", "all-gather"
    assert found == [(name, size) for name in names for size in ("1 KiB", "64 KiB")]


def test_random_programs_leak_nothing(result):
    data = result["parts"]["programs"]["data"]
    assert data["done"] == 60 and sum(data["steps"].values()) == 60 * 24
    assert set(data["steps"]) == {
        "make", "compute", "write", "move", "add_moved", "add_peer", "split", "total", "drop",
    }  # fmt: skip
    assert data["leaked"] == [0] * 8
    # The CPU device accounts for every byte; on a GPU the driver's own memory may vary.
    assert data["missing"] == [0] * 8


def test_clusters_and_copies(result):
    if not installed("dask", "distributed"):
        pytest.skip("dask and distributed are not installed")
    assert [row["what"] for row in rows(result, "clusters")] == ["reduction", "product", "transfer"]
    (large,) = rows(result, "clusters", 1)
    assert large["workers"] == 2 and large["memory of a GPU"] == "8 MiB" and large["panels of B"] == "8 of 8"
    assert float(large["bytes of A, B, C"].removesuffix(" MiB")) > 8
    assert len(rows(result, "copies")) == 2 * 5
    assert [row["size"] for row in rows(result, "copies", 1)] == ["1 KiB", "1 MiB"]


# A rank's function is imported by the processes, so it stands in a file.
RANKS = """
import os
import sys
import time

sys.path.insert(0, {benchmarks!r})
from scaling_parts import launching


def ok(rank, count, barrier, number):
    barrier.wait()
    return rank * number


def raises(rank, count, barrier):
    assert rank == 0, "rank one is wrong"
    barrier.wait()


def dies(rank, count, barrier):
    if rank:
        os._exit(3)
    barrier.wait()


def sleeps(rank, count, barrier):
    time.sleep(60)


if __name__ == "__main__":
    print(launching.spawn(ok, 3, 7, seconds=60))
    for function, seconds in (raises, 60), (dies, 60), (sleeps, 0.5):
        try:
            launching.spawn(function, 2, seconds=seconds)
        except RuntimeError as error:
            print(str(error).splitlines()[0], "|", str(error).splitlines()[-1])
    import multiprocessing

    print("left:", sum(each.is_alive() for each in multiprocessing.active_children()))
"""


def test_ranks_that_fail_end_the_others(tmp_path):
    program = tmp_path / "ranks.py"
    program.write_text(RANKS.format(benchmarks=str(BENCHMARKS)))
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    result, raised, died, slept, left = done.stdout.splitlines()
    assert result == "[0, 7, 14]" and left == "left: 0"
    assert raised.startswith("rank 1: Traceback") and raised.endswith("AssertionError: rank one is wrong")
    assert died.startswith("rank 1 ended without a result")
    assert slept.startswith("2 processes did not end in ")


def test_a_run_on_the_cpu_device_is_not_shown(tmp_path):
    path = tmp_path / "small.json"
    path.write_text(json.dumps({"machine": {"CPU device": True}, "parts": {}}))
    command = [sys.executable, str(BENCHMARKS / "scaling.py"), "--page", str(path)]
    page = (ROOT / "docs" / "scaling.md").read_text()
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ)
    assert done.returncode == 1 and "measured on the CPU device" in done.stderr
    assert (ROOT / "docs" / "scaling.md").read_text() == page


def test_the_page_shows_the_recorded_run(parts):
    page, shown = parts.page, (ROOT / "docs" / "scaling.md").read_text()
    assert page.written(shown, json.loads(page.RECORDED.read_text()), page.pictures()) == shown


def test_the_models_limits(parts):
    model, link = parts.model, [5000, 10]
    assert model.halo(link, 1, 100) == 0
    assert model.halo(link, 2, 100) == 5080 and model.halo(link, 3, 100) == model.halo(link, 64, 100) == 5160
    # Strong scaling is perfect until the exchange takes as long, weak scaling until it takes longer than one.
    assert model.efficiency(1e6, model.heat(1e6, link, 8, 100), 8) == 1
    assert model.heat(1e4, link, 8, 100) == 5160 and model.heat(1e4, link, 8, 100, weak=True) == 1e4
    assert model.heat(1e4, link, 8, 100, host=7e3) == 7e3 and model.heat(1e6, link, 8, 100, host=7e3) == 125e3
    assert model.host(100, 2, 8, False) == 100 and model.host(100, 2, 8, True) == 400
    assert model.product(1e6, link, 1, 1000) == 1e6
    assert model.product(1e6, link, 4, 1000) == 2.5e5 + 5000 + 3e6 / 10


@pytest.mark.parametrize("memory, panel", [(8 << 20, 1 << 19), (150109880320, 1 << 30)])
@pytest.mark.parametrize("count", [2, 3, 8])
def test_the_large_products_blocks(parts, memory, panel, count):
    """They are larger than one device together, and fit on all."""
    width, panels = parts.large_product.sides(memory, count, panel)
    side = width * panels
    assert panels % count == 0 and memory < 12 * side**2 < 1.31 * memory
    assert side * max(width, parts.large_product.BLOCK * width) < 2**31
    a_round = 2 * count * 4 * side * width  # and the next one's panels
    assert 12 * side**2 / count + a_round < (0.95 if panel == 1 << 30 else 1.2) * memory


WAYS = ("one device", 1), ("threads, copies", 2)


def test_the_page_marks_what_is_computed(parts):
    """From a run that is made up: two GPUs, a step of 80 us on one."""
    times = {"step": [1e3, 8e4], "kernels": [1e3, 8e4]}
    tasks = [[100, False, 40, 5], [64, True, 40, 5]]
    host = {"step": [1e4, 1.5e4]}
    made_up = {
        "machine": {"Measured on": "2 x a GPU", "CPU device": False},
        "parts": {
            "heat": {
                "tables": [{"title": "Heat", "header": ["how", "us"], "rows": [["one", "80"]]}],
                "notes": ["without MPI: no mpiexec"],
                "data": {"found": [[how, n, tasks, [times, host]] for how, n in WAYS]},
            },
            "peers": {"tables": [], "notes": [], "data": {"links": {"copy": [5000, 10]}}},
        },
    }
    text = parts.page.written((ROOT / "docs" / "scaling.md").read_text(), made_up)
    assert "Measured on 2 x a GPU.\n" in text and "| one | 80 |" in text
    assert "- heat: without MPI: no mpiexec" in text
    (line,) = (line for line in text.splitlines() if line.startswith("| heat, 100 x 100, threads"))
    assert line.endswith("| strong | 80 us | 30 us, 0.67 | 60 us, 0.17 | 480 us, 0.00 |")
    header = text.splitlines()[text.splitlines().index(line) - 2]
    assert header.startswith("| computed, not measured |")
