/* Elementwise operations on GPUArrays and scalars: operands broadcast, a kernel is found or made, launched.
 *
 * What decides about dtypes, and the kernels' source, are Python (pycuda/_kernels/builtin/elementwise.py).
 * Both are requested once for each combination of operation, dtypes and layout in a context; after that a
 * call makes no Python call.
 */
#ifndef EXT_GPUARRAY_ELEMENTWISE_H
#define EXT_GPUARRAY_ELEMENTWISE_H

#include "ext/gpuarray/gpuarray.h"

enum { ELEMENTWISE_MAX_INPUTS = 4, ELEMENTWISE_MAX_OUTPUTS = 2 };

typedef struct ElementwiseCall {
    PyObject *name;                 /* a row of pycuda/_kernels/builtin/functions.py */
    PyObject *const *operands;
    int count;
    PyObject *out;                  /* a GPUArray, a tuple of them and None, or NULL */
    PyObject *dtype, *stream, *allocator;   /* may be NULL */
    PyObject *casting;              /* NumPy's rule, an interned string; NULL is "same_kind" */
    bool is_operator;               /* of `operands`, two: the second is NULL where the operator has one */
} ElementwiseCall;

/* The result (a tuple where there are several), or NotImplemented when an operand is neither a GPUArray nor a
 * scalar. NULL with an exception: TypeError for dtypes, ValueError for shapes. */
PyObject *elementwise_call(ModuleState *state, const ElementwiseCall *call);

/* Releases the kernels that a context has (ContextEndFn). */
void elementwise_forget(struct ContextObject *context);
/* Whether the context has such kernels. */
bool elementwise_is_kept(const struct ContextObject *context);

#endif
