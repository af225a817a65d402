"""What the device and its compiler are like."""

from __future__ import annotations

import struct

import numpy as np

import pycuda.driver as drv
from pycuda.tools import context_dependent_memoize


def platform_bits() -> int:
    """platform_bits() -> 32 or 64: the size of a pointer of this process."""
    return struct.calcsize("P") * 8


def has_stack() -> bool:
    """has_stack() -> bool: whether kernels may recurse (compute capability 2.0)."""
    return drv.Context.get_device().compute_capability() >= (2, 0)


def has_double_support() -> bool:
    """has_double_support() -> bool: whether kernels may use double (compute capability 1.3)."""
    return drv.Context.get_device().compute_capability() >= (1, 3)


@context_dependent_memoize
def sizeof(type_name: str, preamble: str = "") -> int:
    """sizeof(type_name, preamble="") -> int: bytes of a C type on the device, asked of a kernel; preamble
    declares the type.
    """
    from pycuda.compiler import SourceModule

    module = SourceModule(
        f'{preamble}\nextern "C" __global__ void write_size(size_t *output)'
        f" {{ *output = sizeof({type_name}); }}",
        no_extern_c=True,
    )
    output = np.zeros(1, np.uintp)
    module.get_function("write_size")(drv.Out(output), block=(1, 1, 1), grid=(1, 1))
    return int(output[0])
