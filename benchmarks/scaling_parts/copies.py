"""Arrays that leave the device and come back: pickled, in messages of distributed, spilled to disk by it.
With the driver's two copies alone, and the same of an array of NumPy. What arrives from elsewhere is in
memory that is not page-locked: a second table has the ways to copy from it, and to fresh memory of NumPy's.
"""

import pickle
import tempfile

import numpy as np

from .setup import has, in_turn, power, timed

SIZES = [1 << 10, 1 << 20, 1 << 24, 1 << 28]
SMALL = [1 << 10, 1 << 20]
LARGE = 1 << 20  # bytes of frames that are to be page-locked


def in_frames(value):
    """Pickled with its memory outside of the pickle, and back."""
    frames = []
    head = pickle.dumps(value, protocol=5, buffer_callback=frames.append)
    return pickle.loads(head, buffers=frames)


def in_frames_elsewhere(value):
    """As in_frames, but what is unpickled is in memory of another process, say: the frames were copied."""
    frames = []
    head = pickle.dumps(value, protocol=5, buffer_callback=frames.append)
    return pickle.loads(head, buffers=[np.array(np.frombuffer(frame, np.uint8)) for frame in frames])


def in_band(value):
    return pickle.loads(pickle.dumps(value, protocol=5))


def in_message(value):
    """As distributed sends it."""
    from distributed.protocol import deserialize, serialize

    return deserialize(*serialize(value, serializers=["dask", "pickle"], on_error="raise"))


def spilled(value):
    """Written to disk by distributed's buffer, and read."""
    from distributed.spill import SpillBuffer

    with tempfile.TemporaryDirectory() as folder:
        buffer = SpillBuffer(folder, target=0)
        buffer["value"] = value
        assert "value" in buffer.slow, "it was not written to disk"
        found = buffer["value"]
        buffer.close()
        return found


def frames_of(array):
    frames = []
    pickle.dumps(array, protocol=5, buffer_callback=frames.append)
    return frames


def first_frames(array):
    """The pickle of an array whose context has no pool of page-locked memory yet."""
    from pycuda.tools import clear_context_caches

    clear_context_caches()
    frames_of(array)


def check_page_lock(setup, drv, array):
    """Notes it if the driver has no page-locked memory for the frames of a large pickle."""
    (frame,) = frames_of(array)
    if array.nbytes >= LARGE and not isinstance(memoryview(frame).obj.base, drv.HostPointer):
        setup.note(f"the frames of a pickle of {power(array.nbytes)} are not page-locked")


def single_copies(setup, drv, gpuarray, size):
    """{way: ns} of one copy of so many bytes"""
    host = np.resize(np.arange(251, dtype=np.uint8), size)
    array, pinned = gpuarray.to_gpu(host), drv.pagelocked_empty(size, np.uint8)
    pageable, wait = np.empty_like(host), drv.Context.synchronize
    pageable[:] = 0
    count = 2 if setup.small else max(2, min(50, (1 << 28) // size))
    calls = {
        "to, page-locked": lambda: drv.memcpy_htod(array.gpudata, pinned),
        "to, pageable": lambda: drv.memcpy_htod(array.gpudata, host),
        "from, page-locked": lambda: drv.memcpy_dtoh(pinned, array.gpudata),
        "from, pageable": lambda: drv.memcpy_dtoh(pageable, array.gpudata),
        "from, fresh": lambda: array.get(),
        "from, pickled": lambda: frames_of(array),
        "from, pickled first": lambda: first_frames(array),
    }
    check_page_lock(setup, drv, array)
    timers = {name: lambda call=call: timed(call, count, wait) for name, call in calls.items()}
    return {name: pair[1] for name, pair in in_turn(timers, 1 if setup.small else 3).items()}


def measure(setup, drv, gpuarray, ways, size):
    """The rows of a size: there and back in each way."""
    host = np.resize(np.arange(251, dtype=np.uint8), size)
    array, pinned = gpuarray.to_gpu(host), drv.pagelocked_empty(size, np.uint8)
    back, pageable = gpuarray.empty_like(array), np.empty_like(host)
    wait, rows = drv.Context.synchronize, []

    def copies(to):
        drv.memcpy_dtoh(to, array.gpudata)
        drv.memcpy_htod(back.gpudata, to)

    count = 2 if setup.small else max(2, min(50, (1 << 28) // size))
    for name, function in ways.items():
        if setup.left() < 0:
            setup.note(f"the time was over before {name}, {power(size)}")
            continue
        np.testing.assert_array_equal(function(array).get(), host)
        repeats = min(count, 5) if name == "spilled to disk" else count
        times = in_turn(
            {
                "ours": lambda f=function, n=repeats: timed(lambda: f(array), n, wait),
                "numpy": lambda f=function, n=repeats: timed(lambda: f(host), n, wait),
                "pinned": lambda n=repeats: timed(lambda: copies(pinned), n, wait),
                "pageable": lambda n=repeats: timed(lambda: copies(pageable), n, wait),
            },
            1 if setup.small else 3,
        )
        done = {way: pair[1] for way, pair in times.items()}
        rows.append([name, power(size), *(f"{each / 1e3:.1f}" for each in done.values())])
        rows[-1].append(f"{size / done['ours']:.2f}")
        setup.data.setdefault("found", []).append([name, size, done])
    return rows


def run(setup):
    import pycuda.driver as drv
    import pycuda.gpuarray as gpuarray

    drv.init()
    drv.Device(0).retain_primary_context().push()
    ways = {
        "pickle": in_band,
        "pickle, memory outside": in_frames,
        "pickle, memory copied": in_frames_elsewhere,
    }
    if has("distributed"):
        ways |= {"message of distributed": in_message, "spilled to disk": spilled}
    else:
        setup.note("without messages and spilling: distributed is not installed")
    rows, single = [], {}
    for size in SMALL if setup.small else SIZES:
        rows += measure(setup, drv, gpuarray, ways, size)
        single[size] = single_copies(setup, drv, gpuarray, size)
    header = [
        "what, there and back",
        "size",
        "GPUArray, us",
        "NumPy's array, us",
        "copies alone, page-locked",
    ]
    setup.table("Arrays that leave the device", [*header, "copies alone, pageable", "GB/s"], rows)
    setup.data["single"] = [[size, times] for size, times in single.items()]
    names = [*next(iter(single.values()))]
    rows = [[power(size), *(f"{times[name] / 1e3:.1f}" for name in names)] for size, times in single.items()]
    setup.table("One copy, us", ["size", *names], rows)
