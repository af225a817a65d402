"""Whether results are to have the same bits on every device."""

from __future__ import annotations

import contextlib
import contextvars
import os
from collections.abc import Iterator

_asked = contextvars.ContextVar("pycuda.same_bits", default=os.environ.get("PYCUDA_SAME_BITS") == "1")


@contextlib.contextmanager
def same_bits(wanted: bool = True) -> Iterator[None]:
    """Products of matrices with the same bits on every GPU, in every run and on the CPU device.

    In the block they are computed by this package's own kernels, which add in a fixed order, and not by
    NVIDIA's library, or NumPy's on the CPU device, whose order depends on the device and the version. That
    takes 3 to 80 times as long where products are large. Products of sparse arrays do without cuSPARSE as
    well. Everything else has the same bits anyway, except numpy.fft and factorizations by NVIDIA's libraries
    or NumPy's LAPACK. The environment variable PYCUDA_SAME_BITS=1 does the same for a whole program.

    Parameters
    ----------
    wanted : bool
        False lets the library be used in the block.

    Examples
    --------
    >>> import numpy as np
    >>> import pycuda
    >>> import pycuda.gpuarray as gpuarray
    >>> import pycuda.autoprimaryctx
    >>> a = gpuarray.to_gpu(np.ones((300, 300), np.float32))
    >>> with pycuda.same_bits():
    ...     print((a @ a).get().max())
    300.0
    """
    token = _asked.set(bool(wanted))
    try:
        yield
    finally:
        _asked.reset(token)


def is_wanted() -> bool:
    """Whether the same bits are wanted: in a same_bits() block, or by PYCUDA_SAME_BITS=1."""
    return _asked.get()
