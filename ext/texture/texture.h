/* Texture and surface objects: 64-bit handles that kernels take as arguments. */
#ifndef EXT_TEXTURE_TEXTURE_H
#define EXT_TEXTURE_TEXTURE_H

#include "ext/context/owner.h"

/* Python's TextureObject and SurfaceObject. */
typedef struct TextureHandleObject {
    OWNER_HEAD
    unsigned long long handle;      /* CUtexObject or CUsurfObject */
    PyObject *source;               /* owned: the Array, or what holds the memory */
} TextureHandleObject;

static inline TextureHandleObject *texture_cast(PyObject *object) { return (TextureHandleObject *)object; }

/* *out: the handle of a TextureObject or SurfaceObject. 1; 0 for other values; -1 with LogicError when it was
 * freed or its context is gone. */
int texture_argument(ModuleState *state, PyObject *value, unsigned long long *out);

/* New objects over a resource, in the current context, which keep the source alive. reference: the name of
 * the texture or surface reference that they are for, for messages; else NULL. view: which levels, or NULL.
 * NULL with an exception. */
PyObject *texture_create(ModuleState *state, PyTypeObject *type, PyObject *source,
                         const CUDA_RESOURCE_DESC *resource, const CUDA_TEXTURE_DESC *sampling,
                         const CUDA_RESOURCE_VIEW_DESC *view, const char *reference);
PyObject *surface_create(ModuleState *state, PyTypeObject *type, PyObject *source,
                         const CUDA_RESOURCE_DESC *resource, const char *reference);

/* *out: device memory of this shape: linear memory if its height is 0, else rows with a pitch. -1 with an
 * exception. */
int texture_read_memory(ModuleState *state, PyObject *source, const CUDA_ARRAY3D_DESCRIPTOR *shape,
                        size_t pitch, CUDA_RESOURCE_DESC *out);

/* Methods of both classes, and a constructor: a new object in the current context that owns no handle yet and
 * keeps source alive. NULL with an exception. */
PyObject *texture_empty(ModuleState *state, PyTypeObject *type, PyObject *source);
void texture_dealloc(PyObject *self);
int texture_traverse(PyObject *self, visitproc visit, void *arg);
PyObject *texture_int(PyObject *self);
PyObject *texture_free(PyObject *self, PyObject *none);

#endif
