/* The cache of elementwise operations: the dtypes of each loop, and its kernels. */
#ifndef EXT_GPUARRAY_ELEMENTWISE_KERNELS_H
#define EXT_GPUARRAY_ELEMENTWISE_KERNELS_H

#include "core/layout/elementwise_layout.h"
#include "ext/gpuarray/elementwise.h"

/* The key of a loop: everything that its source depends on. The objects are borrowed. */
typedef struct ElementwiseKey {
    PyObject *name;
    PyObject *kinds[ELEMENTWISE_MAX_INPUTS]; /* a dtype, or int, float, complex */
    PyObject *outs[ELEMENTWISE_MAX_OUTPUTS]; /* a dtype; NULL: a new array */
    PyObject *dtype, *casting; /* the arguments of that name, or NULL */
    uint32_t scalars; /* bit i: operand i is a scalar */
    uint16_t inputs, outputs;
} ElementwiseKey;

typedef struct ElementwiseKernel {
    PyObject *function; /* owned; NULL until it is needed */
    Py_ssize_t elements; /* how many a block computes; of a kernel that works by tiles, the side of a tile */
} ElementwiseKernel;

typedef struct ElementwiseLoop {
    atomic_long holders; /* the table, and calls in progress: by gil_count */
    PyObject *loop; /* owned: the Python object from which the kernels are built */
    PyObject *held; /* owned: a tuple of the key's objects, so that no other object gets their addresses */
    int output_count;
    struct _PyArray_Descr *results[ELEMENTWISE_MAX_OUTPUTS], *inputs[ELEMENTWISE_MAX_INPUTS]; /* owned */
    ElementwiseKernel kernels[LAYOUT_COUNT];
} ElementwiseLoop;

/* The loop for a key in this context, which must be the current one. The first call for a key asks Python.
 * The caller holds the loop until elementwise_drop(). NULL with an exception. */
ElementwiseLoop *elementwise_find(ContextObject *context, const ElementwiseKey *key);
/* Ends the hold of a caller, and with the last one the loop. NULL is allowed. */
void elementwise_drop(ElementwiseLoop *loop);

/* *out: the loop's kernel for a layout, built by the first call; out->function is a new reference. -1 with an
 * exception. */
int elementwise_kernel(ModuleState *state, ElementwiseLoop *loop, int layout, ElementwiseKernel *out);

#endif
