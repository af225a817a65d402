"""A model in NumPy of texture sampling as the CUDA programming guide describes it; and Arrays with given
contents.

Positions are in texels; the linear filter's fractions have 8 bits. The model's results are exact in float64;
a device's results are equal to them where all products of weights are multiples of 1/256.
"""

import itertools

import numpy as np

import pycuda.driver as drv

WRAP, CLAMP, MIRROR, BORDER = (
    drv.address_mode.WRAP,
    drv.address_mode.CLAMP,
    drv.address_mode.MIRROR,
    drv.address_mode.BORDER,
)
POINT, LINEAR = drv.filter_mode.POINT, drv.filter_mode.LINEAR
FORMATS = {
    "u1": drv.array_format.UNSIGNED_INT8,
    "u2": drv.array_format.UNSIGNED_INT16,
    "u4": drv.array_format.UNSIGNED_INT32,
    "i1": drv.array_format.SIGNED_INT8,
    "i2": drv.array_format.SIGNED_INT16,
    "i4": drv.array_format.SIGNED_INT32,
    "f2": drv.array_format.HALF,
    "f4": drv.array_format.FLOAT,
}


def format_of(data):
    """The array_format of a NumPy array's dtype."""
    return FORMATS[data.dtype.str[1:]]


def descriptor_of(data, dimensions, flags=0):
    """The ArrayDescriptor3D for data of shape (layers or depth, height, width, channels); dimensions: 1 to 3,
    without the layers."""
    depth, height, width, channels = data.shape
    descr = drv.ArrayDescriptor3D()
    descr.width, descr.format, descr.num_channels, descr.flags = width, format_of(data), channels, flags
    descr.height = height if dimensions > 1 else 0
    layered = flags & (drv.array3d_flags.LAYERED | drv.array3d_flags.CUBEMAP)
    descr.depth = depth if dimensions > 2 or layered else 0
    return descr


def fill(array, data):
    """Copies (layers or depth, height, width, channels) into an Array."""
    depth, height, width, channels = data.shape
    copy = drv.Memcpy3D()
    copy.set_src_host(np.ascontiguousarray(data))
    copy.set_dst_array(array)
    copy.width_in_bytes = copy.src_pitch = width * channels * data.itemsize
    copy.height = copy.src_height = height
    copy.depth = depth
    copy()
    return array


def array_of(data, dimensions, flags=0):
    """An Array with these contents."""
    return fill(drv.Array(descriptor_of(data, dimensions, flags)), data)


def mipmap_of(levels, dimensions, flags=0):
    """A MipmappedArray with these contents, the largest level first."""
    mipmap = drv.MipmappedArray(descriptor_of(levels[0], dimensions, flags), len(levels))
    for k, data in enumerate(levels):
        fill(mipmap.get_level(k), data)
    return mipmap


def contents(array, shape, dtype):
    """The contents of an Array as a NumPy array of shape (layers or depth, height, width, channels)."""
    result = np.empty(shape, dtype)
    copy = drv.Memcpy3D()
    copy.set_src_array(array)
    copy.set_dst_host(result)
    copy.width_in_bytes = copy.dst_pitch = shape[2] * shape[3] * result.itemsize
    copy.height = copy.dst_height = shape[1]
    copy.depth = shape[0]
    copy()
    return result


def _place(index, size, mode, normalized):
    """(index of the texel that is read, whether it is inside of the texture) for an index on an axis, in an
    address mode."""
    if mode == BORDER:
        return np.clip(index, 0, size - 1), (index >= 0) & (index < size)
    if normalized and mode == WRAP:
        return index % size, True
    if normalized and mode == MIRROR:
        folded = index % (2 * size)
        return np.where(folded < size, folded, 2 * size - 1 - folded), True
    return np.clip(index, 0, size - 1), True


def _sides(position, linear):
    """[(index, weight)] of the texels on one axis that are read at a position: two with the linear filter."""
    if not linear:
        return [(np.floor(position).astype(int), 1.0)]
    fixed = np.floor((position - 0.5) * 256 + 0.5).astype(int)
    fraction = (fixed & 255) / 256
    return [(fixed >> 8, 1 - fraction), ((fixed >> 8) + 1, fraction)]


def sample(data, coordinates, *, modes=(CLAMP,) * 3, linear=False, normalized=False, border=0.0):
    """What is read from a texture of shape (..., y, x, channels) at coordinates [x, y, ...], arrays of equal
    length: an array of shape (points, channels).

    modes: the address mode of each axis; linear: the linear filter, else the nearest texel; normalized:
    coordinates from 0 to 1 cover the texture; border: the value outside where the mode is BORDER.
    """
    sizes = data.shape[-2::-1]
    axes = []
    for size, mode, at in zip(sizes, modes, coordinates, strict=False):
        position = np.asarray(at, np.float64) * (size if normalized else 1)
        axes.append([(*_place(i, size, mode, normalized), weight) for i, weight in _sides(position, linear)])
    total = 0.0
    for corner in itertools.product(*axes):
        texel = data[tuple(index for index, _, _ in reversed(corner))].astype(np.float64)
        inside = np.logical_and.reduce([np.broadcast_to(inside, len(texel)) for _, inside, _ in corner])
        weight = np.prod(np.broadcast_arrays(*[weight for _, _, weight in corner]), axis=0)
        total = total + np.where(inside[:, None], texel, border) * np.reshape(weight, (-1, 1))
    return total


def points(seed, sizes, steps, normalized, count=512):
    """Random coordinates [x, y, ...] for textures of these sizes, multiples of 1 / step texels, up to twice
    the size outside of the texture."""
    random = np.random.default_rng(seed)
    result = []
    for size, step in zip(sizes, steps, strict=False):
        position = random.integers(-2 * size * step, 3 * size * step, count) / step
        result.append((position / (size if normalized else 1)).astype(np.float32))
    return result


def sample_levels(levels, coordinates, detail, *, between=False, **options):
    """sample() for a mipmapped texture, in normalized coordinates, at levels of detail, which are truncated
    to 256ths and clamped to the levels. between: interpolated between two levels, else the nearest level;
    options: of sample().
    """
    detail = np.clip(np.trunc(np.asarray(detail, np.float64) * 256) / 256, 0, len(levels) - 1)
    number = np.floor(detail if between else detail + 0.5).astype(int)
    fraction = np.reshape(detail - number, (-1, 1)) if between else 0.0
    each = np.stack([sample(level, coordinates, normalized=True, **options) for level in levels])
    point = np.arange(len(number))
    following = np.minimum(number + 1, len(levels) - 1)
    return each[number, point] * (1 - fraction) + each[following, point] * fraction
