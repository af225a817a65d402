/* Arrays in the layout of textures, and their descriptions. */
#ifndef EXT_TEXTURE_CUDA_ARRAY_H
#define EXT_TEXTURE_CUDA_ARRAY_H

#include "ext/context/owner.h"

/* Python's ArrayDescriptor, which has properties for width, height, format and channels of the value, and
 * ArrayDescriptor3D, which has one for each member. */
typedef struct ArrayDescriptorObject {
    PyObject_HEAD
    ModuleState *state;
    CUDA_ARRAY3D_DESCRIPTOR value;
} ArrayDescriptorObject;

typedef struct CudaArrayObject {
    OWNER_HEAD
    CUarray handle;
    PyObject *owner; /* owned: the object that lends the memory; NULL: the Array owns it */
    const atomic_bool *over; /* a member of the lender: true once the memory is not lent anymore; or NULL */
} CudaArrayObject;

static inline ArrayDescriptorObject *cuda_array_descriptor_cast(PyObject *object)
{
    return (ArrayDescriptorObject *)object;
}

static inline CudaArrayObject *cuda_array_cast(PyObject *object) { return (CudaArrayObject *)object; }

/* *out: the handle of an argument that must be an Array. what: the parameter's name. -1 with TypeError, or
 * with LogicError when it was freed or its context is gone. */
int cuda_array_handle(ModuleState *state, PyObject *value, const char *what, CUarray *out);

/* Whether the array's memory is gone: freed, or not lent anymore. */
bool cuda_array_is_over(const CudaArrayObject *array);

/* *out: the value of an ArrayDescriptor or ArrayDescriptor3D. -1 with TypeError. */
int cuda_array_read_descriptor(ModuleState *state, PyObject *value, CUDA_ARRAY3D_DESCRIPTOR *out);
/* A new ArrayDescriptor3D. NULL with an exception. */
PyObject *cuda_array_descriptor(ModuleState *state, const CUDA_ARRAY3D_DESCRIPTOR *shape);

/* A new Array of memory that `owner` lends until *over, a member of the owner, is true. NULL with an
 * exception. */
PyObject *cuda_array_lent(ContextObject *context, CUarray handle, PyObject *owner, const atomic_bool *over);

/* *out: the shape, format and flags of an Array. -1 with the driver's exception. */
int cuda_array_describe(ModuleState *state, CUarray handle, CUDA_ARRAY3D_DESCRIPTOR *out);

/* The bytes of one element of this format and number of channels; 0 for formats whose elements are not a
 * number for each channel, such as compressed ones. */
size_t cuda_array_element_size(CUarray_format format, unsigned channels);

#endif
