"""Exceptions: base classes, messages, attributes; and what is reported where no exception can be raised."""

import builtins
import textwrap

import pytest
from devices import on_cpu_device

import pycuda._driver
import pycuda.driver as drv


def test_tree():
    assert issubclass(drv.Error, Exception)
    for name in ("MemoryError", "LogicError", "LaunchError", "RuntimeError", "CompileError"):
        cls = getattr(drv, name)
        assert cls.__base__ is drv.Error and cls.__name__ == name
    assert not issubclass(drv.MemoryError, builtins.MemoryError)
    assert not issubclass(drv.RuntimeError, builtins.RuntimeError)


def test_the_native_module_has_them_too():
    for name in ("Error", "LogicError", "MemoryError", "LaunchError", "RuntimeError"):
        assert getattr(pycuda._driver, name) is getattr(drv, name)
        assert getattr(drv, name).__module__ == "pycuda.driver"


def test_kernel_faults_are_caught_by_both_names():
    assert issubclass(drv._driver.KernelError, drv.LaunchError)
    assert issubclass(drv._driver.KernelError, drv.LogicError)


def test_an_error_has_code_name_and_routine():
    with pytest.raises(drv.LogicError) as caught:
        drv.mem_alloc(0)
    error = caught.value
    assert str(error) == "cuMemAlloc failed: invalid argument"
    assert (error.code, error.name, error.routine) == (1, "CUDA_ERROR_INVALID_VALUE", "cuMemAlloc")


def test_an_error_that_is_not_the_drivers_has_no_code():
    error = drv.LogicError("text")
    assert str(error) == "text" and error.code is None and error.name is None and error.routine is None


def test_out_of_memory_says_how_much():
    text = r"cuMemAlloc failed: out of memory - \d+\.\d PiB requested, .* free"
    with pytest.raises(drv.MemoryError, match=text) as caught:
        drv.mem_alloc(1 << 52)
    assert caught.value.code == 2


def test_bad_device():
    drv.init()
    with pytest.raises(drv.LogicError, match="cuDeviceGet failed: invalid device ordinal") as caught:
        drv.Device(drv.Device.count())
    assert caught.value.name == "CUDA_ERROR_INVALID_DEVICE"


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: drv.mem_alloc(), "missing required argument 'bytes'"),
        (lambda: drv.mem_alloc(1, 2), "takes at most 1 argument \\(2 given\\)"),
        (lambda: drv.mem_alloc(1, bytes=2), "multiple values for argument 'bytes'"),
        (lambda: drv.mem_alloc(nonsense=2), "unexpected keyword argument 'nonsense'"),
        (lambda: drv.mem_alloc(1.5), "must be an integer, not float"),
        (lambda: drv.mem_alloc("1"), "must be an integer, not str"),
        (lambda: drv.Event().record("stream"), "stream must be a Stream or None, not str"),
        (lambda: drv.Stream().wait_for_event(1), "evt must be an Event, not int"),
        (lambda: drv.memcpy_htod(None, b"1"), "a device pointer is expected"),
        (lambda: drv.memcpy_htod(0, 1), "a buffer or an array in host memory is expected, not int"),
    ],
)
def test_wrong_arguments_are_type_errors(call, text):
    with pytest.raises(TypeError, match=text):
        call()


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda: drv.mem_alloc(-1), ValueError),
        (lambda: drv.mem_alloc(1 << 70), OverflowError),
        (lambda: drv.Stream(1 << 40), OverflowError),
        (lambda: drv.Event(-1), OverflowError),
        (lambda: drv.Device(1 << 40), OverflowError),
    ],
)
def test_numbers_out_of_range(call, kind):
    with pytest.raises(kind):
        call()


def test_an_unknown_driver_is_named(run_python):
    done = run_python(
        """
        import pycuda.driver as drv
        try:
            drv.init()
        except drv.RuntimeError as error:
            print(error)
        try:
            drv.mem_alloc(1)
        except drv.RuntimeError as error:
            print(error)
        """,
        env={"PYCUDA_DRIVER": "/nonexistent/libcuda.so.1"},
        check=True,
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 2 and all("failed: /nonexistent/libcuda.so.1" in line for line in lines)


def test_import_needs_no_driver(run_python):
    done = run_python(
        """
        import pycuda.driver as drv
        print(drv.get_version(), drv.ctx_flags.SCHED_AUTO)
        """,
        env={"PYCUDA_DRIVER": "/nonexistent/libcuda.so.1"},
        check=True,
    )
    assert done.stdout == "(13, 0, 0) SCHED_AUTO\n"


# Turns fault injection on, without a failure yet: _fault_arm(n, code) then makes the n-th driver call from
# there fail with that code (core/fault_injection.h).
FAULTY = {"PYCUDA_FAULT_CALL": "0"}


def test_each_call_of_an_allocation_may_fail(run_python):
    """Whichever driver call of work() fails, it raises or gives the right result, and nothing leaks. The call
    that fails is one later each time, until work() makes fewer calls than that."""
    done = run_python(
        """
        import gc
        import numpy as np
        import pycuda.driver as drv
        core = drv._driver
        drv.init()

        def work():
            a = drv.to_device(np.arange(10))
            b = drv.mem_alloc(80)
            s = drv.Stream()
            e = drv.Event()
            drv.memcpy_dtod_async(b, a, 80, s)
            e.record(s).synchronize()
            s.synchronize()
            out = np.empty(10, int)
            drv.memcpy_dtoh(out, b)
            assert (out == np.arange(10)).all()

        work()
        failures = 0
        for n in range(1, 10_000):  # work() asks a busy GPU many times whether it is done
            before = core._fault_calls()
            assert core._fault_arm(n, 1)
            try:
                work()
            except drv.LogicError as error:
                assert "failed: invalid argument" in str(error), error
                failures += 1
            finished = core._fault_calls() - before < n
            core._fault_arm(0)
            drv.Context.synchronize()
            gc.collect()
            left = {k: v for k, v in core._live_objects().items() if v and k != "Context"}
            assert not left, (n, left)
            if finished:
                break
        work()
        print(failures > 8, finished)
        """,
        env=FAULTY,
        check=True,
    )
    assert done.stdout == "True True\n"


def test_a_failed_release_is_reported_and_not_raised(run_python):
    done = run_python(
        """
        import pycuda.driver as drv
        a = drv.mem_alloc(10)
        drv._driver._fault_arm(3, 1)   # the call after cuThreadExchangeStreamCaptureMode is cuMemFree
        del a
        print("alive")
        """,
        env=FAULTY,
        check=True,
    )
    assert done.stdout == "alive\n"
    assert "cuMemFree failed: invalid argument" in done.stderr


def test_shortage_collects_garbage_and_tries_again(run_python):
    done = run_python(
        """
        import gc, weakref
        import pycuda.driver as drv
        gc.disable()

        class Holder:
            pass

        holder = Holder()
        holder.self, holder.memory = holder, drv.mem_alloc(1000)
        gone = weakref.ref(holder)
        del holder
        drv.Context.synchronize()
        drv._driver._fault_arm(2, 2)   # the call after cuCtxGetCurrent is cuMemAlloc: out of memory
        memory = drv.mem_alloc(1000)
        print(gone() is None, memory.size)
        """,
        env=FAULTY,
        check=True,
    )
    assert done.stdout == "True 1000\n"


# Ends with a kernel that writes to an address that is not mapped, without waiting for it.
FAULT = '''
    import sys
    import numpy as np
    import pycuda.driver as drv

    PTX = b"""
    .version 7.0
    .target sm_50
    .address_size 64
    .visible .entry poke(.param .u64 place)
    {
        .reg .b64 %rd<2>;
        .reg .b32 %r<2>;
        ld.param.u64 %rd1, [place];
        mov.u32 %r1, 42;
        st.global.u32 [%rd1], %r1;
        ret;
    }
    """ + bytes(1)

    drv.init()
    context = drv.Device(0).make_context()
    module = drv.module_from_buffer(PTX)
    poke = module.get_function("poke")
    memory, stream, event = drv.to_device(np.zeros(4, np.uint32)), drv.Stream(), drv.Event()
    poke(memory, block=(1, 1, 1))
    print(drv.from_device(memory, 4, np.uint32))
    poke(np.uint64(16), block=(1, 1, 1))
'''


@pytest.mark.parametrize("can_cancel", ["1", "0"])
def test_a_kernels_fault_is_reported_once_and_clean_up_is_quiet(run_python, can_cancel):
    """With PYCUDA_CPU_CANCEL=0 the CPU device offers no waits with a timeout, so that its work is waited for
    as a GPU's is."""
    done = run_python(
        FAULT
        + """
    try:
        drv.Context.synchronize()
    except drv.LaunchError as error:
        print(isinstance(error, drv.LogicError), error.code, error.name)
        print(error, file=sys.stderr)
    del memory, stream, event, poke, module
    context.detach()
    print("end")
""",
        env={"PYCUDA_CPU_CANCEL": can_cancel},
        check=True,
    )
    assert done.stdout == "[42  0  0  0]\nTrue 700 CUDA_ERROR_ILLEGAL_ADDRESS\nend\n"
    text = done.stderr.strip()
    assert text.startswith("cuCtxSynchronize failed: an illegal memory access was encountered")
    assert text.count("failed") == 1
    if "CPU device" in text:
        assert "poke" in text and "thread (0,0,0)" in text and "0x10" in text


def test_a_kernels_fault_without_a_synchronization_is_reported_once(run_python):
    done = run_python(
        FAULT
        + """
    import time
    time.sleep(0.5)
    del memory, stream, event, poke, module
    context.detach()
    print("end")
""",
        check=True,
    )
    assert done.stdout == "[42  0  0  0]\nend\n"
    assert done.stderr.count("an illegal memory access was encountered") == 1


RELEASES = {
    "memory": "drv.mem_alloc(100)",
    "event": "drv.Event()",
    "page-locked memory": "drv.pagelocked_zeros(100, np.int8)",
    "stream": "drv.Stream()",
    "array": "gpuarray.zeros(100, np.int8)",
    "image": "drv.np_to_array(np.zeros((4, 4), np.float32), 'C')",
    "module": "drv.module_from_buffer(PTX)",
}


@pytest.mark.parametrize("what", RELEASES)
def test_a_release_before_the_exception_takes_nothing_from_it(run_python, what):
    """An object is released after the fault and before the call that raises it: the release, which fails,
    reports nothing, and the exception still has the whole message."""
    done = run_python(
        f"""
import time
from pycuda import gpuarray
{textwrap.dedent(FAULT.replace("poke(np.uint64(16), block=(1, 1, 1))", ""))}
thing = {RELEASES[what]}
drv.Context.synchronize()
poke(np.uint64(16), block=(1, 1, 1))
time.sleep(0.2)
del thing
try:
    drv.Context.synchronize()
except drv.KernelError as error:
    print(error)
del memory, stream, event, poke, module
context.detach()
""",
        check=True,
    )
    lines = done.stdout.splitlines()
    assert (len(lines), done.stderr) == (2, ""), done.stderr
    assert lines[1].startswith("cuCtxSynchronize failed: an illegal memory access was encountered")
    if on_cpu_device():
        assert "kernel poke" in lines[1]


def test_a_module_that_is_released_before_its_fault_is_raised(run_python):
    """The module's only reference is a temporary of the expression that launches; the exception still names
    the kernel."""
    done = run_python(
        f"""
import time
import pycuda.autoinit
{textwrap.dedent(FAULT[: FAULT.index("    drv.init()")])}
drv.module_from_buffer(PTX).get_function("poke")(np.uint64(16), block=(1, 1, 1)), time.sleep(0.2)
try:
    drv.Context.synchronize()
except drv.KernelError as error:
    print(error)
""",
        check=True,
    )
    assert (done.stdout.count("illegal memory access"), done.stderr) == (1, "")
    if on_cpu_device():
        assert "kernel poke" in done.stdout


@pytest.mark.cpu("a GPU's driver may have given the whole process up")
def test_a_raised_fault_is_not_reported_again_by_releases_in_its_context(run_python):
    done = run_python(
        FAULT
        + """
    try:
        drv.Context.synchronize()
    except drv.LogicError:
        pass
    context.pop()
    other = drv.Device(0).make_context()
    del memory, stream, event, poke, module
    drv.Context.synchronize()
""",
        check=True,
    )
    assert done.stderr == ""


def test_another_context_after_a_fault(run_python):
    """Another context works on the CPU device. A GPU's driver may refuse further work of the whole process,
    with the error of the fault."""
    on_cpu = on_cpu_device()
    done = run_python(
        FAULT
        + """
    try:
        drv.Context.synchronize()
    except drv.LogicError:
        pass
    del memory, stream, event, poke, module
    context.detach()
    try:
        with drv.Device(0).make_context():
            poke = drv.module_from_buffer(PTX).get_function("poke")
            memory = drv.to_device(np.zeros(4, np.uint32))
            poke(memory, block=(1, 1, 1))
            print(drv.from_device(memory, 4, np.uint32))
    except drv.Error as error:
        print(error.name)
""",
        check=True,
    )
    good = "[42  0  0  0]\n"
    allowed = [good + good] if on_cpu else [good + good, good + "CUDA_ERROR_ILLEGAL_ADDRESS\n"]
    assert done.stdout in allowed and done.stderr == ""
