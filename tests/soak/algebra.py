"""Steps that multiply, transform and solve: libraries with handles, workspaces and plans for each stream, or
their own kernels; on the CPU device NumPy in host functions. `w` is the Worker that does the step.
"""

import contextlib

import numpy as np
from steps import SHAPE
from worker import check

import pycuda
import pycuda.driver as drv
from pycuda import gpuarray, linalg


def near(got, expected, what):
    """Raises when they differ by more than rounding; `what` names them in the message."""
    if not np.allclose(got, expected, rtol=1e-4, atol=1e-4):
        raise AssertionError(f"{what}: got {got.ravel()[:4]}, expected {expected.ravel()[:4]}")


def matrices(w, dtype):
    """Two random matrices of small integers, whose product is exact in every dtype."""
    return (w.numbers().reshape(SHAPE) % 8).astype(dtype), (w.numbers().reshape(SHAPE) % 8).astype(dtype)


def in_stream(stream):
    """The context manager in whose block the stream is the current one; None: no change."""
    return stream if stream is not None else contextlib.nullcontext()


def products(w):
    """Products with a matrix and with a vector, whose operands may go while they are queued."""
    a, b = matrices(w, w.dice.choice("efdFi"))
    side = w.dice.choice([8, 32, 128])
    a, b = np.resize(a, (side, side)), np.resize(b, (side, side))
    with pycuda.same_bits(w.dice.random() < 0.5), in_stream(w.stream()):
        x, y = gpuarray.to_gpu(a), gpuarray.to_gpu(b)
        product, row = x @ y.T, x @ y[0]
        if w.dice.random() < 0.3:
            del x, y  # while the product is queued
        near(product.get(), a.astype("D") @ b.T, "a product")
        near(row.get(), a.astype("D") @ b[0], "a product with a vector")
    w.put("product", (product, a.astype("D") @ b.T))
    found = w.take("product")
    if found:
        near(found[0].get(), found[1], "a product that passed through the bag")


def transforms(w):
    """Fourier transforms, whose plans belong to a stream."""
    a = matrices(w, w.dice.choice("fdFD"))[0]
    with in_stream(w.stream()):
        x = gpuarray.to_gpu(a)
        transform = np.fft.fft(x, w.dice.choice([None, 5, 12]), w.dice.randrange(2))
        near(np.fft.ifft2(np.fft.fft2(x)).get(), a, "a transform and its inverse")
        del x
        w.put("transform", transform)


def systems(w):
    """Linear systems, a determinant, an inverse."""
    a, b = matrices(w, w.dice.choice("fdFD"))
    a += 100 * np.eye(len(a), dtype=a.dtype)
    with in_stream(w.stream()):
        x, y = gpuarray.to_gpu(a), gpuarray.to_gpu(b)
        near(np.linalg.solve(x, y).get(), np.linalg.solve(a, b), "a system")
        near(np.linalg.det(x).get() / 1e16, np.linalg.det(a) / 1e16, "a determinant")
        with linalg.without_checks():
            inverse = np.linalg.inv(x)
        del x, y
        near((inverse @ gpuarray.to_gpu(a)).get(), np.eye(len(a)), "an inverse")


def captured_algebra(w):
    """Captured in a new context, as a capture forbids waits for its context."""
    if w.world.contexts_left <= 0:
        return
    w.world.contexts_left -= 1
    context = drv.Device(0).make_context()
    a, b = matrices(w, "d")
    a += 100 * np.eye(len(a))
    x, y = gpuarray.to_gpu(a), gpuarray.to_gpu(b)
    stream = drv.Stream(drv.stream_flags.NON_BLOCKING)
    drv.Context.synchronize()
    with stream, linalg.without_checks():
        np.linalg.solve(x @ x, y)  # kernels and handles are made before the capture
        stream.synchronize()
        with stream.capture() as graph:
            solved = np.linalg.solve(x @ x, y)
    graph = graph.instantiate()
    for _ in range(w.dice.randrange(1, 4)):
        graph.launch(stream)
    stream.synchronize()
    near(solved.get(), np.linalg.solve(a @ a, b), "captured algebra")
    check(x.get(), a, "what was captured read")
    del graph, solved, x, y, stream
    drv.Context.pop()
    context.detach()
