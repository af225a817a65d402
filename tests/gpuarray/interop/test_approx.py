"""pytest.approx compares copies in host memory; a GPUArray raises an error that names get()."""

import numpy as np
import pytest

from pycuda import gpuarray

pytestmark = pytest.mark.usefixtures("primary_context")


def test_copies_are_compared():
    a = gpuarray.to_gpu(np.array([0.1, 0.2]))
    assert (a * 3).get() == pytest.approx([0.3, 0.6])
    assert float(gpuarray.sum(a)) == pytest.approx(0.3)
    assert gpuarray.sum(a).item() != pytest.approx(0.4)


@pytest.mark.parametrize(
    "compare",
    [
        lambda a: gpuarray.sum(a) == pytest.approx(0.3),
        lambda a: pytest.approx(a) == [0.1, 0.2],
    ],
)
def test_arrays_are_refused(compare):
    with pytest.raises(TypeError, match="Implicit conversion"):
        compare(gpuarray.to_gpu(np.array([0.1, 0.2])))


def test_a_comparison_with_an_approximate_array_is_refused():
    with pytest.raises(TypeError, match="cannot compare"):
        assert gpuarray.to_gpu(np.array([0.1, 0.2])) == pytest.approx(np.array([0.1, 0.2]))
