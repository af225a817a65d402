"""What may be given as source: text, and objects that are converted to text."""

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.compiler import SourceModule
from pycuda.elementwise import ElementwiseKernel
from pycuda.reduction import ReductionKernel
from pycuda.scan import InclusiveScanKernel


class Generated:
    """An object that is converted to source text, like the modules of code generators."""

    def __init__(self, text):
        self.text = text

    def __str__(self):
        return self.text


PLAIN = "__global__ void k(int *a) { *a = 7; }"


@pytest.mark.parametrize(
    "source",
    [Generated(PLAIN), "\ufeff" + PLAIN, b"\xef\xbb\xbf" + PLAIN.encode()],
    ids=["str", "bom", "bytes"],
)
def test_a_source_may_be_bytes_or_an_object_with_str(source):
    a = np.zeros(1, np.int32)
    SourceModule(source).get_function("k")(drv.Out(a), block=(1, 1, 1))
    assert a[0] == 7


def test_parts_of_array_kernels_may_be_objects_with_str():
    a = gpuarray.to_gpu(np.arange(5, dtype=np.float32))
    twice = Generated("__device__ float twice(float a) { return 2 * a; }")
    double = ElementwiseKernel("float *a", Generated("a[i] = twice(a[i])"), preamble=twice)
    double(a)
    assert a.get().tolist() == [0, 2, 4, 6, 8]
    total = ReductionKernel(
        np.float32, 0, Generated("a+b"), Generated("twice(a[i])"), "float *a", preamble=twice
    )
    assert total(a).get() == 40
    scan = InclusiveScanKernel(np.float32, Generated("a+b"), preamble=twice)
    assert scan(a).get().tolist() == [0, 2, 6, 12, 20]


@pytest.mark.parametrize("wrong", [None, 5, 2.5, object(), [PLAIN], np.float32(1), Generated])
def test_what_is_no_text_is_refused(wrong):
    with pytest.raises(TypeError, match="source is"):
        SourceModule(wrong)
    with pytest.raises(TypeError, match="preamble is"):
        ElementwiseKernel("float *a", "a[i] = 0", preamble=wrong)


def test_bytes_are_refused_as_operation():
    with pytest.raises(TypeError, match="operation is"):
        ElementwiseKernel("float *a", b"a[i] = 0")


@pytest.mark.parametrize("name", ["kernel.cu", "/some/where/kernel.cuh", "a b/kernel.ptx"[2:]])
def test_the_name_of_a_file_is_refused_with_advice(name):
    with pytest.raises(ValueError, match=r"looks like the name of a file: SourceModule\(open\(path\)"):
        SourceModule(name)
