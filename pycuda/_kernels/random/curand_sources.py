"""PyCUDA's sources of kernels that call cuRAND's device functions, with its names, placeholders and
parameters: for programs that compile them together with kernels of their own. pycuda's own generators do not
use them."""

from __future__ import annotations

_THREAD = "const int thread = blockIdx.x * blockDim.x + threadIdx.x;"


def _fill_kernel(call: str, parameters: str = "") -> str:
    """A kernel that fills the n elements of d. Thread k generates elements k, k + threads, k + 2 * threads
    and so on with state k, where `threads` is the number of threads of the grid. call: makes one element."""
    return f"""
__global__ void %(name)s(%(state_type)s *s, %(out_type)s *d, {parameters}const int n)
{{
    {_THREAD}
    for (int at = thread; at < n; at += blockDim.x * gridDim.x) d[at] = {call};
}}
"""


def _for_each(name: str, parameters: str, call: str) -> str:
    """A kernel in which thread k calls `call` for state k, of n states."""
    return f"""
__global__ void {name}(%(state_type)s *s, const int n, {parameters})
{{
    {_THREAD}
    if (thread < n) {call};
}}
"""


def _skip_kernels(kind: str, integer: str = "unsigned long long") -> str:
    """Two kernels that skip ahead: by one number for all states, and by a number for each state. kind: the
    suffix of the function's name, for steps, sequences or subsequences."""
    name, function = f"skip_ahead{kind}", f"skipahead{kind}"
    one = _for_each(name, f"const {integer} skip", f"{function}(skip, s + thread)")
    return one + _for_each(f"{name}_array", f"const {integer} *skip", f"{function}(skip[thread], s + thread)")


def _as_c(text: str) -> str:
    return f'\nextern "C" {{\n{text}\n}}\n'


def _prepare_kernel(call: str, parameters: str = "") -> str:
    """The kernel that initializes the states. call: the first arguments of curand_init()."""
    parameters = f"%(vector_type)s *v, {parameters}const unsigned int o"
    return _as_c(_for_each("prepare", parameters, f"curand_init({call}, o, s + thread)"))


gen_template = _fill_kernel("curand%(suffix)s(s + thread)")
gen_log_template = _fill_kernel(
    "curand_log%(suffix)s(s + thread, mean, stddev)", "%(in_type)s mean, %(in_type)s stddev, "
)
gen_poisson_template = _fill_kernel("curand_poisson%(suffix)s(s + thread, lambda)", "double lambda, ")
random_source = "\n#include <curand_kernel.h>\n" + _as_c("%(generators)s")
random_skip_ahead32_source = _as_c(_skip_kernels("", "unsigned int"))
random_skip_ahead64_source = _as_c(_skip_kernels(""))
xorwow_random_source = mrg32k3a_random_source = _prepare_kernel("v[thread], thread")
xorwow_skip_ahead_sequence_source = _as_c(_skip_kernels("_sequence"))
mrg32k3a_skip_ahead_sequence_source = _as_c(_skip_kernels("_sequence") + _skip_kernels("_subsequence"))
sobol_random_source = _prepare_kernel("v[thread]")
scrambledsobol_random_source = _prepare_kernel("v[thread], scramble[thread]", "%(scramble_type)s *scramble, ")
