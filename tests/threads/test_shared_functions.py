"""One kernel and its texture references in several threads: a launch uses what it read at its beginning."""

import sys
import threading

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda.compiler import SourceModule

pytestmark = pytest.mark.usefixtures("primary_context")

N, THREADS, ROUNDS = 32, 4, 200
READS = {
    "array": "tex1D(tex, threadIdx.x)",
    "memory": "tex1Dfetch(tex, threadIdx.x)",
    "surface": "surf1Dread<int>(surf, 4 * threadIdx.x)",
}
SOURCE = """
texture<int, 1, cudaReadModeElementType> tex;
texture<int, 1, cudaReadModeElementType> other;
surface<void, 1> surf;
__global__ void read(int *out) { out[threadIdx.x] = BODY; }
"""


@pytest.fixture(autouse=True)
def threads_change_often():
    """Lets the interpreter change threads every microsecond, to find more races."""
    was = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(was)


def together(work, count=THREADS):
    """Runs work(number) in threads of their own at the same time; raises what one of them raised."""
    context, failures, start = drv.Context.get_current(), [], threading.Barrier(count)

    def run(number):
        context.push()
        try:
            start.wait(60)
            work(number)
        except BaseException as failure:
            failures.append(failure)
        finally:
            drv.Context.pop()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    context.synchronize()  # releases what was bound before
    if failures:
        raise failures[0]


def bind(reference, kind, number):
    """Binds the reference to memory full of this number, which nothing else keeps alive."""
    values = np.full(N, number, np.int32)
    if kind == "memory":
        reference.set_address(drv.to_device(values), 4 * N)
        return
    shape = drv.ArrayDescriptor3D()
    shape.width, shape.num_channels, shape.format = N, 1, drv.array_format.SIGNED_INT32
    shape.flags = drv.array3d_flags.SURFACE_LDST if kind == "surface" else 0
    array = drv.Array(shape)
    drv.memcpy_htoa(array, 0, values)
    reference.set_array(array)


@pytest.mark.parametrize("own_streams", [False, True], ids=["null stream", "own streams"])
@pytest.mark.parametrize("outstanding", [False, True], ids=["", "host function outstanding"])
@pytest.mark.parametrize("kind", READS)
def test_one_reference_bound_by_all(kind, own_streams, outstanding):
    """Each launch reads one whole array of those that were bound, and that still exists."""
    module = SourceModule(SOURCE.replace("BODY", READS[kind]))
    read = module.get_function("read")
    reference = module.get_surfref("surf") if kind == "surface" else module.get_texref("tex")
    texrefs = [] if kind == "surface" else [reference]
    go, blocked = threading.Event(), drv.Stream(drv.stream_flags.NON_BLOCKING)
    bind(reference, kind, 0)

    def work(number):
        stream = drv.Stream(drv.stream_flags.NON_BLOCKING) if own_streams else None
        out, host = drv.mem_alloc(4 * N), np.empty(N, np.int32)
        for k in range(ROUNDS):
            bind(reference, kind, 1000 * number + k)
            if outstanding and k % 20 == number:
                blocked.launch_host_func(go.wait, 0.002)
            for _ in range(1 + k % 3):
                read(out, block=(N, 1, 1), stream=stream, texrefs=texrefs)
            if stream:
                stream.synchronize()
            drv.memcpy_dtoh(host, out)
            assert (host == host[0]).all() and host[0] % 1000 < ROUNDS and host[0] // 1000 < THREADS

    together(work)
    blocked.synchronize()


def test_two_references_and_settings_that_change():
    module = SourceModule(
        """
        texture<int, 1, cudaReadModeElementType> a;
        texture<int, 1, cudaReadModeElementType> b;
        __global__ void read(int *out)
        {
            out[threadIdx.x] = tex1Dfetch(a, threadIdx.x);
            out[threadIdx.x + 32] = tex1Dfetch(b, threadIdx.x);
        }
        """
    )
    read, a, b = module.get_function("read"), module.get_texref("a"), module.get_texref("b")
    bind(a, "memory", 0)
    bind(b, "memory", 10000)

    def work(number):
        stream = drv.Stream(drv.stream_flags.NON_BLOCKING)
        out, host = drv.mem_alloc(8 * N), np.empty(2 * N, np.int32)
        for k in range(ROUNDS):
            bind(*((a, "memory", k) if k % 2 else (b, "memory", 10000 + k)))
            a.set_flags(k % 2 and drv.TRSF_READ_AS_INTEGER)
            read(out, block=(N, 1, 1), stream=stream)
            drv.memcpy_dtoh_async(host, out, stream)
            stream.synchronize()
            assert (host[:N] == host[0]).all() and host[0] < ROUNDS
            assert (host[N:] == host[N]).all() and 10000 <= host[N] < 10000 + ROUNDS

    together(work)


@pytest.mark.parametrize("kind", ["texture", "surface"])
def test_a_name_is_one_reference_for_all_callers(kind):
    module = SourceModule(SOURCE.replace("BODY", READS["memory"]))
    for name in ("surf",) if kind == "surface" else ("tex", "other"):
        found, array = [], None
        get = module.get_surfref if kind == "surface" else module.get_texref
        together(lambda number, get=get, name=name, found=found: found.append(get(name)), 8)
        shape = drv.ArrayDescriptor3D()
        shape.width, shape.num_channels, shape.format = N, 1, drv.array_format.SIGNED_INT32
        shape.flags = drv.array3d_flags.SURFACE_LDST
        array = drv.Array(shape)
        found[0].set_array(array)
        assert [reference.get_array() is array for reference in found] == [True] * 8


class Preparing:
    """A number that prepares a function when it is read. Not a class of the test: what such a class refers to
    is never freed by CPython 3.13 without the GIL.
    """

    def __init__(self, function):
        self.function = function

    def __index__(self):
        for _ in range(100):
            self.function.prepare([np.intp, np.int32, np.int32])
        return 5


def test_prepare_in_the_middle_of_a_prepared_call():
    """An argument's __index__ prepares the function again, as another thread could at that moment."""
    module = SourceModule("__global__ void add(int *out, int a, int b) { *out = a + b; }")
    add = module.get_function("add").prepare("Pii")
    out, host = drv.mem_alloc(4), np.zeros(1, np.int32)
    add.prepared_call((1, 1), (1, 1, 1), out, Preparing(add), 7)
    drv.memcpy_dtoh(host, out)
    assert host[0] == 12
