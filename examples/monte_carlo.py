"""Pi and the price of an option by random numbers, each with its error and the exact value."""

import math

import numpy as np

import pycuda.curandom as curandom
import pycuda.gpuarray as gpuarray
from pycuda.elementwise import ElementwiseKernel
from pycuda.reduction import ReductionKernel

COUNT = 1 << 18
generator = curandom.XORWOWRandomNumberGenerator(lambda count: gpuarray.arange(count, dtype=np.int32))

# Pi / 4 is the part of the unit square's points that is in the circle.
inside = ReductionKernel(
    np.int32, neutral="0", reduce_expr="a + b",
    map_expr="x[i] * x[i] + y[i] * y[i] < 1", arguments="const float *x, const float *y",
)  # fmt: skip
x, y = (generator.gen_uniform(COUNT, np.float32) for _ in range(2))
part = int(inside(x, y).get()) / COUNT
error = 4 * math.sqrt(part * (1 - part) / COUNT)
print(f"pi    {4 * part:.4f} +- {error:.4f}, exact {math.pi:.4f}")
assert abs(4 * part - math.pi) < 5 * error

# A European call: the mean of what is paid for the price of a share at the end, discounted by the interest.
share, strike, rate, volatility, years = 100.0, 105.0, 0.03, 0.2, 1.0
payment = ElementwiseKernel(
    "double *out, const double *normal, double share, double strike, double drift, double spread",
    "out[i] = fmax(share * exp(drift + spread * normal[i]) - strike, 0.0)",
)
spread = volatility * math.sqrt(years)
normal = generator.gen_normal(COUNT, np.float64)
paid = gpuarray.empty_like(normal)
payment(paid, normal, share, strike, rate * years - spread**2 / 2, spread)
values = math.exp(-rate * years) * paid
price, error = float(values.mean().get()), float(values.std().get()) / math.sqrt(COUNT)


def below(z):
    """The probability that a normal number is less than z."""
    return (1 + math.erf(z / math.sqrt(2))) / 2


d = (math.log(share / strike) + rate * years) / spread + spread / 2
exact = share * below(d) - strike * math.exp(-rate * years) * below(d - spread)
print(f"call  {price:.4f} +- {error:.4f}, by Black and Scholes {exact:.4f}")
assert abs(price - exact) < 5 * error
