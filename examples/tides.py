"""Tides by least squares: the shares of moon and sun in the level of the sea, measured with noise."""

import numpy as np

try:
    from matplotlib.image import imsave
except ImportError:
    imsave = None  # nothing is drawn

import pycuda.gpuarray as gpuarray
import pycuda.linalg

PERIODS = {"M2": 12.4206, "S2": 12.0, "N2": 12.6583, "K1": 23.9345, "O1": 25.8193}  # hours
NOISE = 0.25  # meters

# 60 days, each quarter of an hour.
time = gpuarray.arange(60 * 24 * 4, dtype=np.float64) / 4
speeds = gpuarray.to_gpu(2 * np.pi / np.array(list(PERIODS.values())))
phases = np.outer(time, speeds)
model = np.concatenate([np.ones_like(time)[:, None], np.cos(phases), np.sin(phases)], axis=1)

generator = np.random.default_rng(0)
coefficients = np.array([2, 1.2, 0.45, 0.2, 0.1, -0.1, -0.3, 0.2, 0.15, 0.2, 0.05])
measured = model @ gpuarray.to_gpu(coefficients) + gpuarray.to_gpu(generator.normal(0, NOISE, len(time)))

found, residuals, rank, _ = np.linalg.lstsq(model, measured)
assert int(rank) == len(coefficients)

# The same by a QR factorization, which has the errors of the coefficients as well.
q, r = np.linalg.qr(model)
assert np.allclose(pycuda.linalg.solve_triangular(r, q.T @ measured), found)
inverse = pycuda.linalg.solve_triangular(r, np.eye(len(coefficients), like=r))
variance = residuals / (len(time) - len(coefficients))
errors = np.sqrt(variance * (inverse**2).sum(axis=1)).get()
assert abs(float(variance) ** 0.5 / NOISE - 1) < 0.05
assert (np.abs(found.get() - coefficients) < 4 * errors).all()

cosines, sines = found[1:].reshape(2, len(PERIODS))
for name, height in zip(PERIODS, np.hypot(cosines, sines).get(), strict=True):
    print(f"{name}: {height:.3f} m")

# The first eight days: dots for the measurements, a line for the model.
dots, line = (levels.get()[: 8 * 96] for levels in (measured, model @ found))
level, columns = np.linspace(5, -1, 240)[:, None], len(dots) - 1
picture = np.zeros((240, columns))
picture[np.abs(level - dots[1:]).argmin(axis=0), np.arange(columns)] = 0.6
above, below = np.maximum(line[1:], line[:-1]), np.minimum(line[1:], line[:-1])
picture[(level < above + 0.03) & (level > below - 0.03)] = 0.9
if imsave:
    imsave("tides.png", picture, cmap="inferno", vmin=0, vmax=1)
