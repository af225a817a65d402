"""Halide: a stencil with a stage in shared memory, a product of matrices, a histogram with atomics."""

import os

os.environ["HL_JIT_TARGET"] = "host-cuda"

import halide as hl
import numpy as np

target = hl.get_jit_target_from_environment()
x, y, bx, by, tx, ty = (hl.Var(name) for name in ("x", "y", "bx", "by", "tx", "ty"))
rng = np.random.default_rng(0)


def run(function, *sizes):
    out = function.realize([*sizes], target)
    out.copy_to_host()
    return np.asarray(out)


image = rng.random((70, 90)).astype(np.float32)
edged, across, both = hl.BoundaryConditions.repeat_edge(hl.Buffer(image)), hl.Func("across"), hl.Func("both")
across[x, y] = (edged[x - 1, y] + edged[x, y] + edged[x + 1, y]) / 3
both[x, y] = (across[x, y - 1] + across[x, y] + across[x, y + 1]) / 3
both.gpu_tile(x, y, bx, by, tx, ty, 16, 8)
across.compute_at(both, bx).gpu_threads(x, y)
padded = np.pad(image, 1, mode="edge")
rows = (padded[:, :-2] + padded[:, 1:-1] + padded[:, 2:]) / 3
assert np.allclose(run(both, 90, 70), (rows[:-2] + rows[1:-1] + rows[2:]) / 3, atol=1e-6)

a, b = rng.random((32, 48)).astype(np.float32), rng.random((48, 40)).astype(np.float32)
left, right, k, product = hl.Buffer(a), hl.Buffer(b), hl.RDom([(0, 48)]), hl.Func("product")
product[x, y] = hl.f32(0)
product[x, y] += left[k.x, y] * right[x, k.x]
product.gpu_tile(x, y, bx, by, tx, ty, 8, 8)
product.update().gpu_tile(x, y, bx, by, tx, ty, 8, 8)
assert np.allclose(run(product, 40, 32), a @ b, atol=1e-4)

numbers = rng.integers(0, 16, 5000).astype(np.uint8)
source, d, counts = hl.Buffer(numbers), hl.RDom([(0, 5000)]), hl.Func("counts")
outer, inner = hl.RVar("outer"), hl.RVar("inner")
counts[x] = hl.i32(0)
counts[hl.i32(source[d.x])] += 1
counts.gpu_tile(x, bx, tx, 16)
counts.update().atomic().split(d.x, outer, inner, 50).gpu_blocks(outer).gpu_threads(inner)
assert (run(counts, 16) == np.bincount(numbers, minlength=16)).all()
print("done")
