"""Properties of the device and its compiler."""

from __future__ import annotations

import struct

import numpy as np

import pycuda.driver as drv
from pycuda.tools import context_dependent_memoize


def platform_bits() -> int:
    """The size of a pointer of this process.

    Returns
    -------
    int
        32 or 64.
    """
    return struct.calcsize("P") * 8


def has_stack() -> bool:
    """Whether kernels may recurse (compute capability 2.0).

    Returns
    -------
    bool
    """
    return drv.Context.get_device().compute_capability() >= (2, 0)


def has_double_support() -> bool:
    """Whether kernels may use double (compute capability 1.3).

    Returns
    -------
    bool
    """
    return drv.Context.get_device().compute_capability() >= (1, 3)


@context_dependent_memoize
def sizeof(type_name: str, preamble: str = "") -> int:
    """The size of a C type on the device, asked of a kernel.

    Parameters
    ----------
    type_name : str
    preamble : str
        Declares the type.

    Returns
    -------
    int
        Bytes.
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
