"""opt_einsum: it finds NumPy's functions by the protocol, and pycuda.numpy by its name."""

import numpy as np
import pytest

from pycuda import gpuarray
from pycuda.gpuarray import GPUArray

opt_einsum = pytest.importorskip("opt_einsum", reason="in the extra `test`")

pytestmark = pytest.mark.usefixtures("primary_context")

HOST = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.mark.parametrize("backend", ["auto", "numpy", "pycuda.numpy"])
@pytest.mark.parametrize("subscripts, count", [("ij,kj,kl->il", 3), ("ij->i", 1), ("ij,kl->ijkl", 2)])
def test_contract(subscripts, count, backend):
    got = opt_einsum.contract(subscripts, *[gpuarray.to_gpu(HOST)] * count, backend=backend)
    assert type(got) is GPUArray
    np.testing.assert_allclose(got.get(), opt_einsum.contract(subscripts, *[HOST] * count), rtol=1e-6)


def test_an_expression():
    product = opt_einsum.contract_expression("ij,jk->ik", (3, 4), (4, 3))
    a = gpuarray.to_gpu(HOST)
    np.testing.assert_allclose(product(a, a.T).get(), HOST @ HOST.T)
