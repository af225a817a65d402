"""Jets roll up into vortices: the Navier-Stokes equations by Fourier transforms, each step one graph."""

import numpy as np

try:
    from matplotlib.image import imsave
except ImportError:
    imsave = None  # nothing is drawn

import pycuda.driver as drv
import pycuda.gpuarray as gpuarray

SIZE, STEPS, DT, VISCOSITY = 96, 180, 0.04, 1e-3

x = 2 * np.pi * np.arange(SIZE) / SIZE
y = x[:, None]
kx, ky = np.fft.rfftfreq(SIZE, 1 / SIZE), np.fft.fftfreq(SIZE, 1 / SIZE)[:, None]
square = kx**2 + ky**2
inverse = 1 / np.where(square, square, 1)

# The factors by which the vorticity's spectrum becomes those of the velocity (u, v) and of its own
# derivatives.
factors = gpuarray.to_gpu(1j * np.stack([ky * inverse, -kx * inverse, kx + 0 * ky, ky + 0 * kx]))
factors = factors.astype(np.complex64)
decay = gpuarray.to_gpu((VISCOSITY * square).astype(np.float32))
kept = gpuarray.to_gpu((np.maximum(np.abs(kx), np.abs(ky)) < SIZE / 3).astype(np.float32))  # no aliasing


def change(vorticity):
    """The spectrum of the vorticity's derivative in time: the flow carries it, viscosity spreads it."""
    u, v, along_x, along_y = np.fft.irfft2(factors * vorticity)  # a batch of four
    return -decay * vorticity - kept * np.fft.rfft2(u * along_x + v * along_y)


def step(vorticity):
    """Advances the spectrum by DT, in place: a Runge-Kutta method with three stages."""
    new = vorticity
    for part in 3, 2, 1:
        new = vorticity + DT / part * change(new)
    vorticity[...] = new


def run(start, steps):
    """The spectra of the vorticity at the start and after each tenth step, as a list."""
    vorticity, stream = np.fft.rfft2(gpuarray.to_gpu(start.astype(np.float32))), drv.Stream()
    with stream:
        step(vorticity.copy())  # compiles the kernels and plans the transforms
        with stream.capture() as graph:
            step(vorticity)
        ready, seen = graph.instantiate(), [vorticity.copy()]
        for number in range(steps):
            ready.launch(stream)
            if number % 10 == 9:
                seen.append(vorticity.copy())
    stream.synchronize()
    return seen


# These vortices keep their shape and decay at a known rate.
vortices = np.sin(3 * x) * np.sin(4 * y)
after = np.fft.irfft2(run(vortices, 30)[-1]).get()
error = np.abs(after - vortices * np.exp(-25 * VISCOSITY * 30 * DT)).max()
print(f"error after 30 steps: {error:.1e}")
assert error < 1e-4

# Two jets, slightly bent. Viscosity reduces their energy at the rate of 2 * VISCOSITY * enstrophy.
edge = np.where(y < np.pi, y - np.pi / 2, 3 * np.pi / 2 - y) * 12 / np.pi
jets = np.where(y < np.pi, -1, 1) * 12 / np.pi / np.cosh(edge) ** 2 + 0.05 * np.cos(x)
seen = run(jets, STEPS)
power = np.abs(np.stack([each.get() for each in seen]) / SIZE**2) ** 2
power[:, :, 1:-1] *= 2  # for the half of the spectrum that rfft2 leaves out
energy, enstrophy = (power * inverse).sum((1, 2)) / 2, power.sum((1, 2)) / 2
lost = 2 * VISCOSITY * np.trapezoid(enstrophy, dx=10 * DT)
print(f"energy lost in {STEPS} steps: {1 - energy[-1] / energy[0]:.2%}, by viscosity {lost / energy[0]:.2%}")
assert abs(energy[0] - energy[-1] - lost) < 1e-4 * energy[0]

# A picture with three times as many points along each axis: the spectrum, extended by zeros, interpolates.
wide = gpuarray.zeros((3 * SIZE, 3 * SIZE // 2 + 1), np.complex64)
wide[: SIZE // 2, : SIZE // 2] = seen[-1][: SIZE // 2, : SIZE // 2]
wide[-SIZE // 2 :, : SIZE // 2] = seen[-1][-SIZE // 2 :, : SIZE // 2]
picture = 9 * np.fft.irfft2(wide).get()
if imsave:
    limit = np.abs(picture).max()
    imsave("shear-flow.png", picture, cmap="inferno", vmin=-limit, vmax=limit)
