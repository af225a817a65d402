"""Arrays that leave the device and come back: pickled, in messages of distributed, spilled to disk by it.
With the driver's two copies alone, and the same of an array of NumPy.
"""

import pickle
import tempfile

import numpy as np

from .setup import has, in_turn, power, timed

SIZES = [1 << 10, 1 << 20, 1 << 24, 1 << 28]
SMALL = [1 << 10, 1 << 16]


def in_frames(value):
    """Pickled with its memory outside of the pickle, and back."""
    frames = []
    head = pickle.dumps(value, protocol=5, buffer_callback=frames.append)
    return pickle.loads(head, buffers=frames)


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


def run(setup):
    import pycuda.driver as drv
    import pycuda.gpuarray as gpuarray

    drv.init()
    drv.Device(0).retain_primary_context().push()
    wait = drv.Context.synchronize
    ways = {"pickle": in_band, "pickle, memory outside": in_frames}
    if has("distributed"):
        ways |= {"message of distributed": in_message, "spilled to disk": spilled}
    else:
        setup.note("without messages and spilling: distributed is not installed")
    rows = []
    for size in SMALL if setup.small else SIZES:
        host = np.resize(np.arange(251, dtype=np.uint8), size)
        array, pinned = gpuarray.to_gpu(host), drv.pagelocked_empty(size, np.uint8)
        back, pageable = gpuarray.empty_like(array), np.empty_like(host)

        def copies(to, array=array, back=back):
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
                    "ours": lambda f=function, n=repeats, a=array: timed(lambda: f(a), n, wait),
                    "numpy": lambda f=function, n=repeats, a=host: timed(lambda: f(a), n, wait),
                    "pinned": lambda n=repeats, to=pinned: timed(lambda: copies(to), n, wait),
                    "pageable": lambda n=repeats, to=pageable: timed(lambda: copies(to), n, wait),
                },
                1 if setup.small else 3,
            )
            done = {way: pair[1] for way, pair in times.items()}
            rows.append([name, power(size), *(f"{each / 1e3:.1f}" for each in done.values())])
            rows[-1].append(f"{size / done['ours']:.2f}")
            setup.data.setdefault("found", []).append([name, size, done])
    header = [
        "what, there and back",
        "size",
        "GPUArray, us",
        "NumPy's array, us",
        "copies alone, page-locked",
    ]
    setup.table("Arrays that leave the device", [*header, "copies alone, pageable", "GB/s"], rows)
