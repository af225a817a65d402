"""Triton's compiler: its PTX of a softmax and of products of matrices, launched by the driver's calls."""

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


def run(function, signature, constants, grid, *arguments, capability=90):
    source, target = ASTSource(function, signature, constexprs=constants), GPUTarget("cuda", capability, 32)
    made = triton.compile(source, target)
    module, kernel = c_void_p(), c_void_p()
    ok(cuda.cuModuleLoadData(byref(module), made.asm["ptx"].encode()))
    ok(cuda.cuModuleGetFunction(byref(kernel), module, made.metadata.name.encode()))
    arguments = (*arguments, c_ulonglong(0), c_ulonglong(0))  # its scratch memory, of which none is used
    pointers = (c_void_p * len(arguments))(*map(ctypes.addressof, arguments))
    shape = grid, 1, 1, 32 * made.metadata.num_warps, 1, 1, made.metadata.shared
    ok(cuda.cuLaunchKernel(kernel, *shape, None, pointers, None))
    ok(cuda.cuCtxSynchronize())
    return made.asm["ptx"]


rng = np.random.default_rng(0)
x = rng.normal(size=(20, 100)).astype(np.float32)
there, out = put(x), put(np.zeros_like(x))
types = {"x": "*fp32", "out": "*fp32", "n": "i32", "BLOCK": "constexpr"}
run(softmax, types, {"BLOCK": 128}, 20, there, out, c_int(100))
powers = np.exp(x - x.max(1, keepdims=True))
assert np.allclose(get(out, x), powers / powers.sum(1, keepdims=True), rtol=1e-5)

# tl.dot is mma for compute capability 8.0, and wgmma for 9.0. The products are exact.
for capability, instruction in ((80, "mma.sync"), (90, "wgmma.mma_async")):
    for kind, of_c, type in (
        ("fp16", "fp32", np.float16),
        ("fp32", "fp32", np.float32),
        ("i8", "i32", np.int8),
    ):
        a, b = (rng.integers(-100, 100, (64, 64)).astype(type) for _ in range(2))
        c = np.zeros((64, 64), np.int32 if kind == "i8" else np.float32)
        memory = put(c)
        types = {"a": f"*{kind}", "b": f"*{kind}", "c": f"*{of_c}", "N": "constexpr"}
        text = run(product, types, {"N": 64}, 1, put(a), put(b), memory, capability=capability)
        assert instruction in text, (capability, kind)
        assert np.array_equal(get(memory, c), a.astype(c.dtype) @ b.astype(c.dtype)), (capability, kind)
print("done")
