"""Records a GPU's results for the PTX forms of tests/ptx and the functions of tests/mathlib.

On a GPU:
    python tools/record_ptx.py record --out FOLDER [--all] [family or group ...]
        records the forms that have no record yet, or one of other text or inputs, or that are named, and
        all functions. FOLDER gets record.zip, and the results of each lane, in which a wrong lane can be
        found: forms.npz, functions.npz, halves.npz. --all records every form again.
Then here:
    python tools/record_ptx.py merge FOLDER
        puts record.zip into tests/ptx/expected and tests/mathlib/expected.
On any device:
    python tools/record_ptx.py judge [family or group ...]
        prints what disagrees with the record.
    python tools/record_ptx.py wgmma
        replaces the record of wgmma, tests/ptx/expected/wgmma.npz, by what this device gives.
    python tools/record_ptx.py compile
        makes the functions' PTX, tests/mathlib/ptx, by NVRTC from its headers.
"""

import argparse
import os
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "ptx"))
sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "mathlib"))

from math_cases import judge as math_judge
from math_cases import modules
from math_cases import record as math_record
from math_cases import runner as math_runner
from math_cases import table as math_table
from ptx_cases import expected, judge, runner, table, warpgroup

import pycuda.driver as drv


def loaded(forms):
    """Yields (form, its loaded function or a Refused), by the architecture that the forms need."""
    for sm in sorted({form.sm for form in forms}):
        some = [form for form in forms if form.sm == sm]
        yield from zip(some, runner.load(some), strict=True)


def families():
    """{family: its forms}"""
    groups = {}
    for form in table.all_forms():
        groups.setdefault(form.family, []).append(form)
    return groups


def wanted(form, known, arguments):
    """Whether to record a form: it was named, or `known` has no record of its text and inputs."""
    entry = known.get(form.name)
    named = arguments.all or form.family in arguments.names
    return named or entry is None or entry.source != expected.sources_digest(form)


def record_forms(arguments, folder, complete):
    """Records the wanted forms, a file in `folder` for each family. The dict `complete` gets the results of
    at most 8192 lanes, by form.
    """
    for family, forms in families().items():
        if arguments.names and family not in arguments.names:
            continue
        known = expected.load(family)
        entries, refused = {}, []
        for form, function in loaded([form for form in forms if wanted(form, known, arguments)]):
            if isinstance(function, runner.Refused):
                refused.append(f"{form.name}: {str(function).splitlines()[0]}")
                continue
            outputs = runner.run(form, function)
            entries[form.name] = expected.entry(form, outputs)
            complete[form.name] = expected.rows_of(form, outputs)[:: max(form.lanes // 8192, 1)]
        if entries:
            expected.save(family, entries, drv.Context.get_device().name(), folder / "ptx")
        print(f"{family}: {len(entries)} recorded, {len(refused)} refused", *refused, sep="\n  ", flush=True)


def record_functions(arguments, folder, complete):
    """Records the math library's functions, a file in `folder` for each group. `complete` is two dicts that
    get all results, the second those of 16-bit floats.
    """
    for group, functions in math_table.groups().items():
        if arguments.names and group not in arguments.names:
            continue
        module, entries = math_runner.load(group), {}
        for function in functions:
            results = math_runner.run(function, module)
            entries[function.entry] = math_record.entry(function, group, results)
            complete["half" in group or "float16" in group][f"{group}/{function.entry}"] = results
        math_record.save(group, entries, drv.Context.get_device().name(), folder / "mathlib")
        print(f"{group}: {len(entries)} functions recorded", flush=True)


def record(arguments):
    """The command `record`."""
    out = Path(arguments.out)
    out.mkdir(parents=True, exist_ok=True)
    forms, functions = {}, ({}, {})
    with tempfile.TemporaryDirectory() as name:
        record_forms(arguments, Path(name), forms)
        record_functions(arguments, Path(name), functions)
        with zipfile.ZipFile(out / "record.zip", "w") as archive:
            for file in sorted(Path(name).rglob("*.npz")):
                archive.write(file, file.relative_to(name))
    np.savez_compressed(out / "forms.npz", **forms)
    np.savez_compressed(out / "functions.npz", **functions[0])
    np.savez_compressed(out / "halves.npz", **functions[1])


def merge(arguments):
    """The command `merge`: new entries replace those recorded before; forms that no longer exist
    are dropped.
    """
    names = {form.name for form in table.all_forms()}
    with (
        tempfile.TemporaryDirectory() as name,
        zipfile.ZipFile(Path(arguments.out) / "record.zip") as archive,
    ):
        archive.extractall(name)
        for file in sorted(Path(name).glob("ptx/*.npz")):
            entries = expected.load(file.stem) | expected.load(file.stem, file.parent)
            entries = {form: entry for form, entry in entries.items() if form in names}
            expected.save(file.stem, entries, str(np.load(file)["device"]))
            print(f"{file.stem}: {len(entries)} forms")
        for file in sorted(Path(name).glob("mathlib/*.npz")):
            target = math_record.path(file.stem)
            target.parent.mkdir(exist_ok=True)
            target.write_bytes(file.read_bytes())
            print(f"{file.stem}: {target.stat().st_size} bytes")


def compare(arguments):
    """The command `judge`."""
    for family, forms in families().items():
        if arguments.names and family not in arguments.names:
            continue
        known = expected.load(family)
        for form, function in loaded(forms):
            if isinstance(function, runner.Refused):
                print(f"{form.name}: REFUSED {function}")
            elif form.name not in known:
                print(f"{form.name}: not recorded")
            elif text := judge.complaint(form, runner.run(form, function), known[form.name]):
                print(text)
    for group, functions in math_table.groups().items():
        if arguments.names and group not in arguments.names:
            continue
        module, known = math_runner.load(group), math_record.load(group)
        for function in functions:
            results = math_runner.run(function, module)
            if text := math_judge.complaint(function, group, results, known.get(function.entry)):
                print(text)


def compile_functions(arguments):
    """The command `compile`."""
    from pycuda.compiler import compile

    for group, (capability, _) in math_table.GROUPS.items():
        source = modules.source(group)
        ptx = compile(source, arch=f"compute_{capability}", target="ptx", no_extern_c=True, options=[])
        modules.save(group, ptx.decode())
        print(f"{group}: {len(math_table.groups()[group])} functions, {len(ptx)} bytes of PTX")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    for name, function in (
        ("record", record),
        ("merge", merge),
        ("judge", compare),
        ("compile", compile_functions),
        ("wgmma", lambda _: warpgroup.make_record()),
    ):
        command = commands.add_parser(name)
        command.set_defaults(run=function, out=None, names=[], all=False)
        if name == "record":
            command.add_argument("--out", metavar="FOLDER", required=True)
            command.add_argument("--all", action="store_true", help="record every form again")
        if name == "merge":
            command.add_argument("out", metavar="FOLDER")
        elif name not in ("compile", "wgmma"):
            command.add_argument("names", nargs="*", metavar="NAME", help="a family or a group")
    arguments = parser.parse_args()
    if arguments.run is compare:
        os.environ.setdefault("PYCUDA_CPU_COMPUTE_CAPABILITY", "9.0")
    drv.init()
    drv.Device(0).retain_primary_context().push()
    print(drv.Device(0).name())
    arguments.run(arguments)
    runner.release()
    math_runner.release()
    drv.Context.pop()


if __name__ == "__main__":
    main()
