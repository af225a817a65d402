"""Four threads bind one texture or surface reference to new arrays and launch with it: a launch reads the
same array as long as it runs, one of those that were bound.
"""

import pytest

PROGRAM = '''
import faulthandler, random, sys, threading, time

import numpy as np

import pycuda.driver as drv
from pycuda.compiler import SourceModule

faulthandler.dump_traceback_later(60, exit=True)
SECONDS, N = 2, 32
drv.init()
context = drv.Device(0).make_context()
module = SourceModule("""
texture<int, 1, cudaReadModeElementType> tex;
surface<void, 1> surf;
__global__ void read(int *out, int early) { out[threadIdx.x] = BODY; }
""".replace("BODY", {
    "array": "tex1D(tex, threadIdx.x)", "memory": "tex1Dfetch(tex, threadIdx.x)",
    "surface": "surf1Dread<int>(surf, 4 * threadIdx.x)",
}[KIND]))
read = module.get_function("read")
reference = module.get_surfref("surf") if KIND == "surface" else module.get_texref("tex")
texrefs = [] if KIND == "surface" else [reference]
values = [np.full(N, number, np.int32) for number in range(64)]
wrong, errors, launches = [], [], 0


def bind(number):
    """Binds the reference to memory that holds this number and that nothing else keeps alive."""
    if KIND == "memory":
        reference.set_address(drv.to_device(values[number]), 4 * N)
        return
    shape = drv.ArrayDescriptor3D()
    shape.width, shape.num_channels, shape.format = N, 1, drv.array_format.SIGNED_INT32
    shape.flags = drv.array3d_flags.SURFACE_LDST if KIND == "surface" else 0
    array = drv.Array(shape)
    drv.memcpy_htoa(array, 0, values[number])
    reference.set_array(array)


def work(seed):
    global launches
    context.push()
    dice = random.Random(seed)
    stream = drv.Stream() if OWN_STREAMS else None
    out, host = drv.mem_alloc(4 * N), np.empty(N, np.int32)
    try:
        while time.monotonic() < end and not errors:
            bind(dice.randrange(len(values)))
            for _ in range(dice.randrange(1, 4)):
                read(out, np.int32(0), block=(N, 1, 1), stream=stream, texrefs=texrefs)
            if stream:
                stream.synchronize()
            drv.memcpy_dtoh(host, out)
            if not (host == host[0]).all() or not 0 <= host[0] < len(values):
                wrong.append(host.tolist())
            launches += 1
    except drv.Error as error:
        errors.append(str(error))
    del stream, out
    drv.Context.pop()


bind(0)
end = time.monotonic() + SECONDS
threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(wrong[:1], errors[:1], launches > 10)
'''


@pytest.mark.parametrize("own_streams", [False, True], ids=["null-stream", "own-streams"])
@pytest.mark.parametrize("kind", ["array", "memory", "surface"])
def test_one_reference_in_four_threads(run_python, kind, own_streams):
    settings = f"KIND, OWN_STREAMS = {kind!r}, {own_streams}\n"
    done = run_python(settings + PROGRAM)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[] [] True\n", ""), done.stderr
