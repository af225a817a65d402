"""Numbers, structures and unions of ctypes are kernel arguments by value."""

import ctypes

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda.compiler import SourceModule


class Pair(ctypes.Structure):
    _fields_ = [("a", ctypes.c_float), ("b", ctypes.c_int)]


class Mixed(ctypes.Structure):
    _fields_ = [("c", ctypes.c_char), ("d", ctypes.c_double), ("p", Pair)]


class Either(ctypes.Union):
    _fields_ = [("number", ctypes.c_longlong), ("parts", ctypes.c_int * 2)]


class Swapped(ctypes.BigEndianStructure):
    _fields_ = [("a", ctypes.c_int), ("b", ctypes.c_int)]


@pytest.fixture(scope="module")
def kernel():
    return SourceModule("""
        struct Pair { float a; int b; };
        struct Mixed { char c; double d; Pair p; };
        union Either { long long number; int parts[2]; };
        __global__ void take(double *to, char c, Pair p, short h, Mixed m, Either e, double d, float f)
        {
            to[0] = c, to[1] = p.a, to[2] = p.b, to[3] = h, to[4] = m.c, to[5] = m.d, to[6] = m.p.a;
            to[7] = m.p.b, to[8] = e.parts[1], to[9] = d, to[10] = f;
        }
    """).get_function("take")


def arguments(to, **other):
    """The list of arguments of `take`; other: arguments to replace, by name."""
    given = dict(
        to=ctypes.c_void_p(int(to)),
        c=ctypes.c_byte(1),
        p=Pair(2.5, 3),
        h=ctypes.c_short(-4),
        m=Mixed(b"\x05", 6.5, Pair(7.5, 8)),
        e=Either(parts=(0, 9)),
        d=ctypes.c_double(10.5),
        f=ctypes.c_float(11.5),
    )
    return [*{**given, **other}.values()]


def test_every_kind_arrives(kernel):
    to, back = drv.mem_alloc(11 * 8), np.zeros(11)
    kernel(*arguments(to), block=(1, 1, 1))
    drv.memcpy_dtoh(back, to)
    assert back.tolist() == [1, 2.5, 3, -4, 5, 6.5, 7.5, 8, 9, 10.5, 11.5]


@pytest.mark.parametrize(
    "other",
    [
        dict(h=ctypes.c_int(1)),
        dict(p=ctypes.c_float(1)),
        dict(m=Pair(1, 2)),
        dict(d=ctypes.c_char_p(b"text")),
        dict(d=ctypes.py_object(kernel)),
        dict(p=Swapped(1, 2)),
        dict(f=ctypes.c_float.__ctype_be__(1)),
        dict(p=ctypes.pointer(ctypes.c_int(1))),
        dict(p=(ctypes.c_float * 2)(1, 2)),
    ],
)
def test_wrong_sizes_and_unsupported_types(kernel, other):
    with pytest.raises(TypeError):
        kernel(*arguments(drv.mem_alloc(11 * 8), **other), block=(1, 1, 1))
