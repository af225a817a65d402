"""What the benchmarks share: medians, the C library for comparison, tables."""

import ctypes
import json
import os
import re
import statistics
import subprocess
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"


def build_raw():
    """raw.c, compiled if it is newer than its library, as a ctypes library whose functions return nanoseconds
    of one call, or a driver's error as a negative number.
    """
    RESULTS.mkdir(exist_ok=True)
    library = RESULTS / "libraw.so"
    if not library.exists() or library.stat().st_mtime < (HERE / "raw.c").stat().st_mtime:
        subprocess.run(
            ["cc", "-O3", "-march=native", "-shared", "-fPIC", "-pthread", HERE / "raw.c", "-o", library],
            check=True,
        )
    raw = ctypes.CDLL(str(library))
    for name in (
        "launch", "compile", "allocate", "allocate_async", "to_device", "to_host", "record", "synchronize",
        "graph_launch", "graph_set", "graph_update",
    ):  # fmt: skip
        getattr(raw, f"raw_{name}").restype = ctypes.c_double
    return raw


def loaded_libraries(name):
    """The libraries of that name in this process, as the dynamic linker mapped them."""
    mapped = {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines()}
    return [ctypes.CDLL(path) for path in mapped if re.search(rf"/{re.escape(name)}[^/]*$", path)]


def loaded_library(name):
    """The only library of that name in this process."""
    found = loaded_libraries(name)
    if len(found) != 1:
        raise RuntimeError(f"{len(found)} libraries {name} are loaded, not one")
    return found[0]


def driver_library():
    """The driver in use. NVIDIA's may be mapped as well as the CPU device: NVRTC opens it where it is."""
    import pycuda.driver as drv

    on_cpu = drv.Device(0).name().startswith("CPU device")
    return next(each for each in loaded_libraries("libcuda.so") if hasattr(each, "cpuDeviceTable") == on_cpu)


def burst(call, synchronize, count=400):
    """Nanoseconds of one of `count` calls. The queue is empty before: `count` is small enough that it never
    gets full, when calls would wait.
    """
    synchronize()
    start = time.perf_counter_ns()
    for _ in range(count):
        call()
    spent = (time.perf_counter_ns() - start) / count
    synchronize()
    return spent


WARM_UP = 3  # rounds that do not count


def rounds(measures, count=40):
    """{name: [nanoseconds in each round]} of {name: measure}, a function that returns nanoseconds. Each is
    called once a round, so that what else the machine does affects all alike.
    """
    times = {name: [] for name in measures}
    for number in range(WARM_UP + count):
        for name, measure in measures.items():
            value = measure()
            if number >= WARM_UP:
                times[name].append(value)
    return times


ROUNDS = 5


def seconds(call, wait, max_seconds=0.05):
    """Seconds of one of many queued calls: the median of ROUNDS, or one round if they would take longer than
    about `max_seconds` in all.
    """
    call()
    wait()
    start = time.perf_counter()
    call()
    wait()
    once = max(time.perf_counter() - start, 1e-6)
    count = max(1, min(100, int(max_seconds / ROUNDS / once)))
    spent = []
    for _ in range(ROUNDS if once * ROUNDS < max_seconds else 1):
        start = time.perf_counter()
        for _ in range(count):
            call()
        wait()
        spent.append((time.perf_counter() - start) / count)
    return statistics.median(spent)


def median_time(call, repeats=7):
    """Median seconds of call()."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def upstream(file):
    """A function that takes the name of a measurement and returns PyCUDA's number; None without
    UPSTREAM_PYTHON, which names an interpreter that has PyCUDA.

    PyCUDA has our package's name, so `file` runs in a process of that interpreter, with the argument "serve":
    it prints a number for each name that it reads.
    """
    python = os.environ.get("UPSTREAM_PYTHON")
    if not python:
        return None
    process = subprocess.Popen(
        [python, "-W", "ignore", file, "serve"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=upstream_environment(),
    )

    def ask(name):
        process.stdin.write(f"{name}\n")
        process.stdin.flush()
        return float(process.stdout.readline())

    return ask


def upstream_environment():
    """The environment of PyCUDA's interpreter: without PYTHONPATH, which may name our package."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def upstream_version():
    """PyCUDA's, as in "2026.1", or None without UPSTREAM_PYTHON."""
    python = os.environ.get("UPSTREAM_PYTHON")
    if not python:
        return None
    command = [python, "-W", "ignore", "-c", "import pycuda; print(pycuda.VERSION_TEXT)"]
    done = subprocess.run(command, capture_output=True, text=True, env=upstream_environment(), check=True)
    return done.stdout.strip()


def driver_release():
    """NVIDIA's number of the driver, as in 580.95.05, or None."""
    try:
        found = re.search(r"\b\d+\.\d+(?:\.\d+)?\b", Path("/proc/driver/nvidia/version").read_text())
        return found[0] if found else None
    except OSError:
        pass
    try:
        command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[0]
    except (OSError, subprocess.SubprocessError, IndexError):
        return None


PEERS = ("numpy", "cupy-cuda13x", "cupy-cuda12x", "torch", "cuda-core", "numba-cuda", "scipy")


def write_machine():
    """Writes results/machine.json: the device, the date, and the versions of what is compared."""
    import datetime
    import importlib.metadata
    import platform

    import pycuda
    import pycuda.driver as drv

    drv.init()
    version = drv.get_driver_version()
    cuda, name = f"CUDA {version // 1000}.{version % 1000 // 10}", drv.Device(0).name()
    release = None if name.startswith("CPU device") else driver_release()
    found = {
        "Measured on": f"{name} on {datetime.date.today()}",
        "driver": f"{release} ({cuda})" if release else cuda,
        "Python": platform.python_version(),
        "pycuda": pycuda.VERSION_TEXT,
    }
    for name in PEERS:
        try:
            found[name.partition("-cuda1")[0]] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    if version := upstream_version():
        found["PyCUDA"] = version
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "machine.json").write_text(json.dumps(found, indent=1))


def processor():
    """The line under a table of the CPU device: cores, processor, date."""
    import datetime

    found = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), flags=re.M)
    name = found[1] if found else "unknown processor"
    return f"On {len(os.sched_getaffinity(0))} cores of {name}, {datetime.date.today()}."


def show(title, header, rows):
    """Prints a table."""
    text = [[str(cell) for cell in row] for row in [header, *rows]]
    widths = [max(len(row[i]) for row in text) for i in range(len(header))]
    print(f"\n{title}")
    for number, row in enumerate(text):
        print("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
        if number == 0:
            print("  " + "  ".join("-" * width for width in widths))


def table(title, header, rows, on=None):
    """Prints a table and writes it to results/ as JSON. `on` is a line about the processor of tables that are
    not measured on the device of machine.json.
    """
    show(title, header, rows)
    RESULTS.mkdir(exist_ok=True)
    name = re.sub(r"\W+", "-", title.lower()).strip("-")
    (RESULTS / f"{name}.json").write_text(
        json.dumps({"title": title, "on": on, "header": header, "rows": rows}, indent=1)
    )
