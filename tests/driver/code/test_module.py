"""Modules: loading code, its kernels and variables, the logs of the driver's compiler, linking."""

import gc
import re

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda.compiler import SourceModule, compile

SOURCE = """
__constant__ float factor[4];
__device__ int counter = 41;
__global__ void scale(float *a) { a[threadIdx.x] *= factor[threadIdx.x]; }
__global__ void count(int *out) { out[0] = ++counter; }
"""
ONE = dict(block=(1, 1, 1))
LINE_6 = re.compile(r"line 6|:6:")


@pytest.fixture(scope="module")
def code():
    return compile(SOURCE)


@pytest.fixture(scope="module")
def ptx():
    return compile(SOURCE, target="ptx")


def run_scale(module):
    """Sets factor to 1, 2, 3, 4 and returns what scale makes of four tens: [10, 20, 30, 40]."""
    address, size = module.get_global("factor")
    assert size == 16
    drv.memcpy_htod(address, np.array([1, 2, 3, 4], np.float32))
    data = np.full(4, 10, np.float32)
    module.get_function("scale")(drv.InOut(data), block=(4, 1, 1))
    return data.tolist()


def test_module_from_buffer(code):
    assert run_scale(drv.module_from_buffer(code)) == [10, 20, 30, 40]


@pytest.mark.parametrize(
    "wrap",
    [
        bytes,
        bytearray,
        lambda ptx: ptx.decode(),
        lambda ptx: memoryview(b"@" + ptx)[1:],
        lambda ptx: np.frombuffer(ptx, np.uint8),
    ],
    ids=["bytes", "bytearray", "str", "memoryview", "ndarray"],
)
def test_ptx_from_any_buffer(ptx, wrap):
    """The driver reads PTX up to a NUL. Only bytes objects have one after their data; for the others the
    loader must add it."""
    assert run_scale(drv.module_from_buffer(wrap(ptx.rstrip(b"\0")))) == [10, 20, 30, 40]


def test_module_from_file(code, tmp_path):
    path = tmp_path / "kernel.bin"
    path.write_bytes(code)
    assert run_scale(drv.module_from_file(str(path))) == [10, 20, 30, 40]
    assert run_scale(drv.module_from_file(path)) == [10, 20, 30, 40]


def test_missing_file(tmp_path):
    with pytest.raises(drv.RuntimeError, match=r"cuModuleLoad failed: .*nothing\.cubin"):
        drv.module_from_file(str(tmp_path / "nothing.cubin"))


def test_a_file_that_does_not_compile(tmp_path):
    """The exception contains the compiler's log, as that of module_from_buffer does."""
    path = tmp_path / "wrong.ptx"
    path.write_text(
        ".version 7.0\n.target sm_75\n.address_size 64\n"
        ".visible .entry f()\n{\n    bogus.u32 %r1, 2;\n    ret;\n}\n"
    )
    with pytest.raises(drv.LogicError, match=r"cuModuleLoad failed: .*wrong\.ptx") as error:
        drv.module_from_file(path)
    assert LINE_6.search(str(error.value))


@pytest.mark.parametrize("content", [b"", b"nonsense", bytes(100), b"\x7fELF" + bytes(200)])
def test_a_file_that_is_no_code(tmp_path, content):
    path = tmp_path / "wrong.cubin"
    path.write_bytes(content)
    with pytest.raises(drv.Error, match=r"cuModuleLoad failed: .*wrong\.cubin"):
        drv.module_from_file(path)


def test_variables_live_with_their_module(code):
    first, second = drv.module_from_buffer(code), drv.module_from_buffer(code)
    out = np.zeros(1, np.int32)
    for module, expected in ((first, 42), (first, 43), (second, 42)):
        module.get_function("count")(drv.Out(out), **ONE)
        assert out[0] == expected
    assert first.get_global("counter")[0] != second.get_global("counter")[0]


def test_unknown_names(code):
    module = drv.module_from_buffer(code)
    with pytest.raises(drv.LogicError, match=r"cuModuleGetFunction failed: .*'nowhere'"):
        module.get_function("nowhere")
    with pytest.raises(drv.LogicError, match=r"cuModuleGetGlobal failed: .*'nowhere'"):
        module.get_global("nowhere")


def test_handle_and_new_functions(code):
    module = drv.module_from_buffer(code)
    assert isinstance(module.handle, int) and module.handle
    one, other = module.get_function("scale"), module.get_function("scale")
    assert one is not other and one.handle == other.handle != 0


def test_function_keeps_the_module(code):
    function = drv.module_from_buffer(code).get_function("count")
    gc.collect()
    out = np.zeros(1, np.int32)
    function(drv.Out(out), **ONE)
    assert out[0] == 42


def test_modules_are_unloaded(code):
    before = drv._live_objects()["Module"]
    modules = [drv.module_from_buffer(code) for _ in range(5)]
    assert drv._live_objects()["Module"] == before + 5
    del modules
    assert drv._live_objects()["Module"] == before


def test_error_log_and_message_handler():
    calls = []
    header = b".version 7.0\n.target sm_75\n.address_size 64\n"
    bad = header + b".visible .entry f()\n{\n    bogus.u32 %r1, 2;\n    ret;\n}\n"
    with pytest.raises(drv.LogicError) as error:
        drv.module_from_buffer(bad, message_handler=lambda *args: calls.append(args))
    assert LINE_6.search(str(error.value)) and "cuModuleLoadDataEx failed: " in str(error.value)
    ((ok, info, log),) = calls
    assert ok is False and isinstance(info, str) and LINE_6.search(log)


def test_message_handler_on_success(ptx):
    calls = []
    module = drv.module_from_buffer(
        ptx, [(drv.jit_option.MAX_REGISTERS, 32)], lambda *args: calls.append(args)
    )
    assert len(calls) == 1 and calls[0][0] is True
    assert run_scale(module) == [10, 20, 30, 40]


def test_message_handler_that_raises(ptx):
    def handler(ok, info, error):
        raise KeyError("from the handler")

    with pytest.raises(KeyError, match="from the handler"):
        drv.module_from_buffer(ptx, message_handler=handler)


@pytest.mark.parametrize("options", [[1], [(1, 2, 3)], [("a", 1)], 5])
def test_bad_options(ptx, options):
    with pytest.raises((TypeError, ValueError)):
        drv.module_from_buffer(ptx, options)


def test_source_module_shares_the_interface():
    module = SourceModule(SOURCE)
    assert run_scale(module) == [10, 20, 30, 40]
    assert isinstance(module.module, drv.Module)


def test_modules_cannot_be_made_by_hand():
    with pytest.raises(TypeError):
        drv.Module()
    with pytest.raises(TypeError):
        drv.Function()
