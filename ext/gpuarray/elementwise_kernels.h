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
    PyObject *dtype, *casting; /* asked for, or NULL */
    uint32_t scalars; /* which operands are, a bit each */
    uint16_t inputs, outputs;
} ElementwiseKey;

typedef struct ElementwiseKernel {
    PyObject *function; /* owned; NULL until it is needed */
    Py_ssize_t elements; /* for each block; of tiles, along either axis */
} ElementwiseKernel;

typedef struct ElementwiseLoop {
    atomic_long holders; /* the table, and calls in progress: by gil_count */
    PyObject *loop; /* owned: what the kernels are built from */
    PyObject *held; /* owned: the objects of the key */
    int output_count;
    struct _PyArray_Descr *results[ELEMENTWISE_MAX_OUTPUTS], *inputs[ELEMENTWISE_MAX_INPUTS]; /* owned */
    ElementwiseKernel kernels[LAYOUT_COUNT];
} ElementwiseLoop;

/* The loop in this context, which is the current one; asked for once. To be dropped. NULL with an exception.
 */
ElementwiseLoop *elementwise_find(ContextObject *context, const ElementwiseKey *key);
void elementwise_drop(ElementwiseLoop *loop); /* NULL is nothing */

/* The kernel for a layout; out->function is a new reference. -1 with an exception. */
int elementwise_kernel(ModuleState *state, ElementwiseLoop *loop, int layout, ElementwiseKernel *out);

#endif
