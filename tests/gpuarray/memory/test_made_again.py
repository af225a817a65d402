"""Objects of dropped arrays are reused for new ones, and the plans of calls for later calls of the same form:
nothing of one array or call is seen in another, and a call makes few driver calls.
"""

import gc
import os
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda import cumath, gpuarray
from pycuda.elementwise import ElementwiseKernel
from pycuda.reduction import ReductionKernel
from pycuda.tools import clear_context_caches

F32 = np.float32


def test_a_new_array_has_nothing_of_a_dropped_one():
    for number in range(200):
        old = gpuarray.empty((2, 3, 4, 5, 6), np.int8) if number % 2 else gpuarray.empty(0, np.complex128)
        old.note = number
        seen = weakref.ref(old)
        del old
        assert seen() is None
        new = gpuarray.empty(3, F32)
        assert not hasattr(new, "note") and new.base is None
        assert new.shape == (3,) and new.strides == (4,) and new.dtype == F32 and new.nbytes == 12
        assert new.flags.c_contiguous and new.flags.f_contiguous
        assert new.allocator is drv.default_allocate


def test_reused_arrays_are_tracked_by_the_garbage_collector():
    array = gpuarray.empty(3, F32)
    assert gc.is_tracked(array)
    array.itself = array
    seen = weakref.ref(array)
    del array
    gc.collect()
    assert seen() is None


def test_more_arrays_at_once_than_objects_are_kept():
    arrays = [gpuarray.empty(n % 7 + 1, F32) for n in range(500)]
    assert len({int(array.gpudata) for array in arrays}) == 500
    del arrays
    arrays = [gpuarray.empty((n % 7 + 1, 2), np.int16) for n in range(500)]
    assert [array.shape for array in arrays] == [(n % 7 + 1, 2) for n in range(500)]


def test_subclasses_are_made_by_their_own_init():
    class Named(gpuarray.GPUArray):
        def __init__(self, shape, dtype, name="?"):
            super().__init__(shape, dtype)
            self.name = name

    for _ in range(3):
        array = Named(4, F32, name="x")
        assert type(array) is Named and array.name == "x" and array.shape == (4,)
    with pytest.raises(TypeError):
        Named(4)


def test_arguments_in_every_form():
    for array in (
        gpuarray.GPUArray(3, F32),
        gpuarray.GPUArray(shape=3, dtype=F32),
        gpuarray.GPUArray((3,), dtype="f4", order="F"),
        gpuarray.GPUArray(*[3, np.dtype(F32)], **{"strides": (4,)}),
        gpuarray.empty(np.int64(3), F32),
    ):
        assert array.shape == (3,) and array.dtype == F32 and array.strides == (4,)
    for wrong in ((), (3,), (3, F32, None, None, None, None, "C", 1)):
        with pytest.raises(TypeError):
            gpuarray.GPUArray(*wrong)
    with pytest.raises(TypeError, match="shapes"):
        gpuarray.GPUArray(3, F32, shapes=4)


def test_classes_as_dtypes_mean_numpys_dtypes():
    for _ in range(2):
        for kind in (np.bool_, np.int8, np.uint16, np.float16, F32, np.complex64, np.longlong, int, float):
            assert gpuarray.empty(2, kind).dtype == np.dtype(kind)
    with pytest.raises(TypeError):
        gpuarray.empty(2, object)


def test_an_init_that_a_program_assigns_is_called(elsewhere):
    """The fast way of making arrays must not skip it."""
    code = (
        "from pycuda import gpuarray\n"
        "seen = []\n"
        "inner = gpuarray.GPUArray.__init__\n"
        "def noted(self, *args, **kwargs):\n"
        "    seen.append(args)\n"
        "    inner(self, *args, **kwargs)\n"
        "gpuarray.GPUArray.__init__ = noted\n"
        "assert gpuarray.GPUArray(3, 'f4').shape == (3,)\n"
        "assert gpuarray.GPUArray(shape=4, dtype='f4').shape == (4,)\n"
        "assert seen == [(3, 'f4'), ()], seen\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ)


def test_the_end_of_a_program_frees_kept_objects(elsewhere):
    """PYTHONMALLOC=debug: Python's checks of its memory find no error, neither before the end nor at it."""
    code = (
        "import numpy as np\n"
        "import pycuda.autoinit\n"
        "from pycuda import gpuarray\n"
        "arrays = [gpuarray.empty(n, np.float32) for n in range(100)]\n"
        "sums = [array + array for array in arrays]\n"
        "views = [array[1:3] for array in arrays]\n"
        "del arrays, views\n"
    )
    environment = {**os.environ, "PYTHONMALLOC": "debug"}
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, env=environment)


# ---- the number of driver calls


# Prints name=driver calls for calls that were made before. PYCUDA_FAULT_CALL=0 has driver calls counted.
COUNTED = """
import numpy as np
import pycuda.autoinit
import pycuda.driver as drv
from pycuda import cumath, gpuarray
from pycuda._driver import _fault_calls
from pycuda.elementwise import ElementwiseKernel
from pycuda.reduction import ReductionKernel

a, b, z = (gpuarray.to_gpu(np.ones(64, np.float32)) for _ in range(3))
combine = ElementwiseKernel("float s, float *x, float *y, float *z", "z[i] = s*x[i] + y[i]")
squares = ReductionKernel(np.float32, "0", "a+b", "x[i]*x[i]", "const float *x")
calls = {
    "a + b": lambda: a + b,
    "a * 2.0": lambda: a * 2.0,
    "sin": lambda: cumath.sin(a),
    "sum": lambda: gpuarray.sum(a),
    "a.sum()": lambda: a.sum(),
    "elementwise": lambda: combine(2.0, a, b, z),
    "reduction": lambda: squares(a),
    "empty": lambda: gpuarray.empty(64, np.float32),
    "view": lambda: a[3:7],
}
for name, call in calls.items():
    for _ in range(3):
        call()
    before = _fault_calls()
    for _ in range(10):
        call()
    print(name, (_fault_calls() - before) / 10, sep="=")
"""


def test_a_call_makes_driver_calls_for_the_context_and_the_launch_only(elsewhere):
    environment = {**os.environ, "PYCUDA_FAULT_CALL": "0"}
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", COUNTED], capture_output=True, text=True, env=environment
    )
    assert run.returncode == 0, run.stderr
    counted = dict(line.split("=") for line in run.stdout.split("\n") if line)
    # The current context is queried once, or twice if a result is allocated; the launch is another call.
    limits = {"empty": 1, "view": 0, "a + b": 2, "a * 2.0": 2, "sin": 2, "elementwise": 2}
    assert len(counted) == 9
    assert {name: count for name, count in counted.items() if float(count) > limits.get(name, 3)} == {}


# ---- remembered calls


def test_the_plan_of_one_form_is_not_used_for_another():
    """Calls with operands of several forms (shapes and strides) alternate."""
    scale = ElementwiseKernel("float s, float *x, float *z", "z[i] = s*x[i]")
    squares = ReductionKernel(F32, "0", "a+b", "x[i]*x[i]", "const float *x")
    host = np.arange(48, dtype=F32)
    whole = gpuarray.to_gpu(host)
    forms = [
        lambda a: a,
        lambda a: a[:17],
        lambda a: a[3:40],
        lambda a: a[::2],
        lambda a: a[::-1],
        lambda a: a.reshape(6, 8),
        lambda a: a.reshape(6, 8).T,
        lambda a: a.reshape(6, 8)[1:5, 2:7],
    ]
    for _ in range(3):
        for form in forms:
            ours, numpys = form(whole), form(host)
            out = gpuarray.empty(numpys.shape, F32)
            scale(2.0, ours, out)
            assert np.array_equal(out.get(), 2 * numpys)
            assert squares(ours).get() == np.float32((numpys.astype(np.float64) ** 2).sum())
            assert gpuarray.sum(ours).get() == numpys.sum() == ours.sum().get()
            assert np.array_equal((ours + ours).get(), numpys + numpys)
            assert np.allclose(cumath.sin(ours).get(), np.sin(numpys), rtol=1e-6, atol=1e-6)


def test_remembered_calls_raise_the_errors_of_first_calls():
    scale = ElementwiseKernel("float s, float *x, float *z", "z[i] = s*x[i]")
    a, z = gpuarray.zeros(8, F32), gpuarray.zeros(8, F32)
    scale(2.0, a, z)
    for wrong, error in (
        ((2.0, a), TypeError),
        ((2.0, a, np.zeros(8, F32)), TypeError),
        ((2.0, a, gpuarray.zeros(8, np.int32)), TypeError),
        ((2.0, a, gpuarray.zeros(4, F32)), ValueError),
        (("two", a, z), TypeError),
    ):
        with pytest.raises(error):
            scale(*wrong)
    z.gpudata.free()
    with pytest.raises(drv.LogicError):
        scale(2.0, a, z)
    with pytest.raises(drv.LogicError):
        a + z
    with pytest.raises(drv.LogicError):
        gpuarray.sum(z)


def test_results_have_the_given_allocator_or_the_operands():
    pool = drv.DeviceMemoryPool()
    a = gpuarray.GPUArray(8, F32, allocator=pool.allocate)
    a.fill(2)
    squares = ReductionKernel(F32, "0", "a+b", "x[i]*x[i]", "const float *x")
    for _ in range(3):
        for result in (a + a, a.sum(), gpuarray.sum(a), squares(a), cumath.exp(a)):
            assert result.allocator == pool.allocate
        for result in (a.sum(allocator=drv.mem_alloc), gpuarray.sum(a, allocator=drv.mem_alloc)):
            assert result.allocator is drv.mem_alloc and result.get() == 16
        assert squares(a, allocator=drv.mem_alloc).allocator is drv.mem_alloc


def test_remembered_calls_use_the_given_or_the_current_stream():
    stream, a = drv.Stream(), gpuarray.zeros(1 << 12, F32)
    squares = ReductionKernel(F32, "0", "a+b", "x[i]*x[i]", "const float *x")
    a.fill(1, stream=stream)
    for _ in range(3):
        results = squares(a, stream=stream), gpuarray.sum(a, stream=stream), a.sum(stream=stream)
        with stream:
            results += squares(a), gpuarray.sum(a), a.sum(), (a + a)[0]
        stream.synchronize()
        assert [float(result.get()) for result in results] == [4096.0] * 6 + [2.0]


def test_kernels_in_a_reference_cycle_are_collected():
    scale = ElementwiseKernel("float s, float *x, float *z", "z[i] = s*x[i]")
    a = gpuarray.zeros(8, F32)
    scale(2.0, a, a)
    scale.itself = scale
    seen = weakref.ref(scale)
    del scale
    gc.collect()
    assert seen() is None


def test_calls_work_after_clear_context_caches():
    squares = ReductionKernel(F32, "0", "a+b", "x[i]*x[i]", "const float *x")
    a = gpuarray.to_gpu(np.ones(8, F32))
    for _ in range(2):
        assert squares(a).get() == 8 == gpuarray.sum(a).get()
        clear_context_caches()


def test_threads_make_and_drop_arrays_at_once():
    context, problems = drv.Context.get_current(), []

    def work(number):
        context.push()
        try:
            a = gpuarray.to_gpu(np.full(64, number, F32))
            for _ in range(200):
                b = a + a
                c = b[10:20]
                if float(c.sum().get()) != 20.0 * number:
                    problems.append(number)
        except Exception as error:
            problems.append(error)
        finally:
            context.pop()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []


def test_empty_like_keeps_the_order_of_axes_or_takes_another():
    pool = drv.DeviceMemoryPool()
    a = gpuarray.GPUArray((2, 3, 4), F32, allocator=pool.allocate)
    for like in (a, a.T, a.transpose(1, 0, 2), a[::2], a[:, ::-1]):
        strided = np.lib.stride_tricks.as_strided(np.empty(24, F32), like.shape, np.abs(like.strides))
        for order in "KCF":
            for dtype in (None, np.float64, "u1"):
                ours = gpuarray.empty_like(like, dtype, order)
                numpys = np.empty_like(strided, dtype, order)
                axes = [axis for axis, length in enumerate(like.shape) if length > 1]
                assert [ours.strides[axis] for axis in axes] == [numpys.strides[axis] for axis in axes]
                assert (ours.shape, ours.dtype) == (numpys.shape, numpys.dtype)
                assert ours.allocator == pool.allocate
    for wrong in ("X", "CF", "", 3):
        with pytest.raises(ValueError, match="order"):
            gpuarray.empty_like(a, order=wrong)
