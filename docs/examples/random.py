# pycuda.compat.cupy.random: exponential normal permutation poisson rand randint randn random random_sample
# pycuda.compat.cupy.random: seed shuffle standard_normal uniform choice default_rng
import pycuda.compat.cupy as cp

cp.random.seed(1)
assert cp.random.rand(2, 3).shape == cp.random.uniform(size=(2, 3)).shape == (2, 3)
assert cp.random.randint(0, 10, 5).max() < 10
assert cp.random.choice(cp.arange(5), 3).shape == (3,)
for draw in "exponential normal poisson random random_sample standard_normal".split():
    assert getattr(cp.random, draw)(size=4).shape == (4,)
a = cp.random.permutation(5)
cp.random.shuffle(a)
assert sorted(a.get()) == [0, 1, 2, 3, 4]
assert cp.random.randn(3).shape == cp.random.default_rng(1).random(3).shape

# pycuda.curandom: generate_direction_vectors generate_scramble_constants32 generate_scramble_constants64
# pycuda.curandom: direction_vector_set get_curand_version
import pycuda.autoinit
from pycuda import curandom

vectors = curandom.generate_direction_vectors(256, curandom.direction_vector_set.VECTOR_32)
constants = curandom.generate_scramble_constants32(256)
numbers = curandom.ScrambledSobol32RandomNumberGenerator(vectors, constants).gen_uniform(8, "float32")
assert numbers.get().min() > 0

# pycuda.numpy.random: default_rng Generator
import pycuda.autoinit
import pycuda.numpy as xp

rng = xp.random.default_rng(42)  # the same numbers on every device
assert isinstance(rng, xp.random.Generator)
assert rng.standard_normal((2, 3)).shape == rng.uniform(1, 2, (2, 3)).shape == (2, 3)
deck = xp.arange(52)
rng.shuffle(deck)
