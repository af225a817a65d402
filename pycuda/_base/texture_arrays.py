"""NumPy arrays and GPUArrays turned into pycuda.driver.Array, the memory of textures and surfaces."""

from __future__ import annotations

import numpy as np

from pycuda import _driver as drv

_FORMATS = {
    np.dtype(np.uint8): drv.array_format.UNSIGNED_INT8,
    np.dtype(np.uint16): drv.array_format.UNSIGNED_INT16,
    np.dtype(np.uint32): drv.array_format.UNSIGNED_INT32,
    np.dtype(np.int8): drv.array_format.SIGNED_INT8,
    np.dtype(np.int16): drv.array_format.SIGNED_INT16,
    np.dtype(np.int32): drv.array_format.SIGNED_INT32,
    np.dtype(np.float32): drv.array_format.FLOAT,
}
# dtypes that textures do not have, and how many integers of 32 bits hold an element: the kernel reads these
# and puts the element together.
_AS_INTEGERS = {np.dtype(np.complex64): 2, np.dtype(np.float64): 2, np.dtype(np.complex128): 4}


def dtype_to_array_format(dtype):
    """The array_format of a dtype.

    Parameters
    ----------
    dtype : dtype-like
        Integers of 8, 16 and 32 bits, and float32.

    Returns
    -------
    array_format

    Raises
    ------
    TypeError
        There is none.
    """
    try:
        return _FORMATS[np.dtype(dtype)]
    except KeyError:
        raise TypeError(f"arrays cannot hold {np.dtype(dtype)}") from None


def _check_order(order):
    if order not in ("C", "F"):
        raise drv.LogicError(f"order is {order!r}: it must be C or F")


def _describe(shape, array_format, channels, flags=0):
    """The descriptor of an Array of this shape, outermost axis first."""
    descr = drv.ArrayDescriptor3D() if flags or len(shape) == 3 else drv.ArrayDescriptor()
    descr.width, descr.height = shape[-1], shape[-2]
    descr.format, descr.num_channels = array_format, channels
    if isinstance(descr, drv.ArrayDescriptor3D):
        descr.depth = shape[-3] if len(shape) == 3 else 1
        descr.flags = flags
    return descr


def _new_filled_array(descr, set_source, row_bytes):
    """An Array with this descriptor and the packed bytes of a source."""
    array = drv.Array(descr)
    is_3d = isinstance(descr, drv.ArrayDescriptor3D)
    copy = drv.Memcpy3D() if is_3d else drv.Memcpy2D()
    set_source(copy)
    copy.set_dst_array(array)
    copy.width_in_bytes = copy.src_pitch = row_bytes
    copy.height = descr.height
    if is_3d:
        copy.src_height, copy.depth = descr.height, descr.depth
    copy()
    return array


def matrix_to_array(matrix, order, allow_double_hack=False):
    """Copy a matrix to an Array of two dimensions.

    Parameters
    ----------
    matrix : numpy.ndarray
        It has two dimensions.
    order : {"C", "F"}
        With "C" a texture at (x, y) is matrix[y, x], with "F" it is matrix[x, y].
    allow_double_hack : bool
        A float64 becomes two integers of 32 bits.

    Returns
    -------
    Array

    Raises
    ------
    LogicError
        The order or the number of dimensions is wrong.
    TypeError
        Textures have no such elements.
    """
    _check_order(order)
    matrix = np.asarray(matrix, order=order)
    if matrix.ndim != 2:
        raise drv.LogicError(f"matrix_to_array takes a 2-dimensional array, not {matrix.ndim}-dimensional")
    shape = matrix.shape if order == "C" else matrix.shape[::-1]
    if matrix.dtype == np.float64 and allow_double_hack:
        descr = _describe(shape, drv.array_format.SIGNED_INT32, 2)
    else:
        descr = _describe(shape, dtype_to_array_format(matrix.dtype), 1)
    return _new_filled_array(descr, lambda copy: copy.set_src_host(matrix), shape[-1] * matrix.itemsize)


def _describe_like(shape, dtype, order, surface):
    """(descriptor for np_to_array and gpuarray_to_array, bytes of a row)"""
    if len(shape) not in (2, 3):
        raise drv.LogicError(f"arrays of 2 and 3 dimensions can be copied, not of {len(shape)}")
    shape = shape if order == "C" else shape[::-1]
    dtype, flags = np.dtype(dtype), 0
    if dtype in _AS_INTEGERS:
        form = drv.array_format.SIGNED_INT32, _AS_INTEGERS[dtype]
    else:
        form = dtype_to_array_format(dtype), 1
    if surface:
        flags = drv.array3d_flags.SURFACE_LDST
        if len(shape) == 2:
            flags |= drv.array3d_flags.ARRAY3D_LAYERED
    return _describe(shape, *form, flags), shape[-1] * dtype.itemsize


def np_to_array(nparray, order, allowSurfaceBind=False):
    """Copy a numpy array to an Array of two or three dimensions.

    Parameters
    ----------
    nparray : numpy.ndarray
        complex64 and float64 become two, complex128 four integers of 32 bits.
    order : {"C", "F"}
        With "C" a texture at (x, y, z) is nparray[z, y, x], with "F" it is nparray[x, y,
        z].
    allowSurfaceBind : bool
        Kernels can write it. One of two dimensions is then layered, with a single layer.

    Returns
    -------
    Array

    Raises
    ------
    LogicError
        The order or the number of dimensions is wrong.
    """
    _check_order(order)
    nparray = np.asarray(nparray, order=order)
    descr, row_bytes = _describe_like(nparray.shape, nparray.dtype, order, allowSurfaceBind)
    return _new_filled_array(descr, lambda copy: copy.set_src_host(nparray), row_bytes)


def gpuarray_to_array(gpuarray, order, allowSurfaceBind=False):
    """Copy a GPUArray to an Array of two or three dimensions.

    Parameters
    ----------
    gpuarray : GPUArray
        Contiguous in this order.
    order : {"C", "F"}
        As in np_to_array.
    allowSurfaceBind : bool
        As in np_to_array.

    Returns
    -------
    Array

    Raises
    ------
    LogicError
        The array is not contiguous in this order.
    """
    _check_order(order)
    if not (gpuarray.flags.c_contiguous if order == "C" else gpuarray.flags.f_contiguous):
        raise drv.LogicError(f"the GPUArray is not {order}-contiguous")
    descr, row_bytes = _describe_like(gpuarray.shape, gpuarray.dtype, order, allowSurfaceBind)
    return _new_filled_array(descr, lambda copy: copy.set_src_device(gpuarray), row_bytes)


def make_multichannel_2d_array(ndarray, order):
    """Copy a numpy array to an Array of two dimensions with several channels.

    Parameters
    ----------
    ndarray : numpy.ndarray
        Of shape (height, width, channels) with order "C", (channels, width, height) with
        "F".
    order : {"C", "F"}

    Returns
    -------
    Array

    Raises
    ------
    LogicError
        The order or the number of dimensions is wrong.
    """
    _check_order(order)
    ndarray = np.asarray(ndarray, order=order)
    if ndarray.ndim != 3:
        raise drv.LogicError(f"make_multichannel_2d_array takes an array of 3 dimensions, not {ndarray.ndim}")
    height, width, channels = ndarray.shape if order == "C" else ndarray.shape[::-1]
    descr = _describe((height, width), dtype_to_array_format(ndarray.dtype), channels)
    return _new_filled_array(
        descr, lambda copy: copy.set_src_host(ndarray), width * channels * ndarray.itemsize
    )


def bind_array_to_texref(ary, texref):
    """Bind an Array to a texture reference, without filtering; coordinates outside of the Array read its
    nearest element.

    Parameters
    ----------
    ary : Array
    texref : TextureReference
    """
    if not hasattr(texref, "set_array"):
        raise TypeError(f"texref must be a TextureReference, not {type(texref).__name__}")
    texref.set_array(ary)
    texref.set_address_mode(0, drv.address_mode.CLAMP)
    texref.set_address_mode(1, drv.address_mode.CLAMP)
    texref.set_filter_mode(drv.filter_mode.POINT)


def matrix_to_texref(matrix, texref, order):
    """Copy a matrix to an Array and bind that to a texture reference.

    Parameters
    ----------
    matrix : numpy.ndarray
        As in matrix_to_array.
    texref : TextureReference
    order : {"C", "F"}
        As in matrix_to_array.
    """
    bind_array_to_texref(matrix_to_array(matrix, order), texref)
