"""Runs checked programs, each in a context of its own, and prints JSON: {name: message of its error}, where
the message is empty if the checks found nothing. `python runner.py FILE [NAME ...]` with PYCUDA_CPU_CHECK
set.

FILE is one of the modules of this folder whose names end in _programs. It defines SOURCE, PROGRAMS and, if
call() below does not run its programs, a function of that name with the same parameters.
"""

import importlib
import json
import sys

import numpy as np

import pycuda.driver as drv
from pycuda.compiler import compile as compile_source


def call(name, program, module):
    """Launches the kernel of this name, which takes (int *data), twice: the second launch must not be
    reported as a race with the first. program: its row of PROGRAMS.
    """
    threads, shared, _ = program
    data = drv.mem_alloc(4 * 1024)
    drv.memcpy_htod(data, np.arange(1024, dtype=np.int32))
    for _ in range(2):
        module.get_function(name)(data, block=(threads, 1, 1), shared=shared)
    drv.Context.synchronize()
    data.free()


def verdict(name, program, image, run):
    """The message of the error that run(name, program, module) raises, in a context of its own; "" without
    one.
    """
    context = drv.Device(0).make_context()
    try:
        run(name, program, drv.module_from_buffer(image))
    except drv.Error as error:
        return str(error)
    finally:
        context.pop()
        context.detach()
    return ""


def main(file):
    """Run the programs of a file, all or those of the command line, and print their verdicts."""
    drv.init()
    programs = importlib.import_module(file)
    major, minor = drv.Device(0).compute_capability()
    image = compile_source(
        programs.SOURCE, no_extern_c=True, arch=f"compute_{major}{minor}", options=["-lineinfo"]
    )
    run = getattr(programs, "call", call)
    chosen = sys.argv[2:] or programs.PROGRAMS
    print(json.dumps({name: verdict(name, programs.PROGRAMS[name], image, run) for name in chosen}))


if __name__ == "__main__":
    main(sys.argv[1])
