"""printf in a kernel: the text appears when the context is synchronized."""

import sys

import pycuda.autoinit
from pycuda.compiler import SourceModule

hello = SourceModule("""
#include <stdio.h>

__global__ void hello()
{
    printf("thread %d of block %d\\n", threadIdx.x, blockIdx.x);
}
""").get_function("hello")

print("the kernel says:")
sys.stdout.flush()
hello(block=(4, 1, 1), grid=(2, 1))
pycuda.autoinit.context.synchronize()
