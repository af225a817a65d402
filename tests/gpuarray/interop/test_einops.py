"""einops: its functions for the array API standard take GPUArrays; its other functions know only the classes
in their own list of libraries.
"""

import numpy as np
import pytest

from pycuda import gpuarray
from pycuda.gpuarray import GPUArray

einops = pytest.importorskip("einops", reason="in the extra `test`")
from einops import array_api  # noqa: E402

pytestmark = pytest.mark.usefixtures("primary_context")

HOST = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


@pytest.mark.parametrize(
    "name, pattern, more",
    [
        ("rearrange", "a b c -> c (a b)", {}),
        ("rearrange", "a b (c d) -> d a b c", {"d": 2}),
        ("reduce", "a b c -> a", {"reduction": "mean"}),
        ("reduce", "a b (c 2) -> b c", {"reduction": "max"}),
        ("repeat", "a b c -> a b c d", {"d": 2}),
    ],
)
def test_functions_of_the_standard(name, pattern, more):
    got = getattr(array_api, name)(gpuarray.to_gpu(HOST), pattern, **more)
    want = getattr(einops, name)(HOST, pattern, **more)
    assert type(got) is GPUArray and got.dtype == want.dtype
    np.testing.assert_allclose(got.get(), want)


def test_pack_and_unpack():
    a = gpuarray.to_gpu(HOST)
    packed, shapes = array_api.pack([a, a[:, 0]], "a * c")
    first, second = array_api.unpack(packed, shapes, "a * c")
    assert packed.shape == (2, 4, 4)
    np.testing.assert_array_equal(first.get(), HOST)
    np.testing.assert_array_equal(second.get(), HOST[:, 0])


@pytest.mark.parametrize(
    "call",
    [
        lambda a: einops.rearrange(a, "a b c -> c b a"),
        lambda a: einops.einsum(a, a, "a b c, a b d -> c d"),
    ],
)
def test_functions_with_a_list_of_libraries_refuse_gpuarrays(call):
    with pytest.raises(RuntimeError, match="Tensor type unknown to einops"):
        call(gpuarray.to_gpu(HOST))
