"""A sparse system of equations, solved on the device: the temperature of a plate that is heated inside."""

import numpy as np

try:
    import scipy.sparse
except ImportError:
    print("this example needs SciPy: pip install scipy")
    raise SystemExit from None
try:
    from matplotlib.image import imsave
except ImportError:
    imsave = None  # nothing is drawn

import pycuda.gpuarray as gpuarray
from pycuda.sparse.cg import solve_pkt_with_cg
from pycuda.sparse.packeted import PacketedSpMV

SIDE = 32

line = scipy.sparse.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(SIDE, SIDE))
matrix = scipy.sparse.kronsum(line, line).tocsr()
heated = np.zeros((SIDE, SIDE))
heated[5:9, 5:20] = heated[20:27, 23:26] = 1
right = heated.ravel()

operator = PacketedSpMV(matrix, True, np.float64)
solution, steps, _ = solve_pkt_with_cg(operator, gpuarray.to_gpu(right), tol=1e-10)
plate = solution.get()
rest = np.abs(matrix @ plate - right).max()
print(f"{matrix.shape[0]} equations, {matrix.nnz} coefficients: {steps} steps, residual {rest:.1e}")
assert rest < 1e-8
if imsave:
    picture = plate.reshape(SIDE, SIDE).repeat(6, axis=0).repeat(6, axis=1)
    imsave("conjugate-gradient.png", picture, cmap="inferno")
