"""Records what a GPU gives for every PTX form of tests/ptx: run on a GPU, then commit tests/ptx/expected.

    PYCUDA_DEVICE=gpu python tools/record_ptx.py [--all FOLDER] [--judge] [family ...]

--all FOLDER also writes the results of every form there (every eighth lane of the longest): for finding out
which lane of a form is wrong. --judge records nothing and prints what disagrees with the record on this
device.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "ptx"))

from ptx_cases import expected, judge, runner, table

import pycuda.driver as drv


def record(family, forms, arguments):
    entries, complete, refused = {}, {}, []
    for form, function in loaded(forms):
        if isinstance(function, runner.Refused):
            refused.append(f"{form.name}: {str(function).splitlines()[0]}")
            continue
        outputs = runner.run(form, function)
        entries[form.name] = expected.entry(form, outputs)
        if arguments.all:
            complete[form.name] = expected.rows_of(form, outputs)[:: max(form.lanes // 8192, 1)]
        if form.bound:
            print(f"  {form.name}: largest error {judge.beyond_bound(form, outputs[0])[1]:.3} of the bound")
    if arguments.all:
        np.savez_compressed(Path(arguments.all) / (family + ".npz"), **complete)
    expected.save(family, entries, drv.Context.get_device().name())
    print(f"{family}: {len(entries)} recorded, {len(refused)} refused", *refused, sep="\n  ")


def compare(family, forms):
    known = expected.load(family)
    for form, function in loaded(forms):
        if isinstance(function, runner.Refused):
            print(f"{form.name}: REFUSED {function}")
        elif form.name in known and (
            text := judge.complaint(form, runner.run(form, function), known[form.name])
        ):
            print(text)


def loaded(forms):
    for sm in sorted({form.sm for form in forms}):
        some = [form for form in forms if form.sm == sm]
        yield from zip(some, runner.load(some), strict=False)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--all", metavar="FOLDER", help="write all results there")
    parser.add_argument("--judge", action="store_true", help="compare with the record instead")
    parser.add_argument("families", nargs="*")
    arguments = parser.parse_args()
    drv.init()
    drv.Device(0).retain_primary_context().push()
    print(drv.Device(0).name())
    groups = {}
    for form in table.all_forms():
        groups.setdefault(form.family, []).append(form)
    for family, forms in groups.items():
        if not arguments.families or family in arguments.families:
            compare(family, forms) if arguments.judge else record(family, forms, arguments)
    runner.release()
    drv.Context.pop()


if __name__ == "__main__":
    main()
