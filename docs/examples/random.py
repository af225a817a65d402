# pycuda.numpy.random: default_rng Generator
import pycuda.autoinit
import pycuda.numpy as xp

rng = xp.random.default_rng(42)  # the same numbers on every device
assert isinstance(rng, xp.random.Generator)
assert rng.standard_normal((2, 3)).shape == rng.uniform(1, 2, (2, 3)).shape == (2, 3)
deck = xp.arange(52)
rng.shuffle(deck)
