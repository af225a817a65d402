"""A spectrogram of a rising tone and a wavering one in noise; its overlapping frames are views of
the signal.
"""

import numpy as np

try:
    from matplotlib.image import imsave
except ImportError:
    imsave = None  # nothing is drawn

import pycuda.gpuarray as gpuarray

RATE, COUNT, FRAME, HOP = 8192, 32768, 512, 128

time = gpuarray.arange(COUNT, dtype=np.float32) / RATE
rising = 200 * time + 350 * time**2  # cycles: from 200 Hz to 3 kHz
waving = 2500 * time + 120 * np.sin(2 * np.pi * time)
noise = gpuarray.to_gpu(np.random.default_rng(1).normal(size=COUNT).astype(np.float32))
signal = np.sin(2 * np.pi * rising) + 0.5 * np.sin(2 * np.pi * waving) + 0.25 * noise

# A frame begins HOP elements after the one before: no copy, the rows share their elements.
count = (COUNT - FRAME) // HOP + 1
strides = (HOP * signal.itemsize, signal.itemsize)
frames = gpuarray.GPUArray((count, FRAME), signal.dtype, base=signal, gpudata=signal.gpudata, strides=strides)
window = gpuarray.to_gpu(np.hanning(FRAME).astype(np.float32))
spectra = np.fft.rfft(frames * window)
power = np.abs(spectra) ** 2

# Parseval: each frame has the same energy in time and in frequency.
energy = ((frames * window) ** 2).sum(axis=1)
two_sides = 2 * power.sum(axis=1) - power[:, 0] - power[:, -1]
assert np.allclose(two_sides, FRAME * energy, rtol=1e-4)

# The loudest frequency of a frame is that of the rising tone in its middle.
middle = (np.arange(count) * HOP + FRAME / 2) / RATE
loudest = power.argmax(axis=1).get() * RATE / FRAME
error = np.abs(loudest - (200 + 700 * middle)).max()
print(f"{count} frames: the loudest frequency is at most {error:.0f} Hz from the tone's")
assert error <= 1.5 * RATE / FRAME

decibels = (10 * np.log10(power / power.max())).get()
if imsave:
    imsave("spectrogram.png", decibels.T[::-1], cmap="inferno", vmin=-34, vmax=0)
