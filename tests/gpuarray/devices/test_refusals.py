"""Arrays of two devices in one operation, and arrays of another device than that of the current context:
ValueError before anything is launched, in a context that still works.
"""

import ctypes
from types import SimpleNamespace

import numpy as np
import pytest

import pycuda.driver as drv


def check_operators():
    from pairs import FIRST, SECOND, assert_refused, on

    host = np.arange(1.0, 13.0)
    a, b, order = on(FIRST, host), on(SECOND, host), on(FIRST, [1, 2])
    for current in FIRST, SECOND:
        with current:
            for call in (
                lambda: a + b, lambda: b + a, lambda: a / b, lambda: a**b, lambda: a < b, lambda: a == b,
                lambda: divmod(a, b), lambda: a @ b, lambda: a[:] + b[::-1], lambda: a.reshape(3, 4) @ b,
                lambda: a.__iadd__(b), lambda: a.__setitem__(slice(2, 5), b[2:5]), lambda: a.set(b),
                lambda: a.__setitem__(order, b[:2]),
            ):  # fmt: skip
                assert_refused(call)
    with FIRST:
        assert ((a + a).get() == 2 * host).all()
    with SECOND:
        assert ((b + b).get() == 2 * host).all()
    assert (a.get() == host).all() and (b.get() == host).all()


def test_operators(on_two_devices):
    on_two_devices(check_operators)


def check_functions():
    """Functions with several arrays, also in lists, as keywords, as out= and where=."""
    from pairs import FIRST, SECOND, assert_refused, on

    import pycuda.numpy as pnp
    from pycuda import cumath, gpuarray

    host = np.arange(1.0, 10.0).reshape(3, 3)
    a, b = on(FIRST, host), on(SECOND, host)
    mask, order, counts = on(SECOND, host > 3), on(SECOND, np.argsort(host, axis=None)), on(SECOND, [1, 2, 3])
    with FIRST:
        for call in (
            lambda: np.add(a, b), lambda: np.add(a, a, out=b), lambda: np.add(a, a, where=mask),
            lambda: np.concatenate([a, b]), lambda: pnp.stack([a, a, b]), lambda: np.where(mask, a, a),
            lambda: np.block([[a, a], [a, b]]), lambda: np.einsum("ij,jk", a, b), lambda: np.kron(a, b),
            lambda: pnp.take(a, order), lambda: a[mask], lambda: a.ravel()[order], lambda: np.isin(a, b),
            lambda: np.searchsorted(a.ravel(), b), lambda: np.interp(a, b.ravel(), b.ravel()),
            lambda: np.linalg.solve(a, b), lambda: pnp.matmul(a, b), lambda: np.allclose(a, b),
            lambda: np.repeat(a.ravel()[:3], counts), lambda: np.histogram(a, bins=3, weights=b),
            lambda: np.copyto(a, b), lambda: np.sum(a, out=b[0], axis=0), lambda: np.sum(a, where=mask),
            lambda: np.cumsum(a, axis=0, out=b), lambda: np.add.at(a, [0, 1], b[:2]),
            lambda: np.add.reduce(a, out=b[0]), lambda: np.bincount(order, weights=a.ravel()),
            lambda: pnp.lexsort([a.ravel(), b.ravel()]), lambda: np.average(a, weights=b),
            lambda: gpuarray.dot(a, b), lambda: gpuarray.subset_dot(a, a, b),
            lambda: gpuarray.if_positive(b, a, a),
            lambda: gpuarray.maximum(a, b), lambda: gpuarray.multi_take([a], order.astype(np.int32), [b]),
            lambda: cumath.fmod(a, b), lambda: cumath.sin(a, out=b),
            lambda: a.mul_add(2, b, 3), lambda: a.dot(b), lambda: a.fill(b[0, 0]), lambda: a.take(order),
        ):  # fmt: skip
            try:
                assert_refused(call)
            except (AttributeError, TypeError) as error:
                raise AssertionError(f"{call.__code__.co_names}: {error}") from error
        assert (np.kron(a, a).get() == np.kron(host, host)).all()
    assert (a.get() == host).all() and (b.get() == host).all()


def test_functions(on_two_devices):
    on_two_devices(check_functions)


def check_descriptions():
    """Functions that read no elements take arrays of several devices."""
    from pairs import FIRST, SECOND, on

    import pycuda.numpy as pnp

    a, b = on(FIRST, np.arange(6, dtype=np.int32).reshape(2, 3)), on(SECOND, np.arange(3.0))
    with FIRST:
        for module in np, pnp:
            assert module.result_type(a, b) == np.float64 and not module.shares_memory(a, b)
            assert not module.may_share_memory(a, b)
            assert [each.shape for each in module.broadcast_arrays(a, b)] == [(2, 3)] * 2
        assert np.common_type(a, b) is np.float64 and (a, b) == (a, b)
        assert np.einsum_path("ij,j", a, b) == np.einsum_path("ij,j", np.zeros((2, 3)), np.zeros(3))


def test_descriptions(on_two_devices):
    on_two_devices(check_descriptions)


def check_kernels():
    from pairs import FIRST, SECOND, assert_refused, on

    from pycuda.compiler import SourceModule
    from pycuda.elementwise import ElementwiseKernel
    from pycuda.reduction import ReductionKernel
    from pycuda.scan import ExclusiveScanKernel, InclusiveScanKernel

    host = np.arange(64, dtype=np.float32)
    a, b = on(FIRST, host), on(SECOND, host)
    axpy = ElementwiseKernel("float k, float *x, float *y", "y[i] += k * x[i]")
    dot = ReductionKernel(np.float32, "0", "a + b", "x[i] * y[i]", "float *x, float *y")
    with FIRST:
        source = "__global__ void twice(float *x) { x[threadIdx.x] *= 2; }"
        twice = SourceModule(source).get_function("twice")
        scans = [kind(np.float32, "a + b", *more) for kind, *more in
                 ((InclusiveScanKernel,), (ExclusiveScanKernel, 0))]  # fmt: skip
        for _ in range(2):  # the second time the launches are remembered
            assert_refused(axpy, 2, a, b)
            assert_refused(axpy, 2, b, b)
            assert_refused(dot, a, b)
            assert_refused(dot, b, b)
            for scan in scans:
                assert_refused(scan, b)
                assert_refused(scan, a, b)
            assert_refused(twice, b, block=(64, 1, 1))
            twice.prepare("P")
            assert_refused(twice.prepared_call, (1, 1), (64, 1, 1), b)
            axpy(1, a, a)
            assert dot(a, a).get() == (a.get() ** 2).sum()
            twice(a, block=(64, 1, 1))
        assert (a.get() == 16 * host).all() and (b.get() == host).all()
    with SECOND:
        axpy(1, b, b)
        assert (b.get() == 2 * host).all()


def test_kernels(on_two_devices):
    on_two_devices(check_kernels)


def check_one_array_elsewhere():
    """Work on an array needs a context of its device, except copies from and to the host."""
    from pairs import FIRST, SECOND, assert_refused, on

    import pycuda.numpy as pnp
    from pycuda import cumath, curandom, gpuarray

    host = np.arange(1.0, 10.0).reshape(3, 3)
    b = on(SECOND, host)
    with FIRST:
        generator = curandom.XORWOWRandomNumberGenerator()
        for call in (
            lambda: b.sum(), lambda: b.max(axis=0), lambda: -b, lambda: b + 1, lambda: b.astype(np.float32),
            lambda: cumath.exp(b), lambda: np.sort(b), lambda: np.cumsum(b), lambda: np.median(b),
            lambda: b.copy(), lambda: b.T.copy("C"), lambda: b.fill(1), lambda: b[b > 3],
            lambda: np.linalg.inv(b), lambda: np.fft.fft(b), lambda: b @ b, lambda: np.linalg.svd(b),
            lambda: np.unique(b), lambda: np.histogram(b), lambda: b.real.sum(), lambda: gpuarray.sum(b),
            lambda: pnp.asarray(b, dtype=np.float32), lambda: generator.fill_uniform(b.astype(np.float64)),
            lambda: np.nonzero(b), lambda: b.any(), lambda: np.argmax(b), lambda: np.var(b),
        ):  # fmt: skip
            assert_refused(call)
        for index in np.s_[:], np.s_[::2, 1], np.s_[:, ::-1]:
            assert (b[index].get() == host[index]).all() and (b.T[index].get() == host.T[index]).all()
        assert float(b[1, 1]) == 5 and bool(b[0, 0]) and b[2].tolist() == [7, 8, 9]
        assert repr(b) == repr(host) and str(b[:, 1]) == "[2. 5. 8.]"
        b[1].set(np.array([30.0, 20, 10]))
        b.set_async(2 * b.get())
        assert (b.get_async() == 2 * np.array([[1, 2, 3], [30, 20, 10], [7, 8, 9.0]])).all()
        assert b.shape == (3, 3) and b.T.strides == (8, 24) and b.device == drv.Device(1)


def test_one_array_elsewhere(on_two_devices):
    on_two_devices(check_one_array_elsewhere)


def check_copies_are_in_order():
    """get() and set() wait for the work on the array's device, not for that of the current one."""
    from pairs import FIRST, SECOND, on

    b = on(SECOND, np.zeros(100_000))
    for k in range(1, 20):
        with SECOND:
            for _ in range(5):
                b += 1
        with FIRST:
            assert (b.get() == 5 * k).all()


def test_copies_are_in_order(on_two_devices):
    on_two_devices(check_copies_are_in_order)


def check_views_and_memory_of_others():
    """Where memory is that GPUArrays did not allocate: the driver knows."""
    from pairs import FIRST, SECOND, assert_refused, on

    from pycuda import gpuarray
    from pycuda.compiler import SourceModule

    class Foreign:
        def __init__(self, array):
            self.__cuda_array_interface__ = array.__cuda_array_interface__
            self.array = array

    class Exporting:
        def __init__(self, array):
            self.__dlpack__, self.__dlpack_device__ = array.__dlpack__, array.__dlpack_device__

    host = np.arange(6.0)
    a, b = on(FIRST, host), on(SECOND, host)
    theirs = gpuarray.GPUArray(6, float, gpudata=int(b.gpudata), base=b)
    with SECOND:
        views = [b[::2], theirs[3:], theirs, gpuarray.from_dlpack(b), drv._driver._views((Foreign(b),))[0]]
    with FIRST:
        for view in views:
            assert_refused(lambda view=view: view + 1)
            assert_refused(lambda view=view: a[: view.size] + view)
            assert view.device == drv.Device(1)
        for call in (
            lambda: a + Foreign(b),
            lambda: gpuarray.from_dlpack(Foreign(b)),
            lambda: a.set(Foreign(b)),
        ):
            with pytest.raises((ValueError, AttributeError), match="device 1|__dlpack_device__"):
                call()
        source = "__global__ void twice(double *x) { x[threadIdx.x] *= 2; }"
        twice = SourceModule(source).get_function("twice")
        twice.prepare("P")
        for kind in Foreign, Exporting:
            with pytest.raises(ValueError, match="in memory of device 1"):
                twice(kind(b), block=(6, 1, 1))
            with pytest.raises(ValueError, match="in memory of device 1"):
                twice.prepared_call((1, 1), (6, 1, 1), kind(b))
        twice(Foreign(a), block=(6, 1, 1))
        twice.prepared_call((1, 1), (6, 1, 1), Exporting(a))
        assert (a.get() == 4 * host).all()
    with SECOND:
        for view in views:
            assert (view + 1).get()[0] == view.get()[0] + 1
        assert ((b + Foreign(b)).get() == 2 * host).all()


def test_views_and_memory_of_others(on_two_devices):
    on_two_devices(check_views_and_memory_of_others)


def check_memory_of_all_devices():
    """Managed and page-locked memory is used on both."""
    from pairs import FIRST, SECOND, on

    from pycuda import gpuarray
    from pycuda.tools import ManagedMemoryPool

    host = np.arange(6.0)
    a = on(FIRST, host)
    with SECOND:
        managed = gpuarray.to_gpu(host, allocator=ManagedMemoryPool())
        flags = drv.host_alloc_flags
        locked = drv.pagelocked_empty(6, float, mem_flags=flags.PORTABLE | flags.DEVICEMAP)
        locked[:] = host
        SECOND.synchronize()
    mapped = gpuarray.GPUArray(6, float, gpudata=locked.base.get_device_pointer(), base=locked)
    with FIRST:
        assert ((a + managed).get() == 2 * host).all() and ((mapped * a).get() == host**2).all()
        assert managed.sum().get() == mapped.sum().get() == 15


def test_memory_of_all_devices(on_two_devices):
    on_two_devices(check_memory_of_all_devices)


def check_peer_access():
    """Arrays of both devices go together once the user has enabled access; a copy does not enable it."""
    from pairs import FIRST, SECOND, assert_refused, on

    if not drv.Device(0).can_access_peer(drv.Device(1)):
        print("skipped")
        return
    host = np.arange(6.0)
    a, b = on(FIRST, host), on(SECOND, host)
    with FIRST:
        assert (b.to_device(0).get() == host).all()
        assert_refused(lambda: a + b)
        for _ in range(2):
            FIRST.enable_peer_access(SECOND)
            with pytest.raises(drv.LogicError) as error:
                FIRST.enable_peer_access(SECOND)
            assert error.value.name == "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED"
            assert ((a + b).get() == 2 * host).all() and b.sum().get() == 15
            FIRST.disable_peer_access(SECOND)
            assert_refused(lambda: a + b)
            with pytest.raises(drv.LogicError) as error:
                FIRST.disable_peer_access(SECOND)
            assert error.value.name == "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED"
            assert (b.to_device(0).get() == host).all()
    with SECOND:
        assert_refused(lambda: a + b)


def test_peer_access(on_two_devices):
    on_two_devices(check_peer_access)


def check_another_object_of_a_context(library):
    """A copy gives device 0 access to the primary context of device 1. The access is still for copies alone
    with other objects of both contexts; the memory of other libraries is refused as well."""
    from pycuda import gpuarray

    cuda, kept = ctypes.CDLL(library), ctypes.c_void_p()
    drv.init()
    for device in range(2):
        assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(kept), device) == 0
    for _ in range(2):
        first = drv.Device(0).retain_primary_context()
        with first:
            a = gpuarray.to_gpu(np.arange(6.0))
            for _ in range(2):
                second = drv.Device(1).retain_primary_context()
                b = a.to_device(second)
                with pytest.raises(ValueError, match="on device 1, but the current context is on device 0"):
                    a + b
                assert (b.to_device(0).get() == a.get()).all()
                with pytest.raises(ValueError, match="on device 1, but the current context is on device 0"):
                    a + b
                with pytest.raises(ValueError, match="in memory of device 1"):
                    a + SimpleNamespace(__cuda_array_interface__=b.__cuda_array_interface__)
                del b
                second.detach()
        del a
        first.detach()
    drv.Device(0).retain_primary_context().push()  # in place of the one that was current
    for device in range(2):
        assert cuda.cuDevicePrimaryCtxRelease_v2(device) == 0


def test_another_object_of_a_context(on_two_devices, driver_library):
    on_two_devices(check_another_object_of_a_context, driver_library)


def test_contexts_of_one_device(primary_context):
    """They may use each other's memory."""
    from pycuda import gpuarray

    other = drv.Device(0).make_context()
    try:
        a = gpuarray.to_gpu(np.arange(5.0))
        other.synchronize()
    finally:
        other.pop()
    assert (a + a).get().tolist() == [0, 2, 4, 6, 8] and a.sum().get() == 10
    drv.Context.synchronize()
    del a
    other.detach()


def check_mapped_memory():
    """Physical memory of a device that the user has given another one access to."""
    from pairs import FIRST, SECOND, assert_refused

    from pycuda import gpuarray

    if not drv.Device(0).can_access_peer(drv.Device(1)):
        print("skipped")
        return
    with SECOND:
        unit = drv.mem_get_allocation_granularity()
        space = drv.AddressRange(unit)
        space.map(0, drv.PhysicalMemory(unit, drv.Device(1)))
        b = gpuarray.GPUArray(100, float, gpudata=space)
        b.fill(3)
        SECOND.synchronize()
    with FIRST:
        assert b.device == drv.Device(1)
        assert_refused(lambda: b + 1)
        space.set_access(drv.mem_access_flags.PROT_READWRITE, drv.Device(0))
        assert set((b + 1).get()) == {4} and b.sum().get() == 300


def test_mapped_memory(on_two_devices):
    on_two_devices(check_mapped_memory)
