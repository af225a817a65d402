"""Every driver call of a program with textures and surfaces fails once: the program raises or its result is
right, nothing is leaked, and it can go on.
"""

import pytest
from faults.one_by_one import CODES

# On a GPU that others use as well, making a context takes seconds.
pytestmark = pytest.mark.timeout(320)

PROGRAM = '''
import numpy as np

import pycuda.driver as drv
from faults.one_by_one import in_a_context
from pycuda import compiler, gpuarray

SOURCE = """
texture<float, 2> plane;
texture<float, 1> row;
surface<void, 2> target;
__global__ void read(float *out)
{
    int i = threadIdx.x;
    out[i] = tex2D(plane, i % 4, i / 4) + tex1Dfetch(row, i);
    surf2Dwrite(out[i], target, i % 4 * 4, i / 4);
}
"""
PLANE, ROW = np.arange(12, dtype=np.float32).reshape(3, 4), np.arange(12, dtype=np.float32)


def writable():
    descr = drv.ArrayDescriptor3D()
    descr.width, descr.height, descr.num_channels = 4, 3, 1
    descr.format, descr.flags = drv.array_format.FLOAT, drv.array3d_flags.SURFACE_LDST
    return drv.Array(descr)


def use(module):
    read, plane, row = module.get_function("read"), module.get_texref("plane"), module.get_texref("row")
    module.get_surfref("target").set_array(writable())
    gpuarray.to_gpu(ROW).bind_to_texref_ext(row)
    out, streams = gpuarray.empty(12, np.float32), [drv.Stream(), drv.Stream(), None]
    for k, stream in enumerate(streams):
        drv.matrix_to_texref(PLANE + k, plane, "C")
        read(out, block=(12, 1, 1), texrefs=[plane, row], stream=stream)
        drv.Context.synchronize()
        assert (out.get() == PLANE.ravel() + k + ROW).all()
    result, copy = np.empty_like(PLANE), drv.Memcpy2D()
    copy.set_src_array(module.get_surfref("target").get_array())
    copy.set_dst_host(result)
    copy.width_in_bytes, copy.height, copy.dst_pitch = 16, 3, 16
    copy()
    assert (result == PLANE + 2 + ROW.reshape(3, 4)).all()


def no_more_parameters(error):
    # Whether the error follows from "invalid value" of cuFuncGetParamInfo: there are no more parameters.
    return code == 1 and isinstance(error, TypeError) and "kernel 'read' takes" in str(error)


def work():
    use(drv.module_from_buffer(CODE))
    drv.Context.synchronize()


drv.init()
arch = "compute_{}{}".format(*drv.Device(0).compute_capability())
CODE = compiler.compile(SOURCE, arch=arch, target="ptx")
in_a_context(work, code, may_be=no_more_parameters)
'''


@pytest.mark.parametrize("code", CODES.values(), ids=CODES.keys())
def test_each_call_for_references_fails_once(run_python, code):
    done = run_python(f"code = {code}\n" + PROGRAM, env={"PYCUDA_FAULT_CALL": "0"}, timeout=300)
    assert done.returncode == 0, done.stderr
    total, failures, quiet = map(int, done.stdout.split())
    assert total > 60
    assert failures > 4 * quiet, "few calls may fail without a report"
