"""Many kernels from one template, by Mako: each has other numbers of threads and of elements for a thread,
and the fastest is found.
"""

import numpy as np
from mako.template import Template

import pycuda.driver as drv
import pycuda.gpuarray as gpuarray
from pycuda.compiler import SourceModule

template = Template("""
__global__ void polynomial(${type} *out, const ${type} *in)
{
    int first = blockIdx.x * ${threads * per_thread} + threadIdx.x;
% for k in range(per_thread):
    {
        const ${type} x = in[first + ${k * threads}];
        out[first + ${k * threads}] = ${polynomial};
    }
% endfor
}
""")
coefficients = [1.0, -0.5, 0.25, 2.0]
polynomial = " + x * (".join(map(str, coefficients)) + ")" * (len(coefficients) - 1)  # by Horner's rule
x = np.linspace(-1, 1, 1 << 16).astype(np.float32)
source, out = gpuarray.to_gpu(x), gpuarray.empty(x.shape, np.float32)
times = {}
for threads in 64, 256:
    for per_thread in 1, 4:
        text = template.render(type="float", threads=threads, per_thread=per_thread, polynomial=polynomial)
        kernel = SourceModule(text).get_function("polynomial")
        kernel.prepare("PP")
        start, end = drv.Event(), drv.Event()
        grid = (x.size // (threads * per_thread), 1)
        start.record()
        kernel.prepared_call(grid, (threads, 1, 1), out.gpudata, source.gpudata)
        end.record()
        times[threads, per_thread] = end.synchronize().time_since(start)
        assert np.allclose(out.get(), np.polyval(coefficients[::-1], x), atol=1e-5)
best = min(times, key=times.get)
print(f"{len(times)} kernels of one template, all right; fastest: {best[0]} threads, {best[1]} each")
