"""GPUArrays as the memory of texture references."""

from __future__ import annotations

import numpy as np

from pycuda import _driver
from pycuda._base.texture_arrays import dtype_to_array_format


def bind(array, texref, allow_offset):
    """GPUArray.bind_to_texref."""
    if not array.flags.forc:
        raise ValueError("a texture needs contiguous memory: the array is not C-contiguous")
    return texref.set_address(array, array.nbytes, allow_offset=allow_offset) / array.dtype.itemsize


# For dtypes that textures do not have: the format and the number of channels by which a texture holds their
# bits, and the parameter by which the caller permits that.
_HELD_AS = {
    np.dtype(np.float64): (_driver.array_format.SIGNED_INT32, 2, "allow_double_hack"),
    np.dtype(np.complex64): (_driver.array_format.UNSIGNED_INT32, 2, "allow_complex_hack"),
    np.dtype(np.complex128): (_driver.array_format.SIGNED_INT32, 4, "allow_complex_hack"),
}


def bind_with_format(self, texref, channels, allow_double_hack, allow_complex_hack, allow_offset):
    """GPUArray.bind_to_texref_ext."""
    held = _HELD_AS.get(self.dtype)
    allowed = {"allow_double_hack": allow_double_hack, "allow_complex_hack": allow_complex_hack}
    if channels not in (1, 2, 4):
        raise ValueError(f"textures have 1, 2 or 4 channels, not {channels}")
    if held and allowed[held[2]]:
        if channels != 1:
            raise ValueError(f"a texture of {self.dtype} has one channel, not {channels}")
        array_format, channels, as_integer = *held[:2], True
    else:
        array_format, as_integer = dtype_to_array_format(self.dtype), self.dtype.kind in "iu"
    offset = bind(self, texref, allow_offset)
    texref.set_format(array_format, channels)
    if as_integer:
        texref.set_flags(texref.get_flags() | _driver.TRSF_READ_AS_INTEGER)
    return offset
