"""An array of ours in JAX, and an array of JAX in ours: the same memory. JAX's arrays are immutable, so our
kernels only read them.
"""

import pycuda.driver as drv

try:
    import jax
    import jax.numpy as jnp
except ImportError:
    print("this example needs JAX: pip install jax[cuda13]")
    raise SystemExit from None
if jax.default_backend() != "gpu":
    print("this example needs a GPU that JAX can use")
    raise SystemExit

import numpy as np

import pycuda.gpuarray as gpuarray

drv.init()  # the primary context is shared with JAX

array = gpuarray.to_gpu(np.arange(8, dtype=np.float32))
total = jnp.sum(jax.dlpack.from_dlpack(array) ** 2)
print("JAX's sum of our squares:", float(total))
assert float(total) == 140

theirs = jax.block_until_ready(jnp.linspace(0.0, 1.0, 5))
ours = gpuarray.from_dlpack(theirs) * 4
print("JAX's array times 4:", ours.get())
assert np.allclose(ours.get(), np.arange(5))
