"""tinygrad on its device CUDA: a product of matrices, a captured program (TinyJit), gradients."""

import os

os.environ["DEV"] = "CUDA"

import numpy as np
from tinygrad import Device, Tensor, TinyJit

assert Device.DEFAULT == "CUDA"
rng = np.random.default_rng(0)
a, b = (rng.normal(size=(40, 40)).astype(np.float32) for _ in range(2))
assert np.allclose((Tensor(a) @ Tensor(b)).numpy(), a @ b, atol=1e-4)


@TinyJit
def norm(x):
    return (x * 2 + 1).relu().sum().realize()


for k in range(4):
    assert norm(Tensor.full((100,), float(k)).contiguous().realize()).item() == 100 * (2 * k + 1)

w = Tensor(a)
(Tensor(b) * w * w).sum().backward()
assert np.allclose(w.grad.numpy(), 2 * a * b, atol=1e-5)
print("done")
