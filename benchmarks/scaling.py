"""How pycuda scales on several GPUs of one machine: one run measures copies, collectives, messages, a solver,
a product, Dask and a soak test, each with the same without Python or by another library.

    python benchmarks/scaling.py                        all parts on all GPUs, in about nine minutes
    python benchmarks/scaling.py --parts peers heat     some
    python benchmarks/scaling.py --small                everything on the CPU device, to see that it works

Prints tables, writes results/scaling/scaling.json, and draws that where matplotlib is installed. Each part is
a process of its own: one that cannot run, fails or takes too long says so, and the others run.
"""

import argparse
import contextlib
import datetime
import importlib
import json
import os
import platform
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path

from common import driver_release
from scaling_parts import launching, page, pictures
from scaling_parts.setup import FOLDER, CannotRun, Setup

# {part: its share of the time}. A part finds the results of those before it.
PARTS = {
    "peers": 12,
    "collectives": 22,
    "messages": 8,
    "heat": 22,
    "products": 8,
    "copies": 5,
    "programs": 9,
    "clusters": 24,
}
GRACE = 45  # seconds that a part may take longer than its share before it is ended
VERSIONS = ("numpy", "mpi4py", "mpich", "nccl4py", "nvidia-nccl-cu13", "dask", "distributed", "cupy-cuda13x")


def machine(small):
    """What is measured on: {name: text}, and the number of devices."""
    import importlib.metadata

    import pycuda
    import pycuda.driver as drv
    from pycuda import _driver

    drv.init()
    names = [drv.Device(n).name() for n in range(drv.Device.count())]
    version = drv.get_driver_version()
    found = {
        "Measured on": f"{len(names)} x {names[0]} on {datetime.date.today()}",
        "CPU device": _driver._is_cpu_device(),
        "small": small,
        "memory of a device": drv.Device(0).total_memory(),
        "driver": f"{driver_release() or '-'} (CUDA {version // 1000}.{version % 1000 // 10})",
        "Python": platform.python_version(),
        "pycuda": pycuda.VERSION_TEXT,
        "cores": len(os.sched_getaffinity(0)),
    }
    for name in VERSIONS:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    try:
        done = subprocess.run(["nvidia-smi", "topo", "-m"], capture_output=True, text=True, timeout=20)
        found["topology"] = done.stdout
    except (OSError, subprocess.SubprocessError):
        pass
    return found, len(names)


def run_part(task):
    """What the process of a part does. task: of measure()."""
    options = json.loads(Path(task).read_text())
    setup = Setup(**options)
    setup.write()
    part = importlib.import_module(f"scaling_parts.{setup.name}")
    try:
        part.run(setup)
        setup.write()
    except CannotRun as reason:
        setup.note(f"not run: {reason}")
    except BaseException as error:
        traceback.print_exc()
        setup.note(f"FAILED: {type(error).__name__}: {str(error)[-1500:]}")
        raise SystemExit(1) from None


def measure(name, options, devices, seconds, earlier):
    """Runs a part in a process of its own: {"tables", "data", "notes", "seconds"}."""
    out, task = (options.out.parent / f"{name}.{kind}.json" for kind in ("part", "task"))
    out.unlink(missing_ok=True)
    setup = {
        "name": name, "devices": devices, "small": options.small, "seconds": seconds, "earlier": earlier,
        "out": str(out),
    }  # fmt: skip
    task.write_text(json.dumps(setup))
    print(f"\n==== {name}, {seconds:.0f} s", flush=True)
    start = time.monotonic()
    # A session of its own, so that what the part has started can be ended with it.
    process = subprocess.Popen(
        [sys.executable, "-u", "-X", "faulthandler", "-W", "ignore", __file__, "--part", str(task)],
        start_new_session=True,
    )
    over = ""
    try:
        process.wait(seconds + GRACE)
    except subprocess.TimeoutExpired:
        over = f"FAILED: ended after {seconds + GRACE:.0f} s"
        print(f"  {name}: {over}", flush=True)
    finally:
        end(process)
    found = json.loads(out.read_text()) if out.exists() else {"tables": [], "data": {}, "notes": []}
    if over:
        found["notes"].append(over)
    elif process.returncode and not any("FAILED" in each for each in found["notes"]):
        found["notes"].append(f"FAILED: the process ended with {process.returncode}")
    out.unlink(missing_ok=True)
    task.unlink(missing_ok=True)
    return {**found, "seconds": round(time.monotonic() - start, 1)}


def end(process):
    """Ends the process and all that it started and left."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=[*PARTS], metavar="PART")
    parser.add_argument("--seconds", type=float, default=540, help="for all parts together")
    parser.add_argument("--small", action="store_true", help="on the CPU device with eight virtual devices")
    parser.add_argument("--devices", type=int, help="how many, if not all")
    parser.add_argument("--out", type=Path, default=FOLDER / "scaling.json")
    parser.add_argument("--page", type=Path, help="write docs/scaling.md from this JSON, and draw it")
    parser.add_argument("--part", help=argparse.SUPPRESS)
    parser.add_argument("--rank", help=argparse.SUPPRESS)
    return parser.parse_args()


def run_all(options):
    """Runs the parts that were chosen, and writes what there is after each. Returns the result."""
    found, devices = machine(options.small)
    devices = min(options.devices or devices, devices)
    print(", ".join(f"{name} {value}" for name, value in found.items() if name != "topology"))
    print(found.get("topology", ""))
    if found["CPU device"]:
        print("On the CPU device this shows that all works: its times say nothing about scaling.")
    result = {"machine": found, "devices": devices, "parts": {}}
    start, chosen = time.monotonic(), [name for name in PARTS if name in options.parts]
    for number, name in enumerate(chosen):
        left = options.seconds - (time.monotonic() - start)
        share = PARTS[name] / sum(PARTS[each] for each in chosen[number:])
        earlier = {each: part["data"] for each, part in result["parts"].items()}
        result["parts"][name] = measure(name, options, devices, max(left * share, 5), earlier)
        options.out.write_text(json.dumps(result, indent=1))
    print(f"\n{options.out}, after {time.monotonic() - start:.0f} s")
    return result


def main():
    options = arguments()
    if options.rank:
        launching.mpi_rank(options.rank)
    elif options.part:
        run_part(options.part)
    elif options.page:
        page.write(options.page, pictures.draw)
    else:
        if options.small:
            os.environ.update(PYCUDA_DEVICE="cpu", PYCUDA_CPU_DEVICES="8", OPENBLAS_NUM_THREADS="1")
        options.out.parent.mkdir(parents=True, exist_ok=True)
        result = run_all(options)
        drawn = pictures.draw(result, options.out.parent)
        print(f"{drawn} pictures in {options.out.parent}")
        notes = [(name, note) for name, part in result["parts"].items() for note in part["notes"]]
        for name, note in notes:
            print(f"  {name}: {note}")
        sys.exit(any(note.startswith("FAILED") for _, note in notes))


if __name__ == "__main__":
    main()
