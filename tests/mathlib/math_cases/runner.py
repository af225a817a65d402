"""Runs functions on the device of the current context."""

from functools import cache

import numpy as np

import pycuda.driver as drv

from . import inputs, modules, table

BLOCK = 128
UNWRITTEN = 0xCD  # the value of results before the kernel runs
RESULTS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


@cache
def uploaded(type_code, position, lanes, is_unary):
    """The values of an argument (see inputs.values) in device memory, until release()."""
    return drv.to_device(np.ascontiguousarray(inputs.values(type_code, position, lanes, is_unary)))


def load(group):
    """A group's module, loaded into the current context."""
    return drv.module_from_buffer(modules.load(group).encode())


def run(function, module):
    """The results of all lanes, as unsigned integers of the bits."""
    lanes, is_unary = inputs.lanes_of(function), len(function.arguments) == 1
    sources = [
        uploaded(type_code, position, lanes, is_unary)
        for position, (_, type_code) in enumerate(function.arguments)
    ]
    results = np.full(lanes, UNWRITTEN, RESULTS[table.TYPES[function.result][1]])
    kernel = module.get_function(function.entry)
    kernel(*sources, drv.Out(results), block=(BLOCK, 1, 1), grid=(lanes // BLOCK, 1))
    return results


def release():
    """Frees the arguments that uploaded() keeps on the device."""
    uploaded.cache_clear()
