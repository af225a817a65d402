"""Helpers of the tests of graphs: two kernels in PTX, and short names."""

import numpy as np

import pycuda.driver as drv

PTX = b"""
.version 6.3
.target sm_50
.address_size 64
.visible .entry affine(.param .u64 a, .param .u32 factor, .param .u32 add)
{
    .reg .b32 %r<5>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [a];
    ld.param.u32 %r1, [factor];
    ld.param.u32 %r2, [add];
    mov.u32 %r3, %tid.x;
    cvta.to.global.u64 %rd2, %rd1;
    mul.wide.u32 %rd3, %r3, 4;
    add.s64 %rd4, %rd2, %rd3;
    ld.global.u32 %r4, [%rd4];
    mad.lo.u32 %r4, %r4, %r1, %r2;
    st.global.u32 [%rd4], %r4;
    ret;
}
"""
# count_down: a[0] -= 1, and the new value becomes that of the condition.
LOOP = b"""
.version 6.3
.target sm_50
.address_size 64
.extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);
.visible .entry count_down(.param .u64 a, .param .u64 handle)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [a];
    ld.param.u64 %rd2, [handle];
    cvta.to.global.u64 %rd3, %rd1;
    ld.global.u32 %r1, [%rd3];
    sub.u32 %r2, %r1, 1;
    st.global.u32 [%rd3], %r2;
    {
    .param .b64 p0;
    st.param.b64 [p0+0], %rd2;
    .param .b32 p1;
    st.param.b32 [p1+0], %r2;
    call.uni cudaGraphSetConditional, (p0, p1);
    }
    ret;
}
"""
COUNT = 64  # elements, and threads of a launch
SHAPE = dict(block=(COUNT, 1, 1))
KINDS = drv.graph_node_type


def affine_function():
    """The kernel affine(a, factor, add): a[i] = a[i] * factor + add."""
    return drv.module_from_buffer(PTX).get_function("affine")


def value(array):
    """The value that all elements of the array have; fails if they differ."""
    numbers = set(array.get().tolist())
    assert len(numbers) == 1
    return numbers.pop()


def u32(number):
    return np.uint32(number)


def kinds(graph):
    """The list of the nodes' types, of KINDS."""
    return [node.type for node in graph.nodes]
