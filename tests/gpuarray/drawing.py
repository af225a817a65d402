"""What property tests of arrays draw: few dtypes and layouts, so that few kernels are compiled."""

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

import pycuda.gpuarray as gpuarray

few = settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
LENGTHS = st.sampled_from([0, 1, 2, 3, 5, 8, 33, 130])


def numbers(rng, shape, dtype):
    """Random numbers of a dtype, of about -8 to 8, without negative ones if it is unsigned."""
    dtype = np.dtype(dtype)
    values = rng.normal(size=shape) * 4
    if dtype.kind == "c":
        values = values + 1j * rng.normal(size=shape)
    if dtype.kind == "u":
        values = np.abs(values)
    return np.asarray(values).astype(dtype)


@st.composite
def shapes(draw, min_ndim=0, max_ndim=4):
    """A shape of at most 20000 elements."""
    shape = draw(st.lists(LENGTHS, min_size=min_ndim, max_size=max_ndim))
    while np.prod(shape, dtype=np.int64) > 20_000:
        shape[int(np.argmax(shape))] = 2
    return tuple(shape)


@st.composite
def layouts(draw, host):
    """(view of the host array, the same view of a copy on the device): with steps of either sign and with the
    axes in any order."""
    array = gpuarray.to_gpu(host)
    index = tuple(
        slice(None, None, draw(st.sampled_from([1, 1, 1, 2, -1, -2]))) if draw(st.booleans()) else slice(None)
        for _ in range(host.ndim)
    )
    axes = draw(st.permutations(range(host.ndim))) if draw(st.booleans()) else range(host.ndim)
    return host[index].transpose(*axes), array[index].transpose(tuple(axes))


@st.composite
def arrays(draw, dtypes, min_ndim=0, max_ndim=4):
    """(host, device) of one of the dtypes, with any strides."""
    shape, dtype = draw(shapes(min_ndim, max_ndim)), draw(st.sampled_from(dtypes))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return draw(layouts(numbers(rng, shape, dtype)))


@st.composite
def axes_of(draw, ndim):
    """An argument axis= for arrays of ndim axes: None, an int, or a tuple, with positive or negative axes."""
    if ndim == 0 or draw(st.booleans()):
        return None
    axes = draw(st.lists(st.integers(0, ndim - 1), unique=True, max_size=ndim))
    axes = tuple(axis - ndim if draw(st.booleans()) else axis for axis in axes)
    return axes[0] if len(axes) == 1 and draw(st.booleans()) else axes
