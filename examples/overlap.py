"""Copies and kernels of several streams at the same time, and a picture of what ran when."""

import numpy as np

try:
    from matplotlib.image import imsave
except ImportError:
    imsave = None  # nothing is drawn

import pycuda.driver as drv
from pycuda.compiler import SourceModule

STREAMS, PARTS, COUNT = 3, 6, 1 << 15
COLOURS = {"to the device": (70, 120, 200), "kernel": (220, 120, 40), "back": (80, 160, 90)}

work = SourceModule("""
__global__ void work(float *a, int count)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        float x = a[i];
        for (int k = 0; k < 100; k++) x = 0.5f * (x + 2 / x); // the square root of two
        a[i] = x;
    }
}
""").get_function("work")

streams = [drv.Stream() for _ in range(STREAMS)]
memory = [drv.mem_alloc(4 * COUNT) for _ in streams]
# Only copies of page-locked memory overlap with other work.
host = [drv.pagelocked_empty(COUNT, np.float32) for _ in range(PARTS)]
for number, part in enumerate(host):
    part[:] = number + 1

begin = drv.Event()
begin.record().synchronize()
marks = []  # (which stream, events before and after each of the three steps) of each part
for number, part in enumerate(host):
    which = number % STREAMS
    stream, place = streams[which], memory[which]
    events = [drv.Event() for _ in range(4)]
    events[0].record(stream)
    drv.memcpy_htod_async(place, part, stream)
    events[1].record(stream)
    work(place, np.int32(COUNT), block=(128, 1, 1), grid=(16, 1), stream=stream)
    events[2].record(stream)
    drv.memcpy_dtoh_async(part, place, stream)
    events[3].record(stream)
    marks.append((which, events))
for stream in streams:
    stream.synchronize()
assert all(np.allclose(part, 2**0.5) for part in host)

times = [(which, [begin.time_till(event) for event in events]) for which, events in marks]
total = max(spans[-1] for _, spans in times)
busy = sum(spans[-1] - spans[0] for _, spans in times)
print(f"{PARTS} parts in {STREAMS} streams, all correct; {busy / total:.1f} of them at a time")

picture = np.full((40 * STREAMS, 640, 3), 245, np.uint8)
for which, spans in times:
    for color, start, end in zip(COLOURS.values(), spans, spans[1:], strict=False):
        first, last = (int(639 * moment / total) for moment in (start, end))
        picture[40 * which + 6 : 40 * which + 34, first : last + 1] = color
if imsave:
    imsave("overlap.png", picture)
