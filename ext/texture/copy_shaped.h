/* Copies of two and three dimensions: the objects Memcpy2D, Memcpy3D and Memcpy3DPeer.
 *
 * All three hold the driver's largest descriptor, which contains the smaller ones. Each end of the copy
 * remembers the object that was given for it, and keeps it alive as long as it is set.
 */
#ifndef EXT_TEXTURE_COPY_SHAPED_H
#define EXT_TEXTURE_COPY_SHAPED_H

#include "ext/texture/cuda_array.h"

typedef enum ShapedKind { SHAPED_2D, SHAPED_3D, SHAPED_PEER } ShapedKind;
typedef enum ShapedSide { SHAPED_SRC, SHAPED_DST } ShapedSide;

typedef struct ShapedEnd {
    PyObject *object; /* owned: the Array, the device object, or what holds the host memory; or NULL */
    size_t size; /* how many bytes the memory has from the address on; SIZE_MAX when not known */
    PyObject *context; /* owned, a Context or NULL: of Memcpy3DPeer */
} ShapedEnd;

typedef struct ShapedCopyObject {
    PyObject_HEAD
    ModuleState *state;
    ShapedKind kind;
    CUDA_MEMCPY3D_PEER copy;
    ShapedEnd ends[2]; /* by ShapedSide */
} ShapedCopyObject;

static inline ShapedCopyObject *shaped_cast(PyObject *object) { return (ShapedCopyObject *)object; }

/* Set the end of a copy: host memory, an Array, a device address, either of host and device memory, or the
 * context. -1 with an exception: then nothing has changed. */
int shaped_set_host(ShapedCopyObject *self, ShapedSide side, PyObject *buffer);
int shaped_set_array(ShapedCopyObject *self, ShapedSide side, PyObject *array);
int shaped_set_device(ShapedCopyObject *self, ShapedSide side, PyObject *pointer);
int shaped_set_unified(ShapedCopyObject *self, ShapedSide side, PyObject *buffer);
int shaped_set_context(ShapedCopyObject *self, ShapedSide side, PyObject *context);

/* As shaped_set_device(), but the end's memory type stays as it is. */
int shaped_set_address(ShapedCopyObject *self, ShapedSide side, PyObject *pointer);

/* -1 with an exception when an end is not set, was freed meanwhile, or is smaller than the copy. */
int shaped_check(ShapedCopyObject *self);

/* Raises the driver's error of a copy, with the pitch that is too small for the rows if there is one. Returns
 * NULL. */
PyObject *shaped_raise(ModuleState *state, const CUDA_MEMCPY3D_PEER *copy, CUresult result,
                       const char *routine);

#endif
