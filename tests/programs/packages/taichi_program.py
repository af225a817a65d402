"""Taichi: loops over fields, atomic sums, a sparse field, gradients, an array of NumPy's."""

import numpy as np
import taichi as ti

ti.init(arch=ti.cuda, device_memory_GB=0.2, log_level=ti.WARN)
assert ti.cfg.arch == ti.cuda

x, total = ti.field(ti.f32, 1000, needs_grad=True), ti.field(ti.f32, (), needs_grad=True)
sparse = ti.field(ti.i32)
ti.root.pointer(ti.i, 16).dense(ti.i, 16).place(sparse)


@ti.kernel
def cubes():
    for i in x:
        total[None] += x[i] ** 3


@ti.kernel
def activate():
    for i in range(6):
        sparse[i * 50] = i


@ti.kernel
def active() -> ti.i32:
    count = 0
    for i in sparse:
        count += i >= 0
    return count


@ti.kernel
def roots(a: ti.types.ndarray(dtype=ti.f64, ndim=1)):
    for i in range(a.shape[0]):
        a[i] = ti.sqrt(a[i])


x.fill(2.0)
with ti.ad.Tape(loss=total):
    cubes()
assert total[None] == 8000 and (x.grad.to_numpy() == 12).all()
activate()
assert active() == 6 * 16
numbers = np.arange(100.0)
roots(numbers)
assert np.allclose(numbers, np.sqrt(np.arange(100)))
print("done")
