"""The linear filter to the last bit, for texels of very different magnitudes.

The model is in integers, as measured on GPUs of compute capability 9.0. Weights are 256ths: that of a slice
(z) is split by x and then by y, with a rounding each time. The texels of a slice are truncated at a fixed
number of bits below the largest one. The two slices are added with bits below a unit dropped, whose exponent
is a multiple of four. The sum is rounded once, halves away from zero.
"""

import math

import numpy as np
import pytest
from texture_model import LINEAR, array_of

import pycuda.autoinit  # noqa: F401
import pycuda.driver as drv
from pycuda.compiler import SourceModule

POINTS, WIDTH, HEIGHT = 1024, 64, 16
KERNEL = """
__global__ void blend2(float *out, cudaTextureObject_t t, const float *x, const float *y, const float *)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = tex2D<float>(t, x[i], y[i]);
}
__global__ void blend3(float *out, cudaTextureObject_t t, const float *x, const float *y, const float *z)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = tex3D<float>(t, x[i], y[i], z[i]);
}
"""
SCALE = 320  # a number is represented by an integer: itself times 2**SCALE
# {dtype: (bits that are kept of texels in a slice, bits of the result, minimum exponent of a normal result)}
KINDS = {"f4": (28, 24, -125), "f2": (15, 11, -13)}


@pytest.fixture(scope="module")
def blend():
    return SourceModule(KERNEL)


def weights(a, b, c):
    """The weights of the eight corners in 256ths, x fastest, for fractions a (x), b (y), c (z) in 256ths."""
    result = []
    for part in (256 - c, c):
        right = (part * a + 128) >> 8
        left = part - right
        upper_right, upper_left = (right * b + 128) >> 8, (left * b + 127) >> 8
        result += [left - upper_left, right - upper_right, upper_left, upper_right]
    return result


def slice_sum(texels, parts, bits):
    """(the weighted sum of four texels as an integer, the largest exponent; None if all texels or weights are
    0). parts: weights in 256ths; bits: how many are kept below the largest exponent."""
    counted = [(x, part) for x, part in zip(texels, parts, strict=True) if x and part]
    if not counted:
        return 0, None
    maximum = max(math.frexp(x)[1] for x, _ in counted)
    return sum(
        math.trunc(math.ldexp(x, bits - maximum)) * part << SCALE + maximum - bits for x, part in counted
    ), maximum


def rounded(total, bits, minimum):
    """A sum of 256ths (an integer times 2**-(SCALE + 8)) as a float with that many bits; minimum: the
    exponent of the smallest normal number."""
    unit = max(abs(total).bit_length() - bits, minimum - bits + SCALE + 8, 1)
    return math.copysign(math.ldexp((abs(total) + (1 << unit - 1)) >> unit, unit - SCALE - 8), total)


def blended(texels, parts, kind):
    """The model's result for eight corners with these weights, of a dtype in KINDS."""
    bits, *result = KINDS[kind]
    (near, a), (far, b) = (slice_sum(texels[k : k + 4], parts[k : k + 4], bits) for k in (0, 4))
    if a is not None and b is not None:
        unit = (max(a, b) + 2) // 4 * 4 - bits - 2 + SCALE
        near, far = near >> unit << unit, far >> unit << unit
    return rounded(near + far, *result)


def numbers(random, shape, spread):
    """Random numbers of either sign whose exponents are from -spread to 0."""
    size = np.ldexp(1 + random.random(shape), random.integers(-spread, 1, shape))
    return size * random.choice([-1, 1], shape)


def corners_of(data):
    """Views of the first, second, ... texel of all cells, x fastest: eight arrays of (HEIGHT, WIDTH)."""
    return [data[c >> 2, c >> 1 & 1 :: 2, c & 1 :: 2] for c in range(8)]


def cancelling(data, parts):
    """Sets the first corner of each cell so that it cancels nearly all of the weighted sum of the others,
    where its weight is not tiny."""
    corners = corners_of(data)
    rest = sum(x * np.reshape(w, x.shape) for x, w in zip(corners[1:], parts[1:], strict=True))
    first = np.reshape(parts[0], rest.shape)
    np.copyto(corners[0], -rest / np.maximum(first, 1), where=(first > 20) & (abs(rest) < 256))


@pytest.mark.parametrize("spread", [2, 9, 30])
@pytest.mark.parametrize("kind", ["f4", "f2"])
@pytest.mark.parametrize("dimensions", [2, 3])
def test_the_linear_filter_is_that_of_the_model(blend, dimensions, kind, spread):
    random = np.random.default_rng(dimensions * 100 + spread)
    # Cells of 2 x 2 x 2 texels; each of the POINTS is in a cell of its own.
    data = numbers(random, (2, 2 * HEIGHT, 2 * WIDTH), spread)
    a, b, c = random.integers(0, 256, (3, POINTS))
    c *= dimensions == 3
    parts = [weights(*map(int, fractions)) for fractions in zip(a, b, c, strict=True)]
    cancelling(data, np.transpose(parts))
    data = data.astype(kind)
    texture = drv.TextureObject(array_of(data[: dimensions - 1, ..., None], dimensions), filter_mode=LINEAR)
    row, column = np.divmod(np.arange(POINTS), WIDTH)
    at = [2 * column + 0.5 + a / 256, 2 * row + 0.5 + b / 256, 0.5 + c / 256]
    out = np.empty(POINTS, np.float32)
    blend.get_function(f"blend{dimensions}")(
        drv.Out(out),
        texture,
        *(drv.In(x.astype(np.float32)) for x in at),
        block=(256, 1, 1),
        grid=(POINTS // 256, 1),
    )
    corners = np.stack([corner.ravel() for corner in corners_of(data)], 1).astype(float)
    expected = [blended(x, w, kind) for x, w in zip(corners.tolist(), parts, strict=True)]
    assert (out == np.float32(expected)).all()
