/* Arrays of other libraries as GPUArrays: the one place where an operand, an index or an out= that is not
 * ours becomes an array that kernels work on.
 *
 * A view is made for work on one stream: what the owner has queued comes before that work, and the owner is
 * kept until the work is done, if need be longer than the view. The view is read-only if its library says so.
 */
#ifndef EXT_GPUARRAY_FOREIGN_VIEW_H
#define EXT_GPUARRAY_FOREIGN_VIEW_H

#include "ext/convert/foreign.h"
#include "ext/gpuarray/transfer.h"

/* *out: a new GPUArray over another library's array. 1; 0 when the object is not an array on a device; -1
 * with an exception: for an array in host memory a TypeError that names to_gpu(). */
int foreign_view(ModuleState *state, PyObject *object, TransferMode mode, PyObject **out);

/* For an out= argument: the GPUArray itself, a new reference, or a view of another library's array. NULL
 * with an exception: TypeError when it is not an array on a device, ValueError when it is read-only. */
PyObject *foreign_out(ModuleState *state, PyObject *object, TransferMode mode);

/* A view of the array that foreign_describe() described. Takes what the layout owns, also on failure. NULL
 * with an exception. */
PyObject *foreign_view_of(ModuleState *state, const ForeignArray *array, ForeignLayout *layout,
                          TransferMode mode);

/* As foreign_view(), for a type with an exchange table: the view keeps the exported tensor, not the object.
 */
int foreign_view_retained(ModuleState *state, PyObject *object, TransferMode mode, PyObject **out);

/* A view of the tensor in a capsule of DLPack, which is taken. NULL with an exception. */
PyObject *foreign_view_of_capsule(ModuleState *state, PyObject *capsule, TransferMode mode);

#endif
