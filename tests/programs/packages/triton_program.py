"""Triton's compiler: its PTX of a softmax and of a product of matrices, launched by the driver's calls."""

import ctypes
from ctypes import byref, c_int, c_size_t, c_ulonglong, c_void_p

import numpy as np
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def softmax(x, out, n, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * n + at, mask=at < n, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * n + at, powers / tl.sum(powers, axis=0), mask=at < n)


@triton.jit
def product(a, b, c, N: tl.constexpr):
    i = tl.arange(0, N)
    at = i[:, None] * N + i[None, :]
    tl.store(c + at, tl.dot(tl.load(a + at), tl.load(b + at)))


cuda, context = ctypes.CDLL("libcuda.so.1"), c_void_p()


def ok(error):
    assert error == 0, error


ok(cuda.cuInit(0))
ok(cuda.cuDevicePrimaryCtxRetain(byref(context), 0))
ok(cuda.cuCtxSetCurrent(context))


def put(array):
    memory = c_ulonglong()
    ok(cuda.cuMemAlloc_v2(byref(memory), c_size_t(array.nbytes)))
    ok(cuda.cuMemcpyHtoD_v2(memory, c_void_p(array.ctypes.data), c_size_t(array.nbytes)))
    return memory


def get(memory, like):
    out = np.empty_like(like)
    ok(cuda.cuMemcpyDtoH_v2(c_void_p(out.ctypes.data), memory, c_size_t(out.nbytes)))
    return out


def run(function, signature, constants, grid, *arguments):
    # tl.dot is wgmma for compute capability 9.0, which the CPU device does not have.
    made = triton.compile(ASTSource(function, signature, constexprs=constants), GPUTarget("cuda", 80, 32))
    module, kernel = c_void_p(), c_void_p()
    ok(cuda.cuModuleLoadData(byref(module), made.asm["ptx"].encode()))
    ok(cuda.cuModuleGetFunction(byref(kernel), module, made.metadata.name.encode()))
    arguments = (*arguments, c_ulonglong(0), c_ulonglong(0))  # its scratch memory, of which none is used
    pointers = (c_void_p * len(arguments))(*map(ctypes.addressof, arguments))
    shape = grid, 1, 1, 32 * made.metadata.num_warps, 1, 1, made.metadata.shared
    ok(cuda.cuLaunchKernel(kernel, *shape, None, pointers, None))
    ok(cuda.cuCtxSynchronize())


rng = np.random.default_rng(0)
x = rng.normal(size=(20, 100)).astype(np.float32)
there, out = put(x), put(np.zeros_like(x))
types = {"x": "*fp32", "out": "*fp32", "n": "i32", "BLOCK": "constexpr"}
run(softmax, types, {"BLOCK": 128}, 20, there, out, c_int(100))
powers = np.exp(x - x.max(1, keepdims=True))
assert np.allclose(get(out, x), powers / powers.sum(1, keepdims=True), rtol=1e-5)

a, b = (rng.normal(size=(32, 32)).astype(np.float16) for _ in range(2))
c = np.zeros((32, 32), np.float32)
memory = put(c)
types = {"a": "*fp16", "b": "*fp16", "c": "*fp32", "N": "constexpr"}
run(product, types, {"N": 32}, 1, put(a), put(b), memory)
assert np.allclose(get(memory, c), a.astype(np.float32) @ b.astype(np.float32), atol=1e-2)
print("done")
