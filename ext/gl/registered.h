/* Buffers and textures of OpenGL as device memory.
 *
 * A RegisteredObject is known to OpenGL by its name, to the driver by its handle. While it is mapped kernels
 * use its memory, and OpenGL must not. A RegisteredMapping stands for that time: it holds its object, so
 * only unmapped objects are unregistered.
 */
#ifndef EXT_GL_REGISTERED_H
#define EXT_GL_REGISTERED_H

#include "ext/context/owner.h"

typedef struct RegisteredObject {
    OWNER_HEAD
    CUgraphicsResource resource;
    unsigned name;              /* OpenGL's */
    atomic_long mappings;       /* how many exist; REGISTERED_GONE once it is unregistered */
} RegisteredObject;

enum { REGISTERED_GONE = -1 };

static inline RegisteredObject *registered_cast(PyObject *object) { return (RegisteredObject *)object; }

/* The method map() of RegisteredObject (ext/gl/mapping.c). */
PyObject *registered_map(PyObject *self, FAST_PARAMETERS);
extern const char registered_map_doc[];

/* Counts a mapping of the object, until registered_leave(). -1 with LogicError when the object was
 * unregistered. */
int registered_enter(RegisteredObject *object);
void registered_leave(RegisteredObject *object);

#endif
