/* Arrays of several levels, each of half the size of the one before. */
#ifndef EXT_TEXTURE_MIPMAPPED_ARRAY_H
#define EXT_TEXTURE_MIPMAPPED_ARRAY_H

#include "ext/context/owner.h"

typedef struct MipmappedArrayObject {
    OWNER_HEAD
    struct MipmappedArrayObject *next; /* in ModuleState.mipmapped */
    CUmipmappedArray handle;
    CUDA_ARRAY3D_DESCRIPTOR shape;  /* of the first level */
    unsigned levels;
} MipmappedArrayObject;

static inline MipmappedArrayObject *mipmapped_array_cast(PyObject *object)
{
    return (MipmappedArrayObject *)object;
}

static inline bool mipmapped_array_check(const ModuleState *state, PyObject *object)
{
    return Py_TYPE(object) == state->MipmappedArray_type;
}

/* The handle of an argument that must be a MipmappedArray. -1 with TypeError, or with LogicError when it was
 * freed or its context is gone. */
int mipmapped_array_handle(ModuleState *state, PyObject *value, const char *what, CUmipmappedArray *out);

#endif
