"""range= and slice= with steps that are larger than any array: the launch ends, and i does not overflow."""

import numpy as np
import pytest

from pycuda import gpuarray
from pycuda.elementwise import ElementwiseKernel


@pytest.mark.parametrize("step", [7, 2**31, 2**62, 2**63, 2**65, -7, -(2**31), -(2**62), -(2**63), -(2**65)])
def test_only_the_first_index_is_in_range(primary_context, step):
    fill = ElementwiseKernel("float *x", "x[i] = i + 1", "fill_steps")
    x = gpuarray.zeros(6, np.float32)
    fill(x, slice=slice(None, None, step))
    assert x.get().tolist() == ([1, 0, 0, 0, 0, 0] if step > 0 else [0, 0, 0, 0, 0, 6])
    fill(x, range=slice(2, 3, abs(step)))
    assert x.get()[2] == 3


def test_a_range_beyond_any_array_is_refused(primary_context):
    fill = ElementwiseKernel("float *x", "if (i < 6) x[i] = i + 1", "fill_steps")
    with pytest.raises(OverflowError, match="beyond any array"):
        fill(gpuarray.zeros(6, np.float32), range=slice(0, 2**63, 2**62))
