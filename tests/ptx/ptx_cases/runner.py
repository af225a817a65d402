"""Runs forms on the device of this process and returns the arrays of results."""

from functools import cache

import numpy as np

import pycuda.driver as drv

from . import kernels
from .inputs import LANES, WIDTH, product_canceled, values

UNWRITTEN = 0xCD  # the value of results that the kernel does not write


class Refused(Exception):
    """The device does not load this form; has its message."""


@cache
def array(kind, name, lanes, cancel):
    """The operand of that name in every lane; cancel: as in Form."""
    if cancel and name == "c":
        return product_canceled(kind, lanes)
    return values(kind, "abce".index(name), lanes)


@cache
def uploaded(kind, name, lanes, cancel):
    return drv.to_device(np.ascontiguousarray(array(kind, name, lanes, cancel)))


def operand(form, name, kind):
    return array(kind, name, form.lanes, form.cancel)


def capability():
    """The compute capability of the current device: 90 for 9.0."""
    return (
        10 * drv.Context.get_device().compute_capability()[0]
        + drv.Context.get_device().compute_capability()[1]
    )


def load(forms):
    """The function of each form, from one module, or from smaller ones if the device refuses that; Refused
    for a form that it refuses alone."""
    try:
        module = drv.module_from_buffer(kernels.module(forms).encode())
        return [module.get_function(f"f{i}") for i in range(len(forms))]
    except drv.Error as error:
        if len(forms) == 1:
            return [Refused(str(error))]
        half = len(forms) // 2
        return load(forms[:half]) + load(forms[half:])


def run(form, function):
    """The result arrays of a form, in the order of form.results."""
    # A value of 128 bits takes two elements, a predicate a word.
    shapes = [(form.lanes, 2) if kind == "b128" else form.lanes for _, kind in form.results]
    dtypes = [
        {1: np.uint32, 16: np.uint16, 32: np.uint32}.get(WIDTH[kind], np.uint64) for _, kind in form.results
    ]
    outputs = [np.full(shape, UNWRITTEN, dtype) for shape, dtype in zip(shapes, dtypes, strict=False)]
    sources = [uploaded(kind, name, form.lanes, form.cancel) for name, kind in form.sources]
    function(
        *sources, *map(drv.InOut, outputs), block=(kernels.BLOCK, 1, 1), grid=(form.lanes // kernels.BLOCK, 1)
    )
    return outputs


def release():
    uploaded.cache_clear()


def describe(form, lane):
    """The operands of a lane, in hex."""

    def digits(value, kind):
        return "".join(f"{int(word):0{max(WIDTH[kind] // 4, 1)}x}" for word in np.atleast_1d(value)[::-1])

    return " ".join(f"{name}={digits(operand(form, name, kind)[lane], kind)}" for name, kind in form.sources)


__all__ = ["LANES", "Refused", "capability", "describe", "load", "operand", "release", "run"]
