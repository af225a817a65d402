"""What clients import from PyCUDA's private modules: _cluda, _mymako, compyte."""

import subprocess
import sys

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda import _cluda
from pycuda.compiler import SourceModule
from pycuda.compyte import array, dtypes

CLUDA = """
WITHIN_KERNEL int number(void)
{
    int block = (GID_2 * GDIM_1 + GID_1) * GDIM_0 + GID_0;
    return (LID_2 * LDIM_1 + LID_1) * LDIM_0 + LID_0 + LDIM_0 * LDIM_1 * LDIM_2 * block;
}

KERNEL REQD_WG_SIZE(8, 2, 1) void reverse(GLOBAL_MEM int *out, LOCAL_MEM_ARG int unused)
{
    LOCAL_MEM int all[16];
    int i = LID_1 * LDIM_0 + LID_0;
    all[i] = number();
    local_barrier();
    out[number()] = all[15 - i];
}
"""


def test_cluda():
    kernel = SourceModule(_cluda.CLUDA_PREAMBLE + CLUDA, no_extern_c=True).get_function("reverse")
    out = np.zeros(16 * 12, np.int32)
    kernel(drv.Out(out), np.int32(0), block=(8, 2, 1), grid=(2, 3, 2))
    assert (out.reshape(12, 16)[:, ::-1] == np.arange(192).reshape(12, 16)).all()
    assert kernel.max_threads_per_block == 16


def test_mymako():
    template = pytest.importorskip("mako.template")
    from pycuda import _mymako

    assert _mymako.template.Template is template.Template
    text = _mymako.template.Template("% for i in range(n):\nx${i};\n% endfor\n").render(n=3)
    assert text == "x0;\nx1;\nx2;\n"


def test_mymako_names_the_package_to_install():
    program = "import sys\nsys.modules['mako'] = None\nimport pycuda._mymako"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 1 and "pip install mako" in done.stderr


# ---- compyte.array


@pytest.mark.parametrize("shape", [(), (5,), (3, 4), (2, 3, 4), (1, 7), (0, 3)])
def test_strides_are_numpys(shape):
    for function, order in (array.c_contiguous_strides, "C"), (array.f_contiguous_strides, "F"):
        like = np.empty(shape, np.float64, order)
        assert function(8, shape) == like.strides or 0 in shape
        assert array.equal_strides(function(8, shape), like.strides, shape)
    strides = np.empty(shape, np.int16).strides
    assert array.is_c_contiguous_strides(strides, 2, shape)
    assert array.is_f_contiguous_strides(np.empty(shape, np.int16, "F").strides, 2, shape)
    assert not array.equal_strides((1,), (1, 2), (3, 4))


def test_common_dtypes():
    a, b = np.zeros(1, np.float32), np.zeros(1, np.complex128)
    assert array.get_common_dtype(a, b, True) == np.complex128
    assert array.get_common_dtype(a, b, False) == np.complex64
    assert array.get_common_dtype(a, 2.5, True) == np.float32


def test_as_strided():
    a = np.arange(12)
    view = array.as_strided(a, (3, 3), (8, 8))
    assert view.tolist() == [[0, 1, 2], [1, 2, 3], [2, 3, 4]] and np.shares_memory(a, view)


def test_bound_gives_the_first_address_and_the_end():
    a = np.zeros((4, 6), np.float32)
    low, high = array.bound(a)
    assert (low, high) == (a.ctypes.data, a.ctypes.data + a.nbytes)
    assert array.bound(a[::-1, ::-2])[0] == low + 4 and array.bound(a[1:, 1:])[1] == high


# ---- compyte.dtypes


def test_registries_of_opencl_and_c99_types():
    registry = dtypes.DTypeRegistry()
    dtypes.fill_registry_with_opencl_c_types(registry)
    dtypes.fill_registry_with_c99_stdint_types(registry)
    dtypes.fill_registry_with_c99_complex_types(registry)
    assert registry.dtype_to_ctype(np.uint16) == "ushort" and registry.dtype_to_ctype(np.int64) == "long"
    assert registry.name_to_dtype["uint8_t"] == np.uint8
    assert registry.get_or_register_dtype("float complex") == np.complex64
    parse = dtypes.parse_c_arg_backend
    assert parse("uchar *x", lambda *a: a, lambda *a: ("vector", *a), registry) == ("vector", np.uint8, "x")
    assert parse("ulong n", lambda *a: a, None, registry.name_to_dtype) == (np.uint64, "n")
    assert parse("ulong n", lambda *a: a, None, registry.name_to_dtype.__getitem__) == (np.uint64, "n")


def test_a_factorys_own_errors_are_not_hidden():
    def factory(dtype, name):
        raise KeyError("of the factory")

    with pytest.raises(KeyError, match="of the factory"):
        dtypes.parse_c_arg_backend("float x", factory, factory)


def test_the_deprecated_register_dtype(monkeypatch):
    """It uses the module's registry, which an empty one replaces here."""
    registry = dtypes.DTypeRegistry()
    monkeypatch.setattr(dtypes, "TYPE_REGISTRY", registry)
    pair = np.dtype([("x", np.float32), ("y", np.float32)])
    deprecated = pytest.warns(DeprecationWarning, match="use get_or_register_dtype")
    with deprecated as warned:
        dtypes.register_dtype(pair, "pair")
    assert warned[0].filename == __file__
    with deprecated, pytest.raises(RuntimeError, match="already registered"):
        dtypes.register_dtype(pair, "couple")
    with deprecated:
        dtypes.register_dtype(pair, ["couple"], alias_ok=True)
    assert registry.dtype_to_ctype(pair) == "pair" and registry.name_to_dtype["couple"] == pair


def test_the_modules_dictionaries_are_those_of_the_registry():
    assert dtypes.NAME_TO_DTYPE is dtypes.TYPE_REGISTRY.name_to_dtype
    assert dtypes.DTYPE_TO_NAME is dtypes.TYPE_REGISTRY.dtype_to_name
    with pytest.raises(dtypes.TypeNameNotKnown):
        dtypes.get_or_register_dtype("no_such_name")
    with pytest.raises(KeyError):
        dtypes.get_or_register_dtype("no_such_name")
