/* Attributes of GPUArray. */
#include "core/launch_shape.h"
#include "ext/base/driver_calls.h"
#include "ext/base/numpy_api.h"
#include "ext/convert/convert.h"
#include "ext/gpuarray/gpuarray.h"
#include "ext/memory/pooled_allocation.h"

static PyObject *tuple_of(const Py_ssize_t *values, int count)
{
    PyObject *tuple = PyTuple_New(count);
    for (int i = 0; tuple && i < count; i++) {
        PyObject *number = PyLong_FromSsize_t(values[i]);
        if (number)
            PyTuple_SET_ITEM(tuple, i, number);
        else
            Py_CLEAR(tuple);
    }
    return tuple;
}

static PyObject *get_shape(PyObject *self, void *Py_UNUSED(closure))
{
    return tuple_of(gpuarray_cast(self)->shape, gpuarray_cast(self)->ndim);
}

static PyObject *get_strides(PyObject *self, void *Py_UNUSED(closure))
{
    return tuple_of(gpuarray_cast(self)->strides, gpuarray_cast(self)->ndim);
}

static PyObject *get_dtype(PyObject *self, void *Py_UNUSED(closure))
{
    return Py_NewRef((PyObject *)gpuarray_cast(self)->dtype);
}

static PyObject *get_allocator(PyObject *self, void *Py_UNUSED(closure))
{
    GPUArrayObject *array = gpuarray_cast(self);
    return Py_NewRef(array->allocator ? array->allocator : array->state->default_allocate);
}

static int set_allocator_py(PyObject *self, PyObject *value, void *Py_UNUSED(closure))
{
    return gpuarray_set_allocator(gpuarray_cast(self), value);
}

static PyObject *get_base(PyObject *self, void *Py_UNUSED(closure))
{
    GPUArrayObject *array = gpuarray_cast(self);
    return Py_NewRef(array->base ? array->base : Py_None);
}

static int set_base(PyObject *self, PyObject *value, void *Py_UNUSED(closure))
{
    Py_XSETREF(gpuarray_cast(self)->base, Py_XNewRef(value == Py_None ? NULL : value));
    return 0;
}

static PyObject *get_gpudata(PyObject *self, void *Py_UNUSED(closure))
{
    GPUArrayObject *array = gpuarray_cast(self);
    if (gpuarray_check_whole(array) < 0) return NULL;
    if (array->gpudata) return Py_NewRef(array->gpudata);
    return array->size ? PyLong_FromUnsignedLongLong(array->pointer) : Py_NewRef(Py_None);
}

/* The setter of gpudata, for programs that manage memory themselves: del and None release the memory. */
static int set_gpudata(PyObject *self, PyObject *value, void *Py_UNUSED(closure))
{
    return gpuarray_use_memory(gpuarray_cast(self), value ? value : Py_None);
}

static PyObject *get_ptr(PyObject *self, void *Py_UNUSED(closure))
{
    GPUArrayObject *array = gpuarray_cast(self);
    if (array->size == 0) {
        PyErr_SetString(PyExc_AttributeError, "an empty array has no ptr");
        return NULL;
    }
    if (gpuarray_check_whole(array) < 0) return NULL;
    return gpuarray_check_memory(array) < 0 || pooled_expose(array->allocation) < 0
               ? NULL
               : PyLong_FromUnsignedLongLong(array->pointer);
}

/* The address for callers that take strides into account. */
static PyObject *get_address(PyObject *self, void *Py_UNUSED(closure))
{
    if (pooled_expose(gpuarray_cast(self)->allocation) < 0) return NULL;
    return PyLong_FromUnsignedLongLong(gpuarray_cast(self)->pointer);
}

CUstream gpuarray_stream(const GPUArrayObject *array)
{
    CUstream stream = pooled_stream(array->allocation);
    return stream ? stream : CU_STREAM_LEGACY;
}

static PyObject *get_interface(PyObject *self, void *Py_UNUSED(closure))
{
    GPUArrayObject *array = gpuarray_cast(self);
    PyObject *dtype = (PyObject *)array->dtype;
    if (gpuarray_check_memory(array) < 0 || gpuarray_order(array, gpuarray_stream(array)) < 0) return NULL;
    return Py_BuildValue("{sNsNsNs(KO)sisK}", "shape", get_shape(self, NULL), "strides",
                         get_strides(self, NULL), "typestr", PyObject_GetAttrString(dtype, "str"), "data",
                         array->size ? (unsigned long long)array->pointer : 0ULL,
                         array->read_only ? Py_True : Py_False, "version", 3, "stream",
                         (unsigned long long)(uintptr_t)gpuarray_stream(array));
}

static PyObject *get_transposed(PyObject *self, void *Py_UNUSED(closure))
{
    return gpuarray_transpose(gpuarray_cast(self), NULL);
}

/* The getter of _grid (closure is not NULL), (blocks, 1), and of _block, (threads, 1, 1): of a launch whose
 * threads together loop over the array's elements. */
static PyObject *get_splay(PyObject *self, void *closure)
{
    GPUArrayObject *array = gpuarray_cast(self);
    unsigned blocks, threads;
    int multiprocessors = 0;
    ContextObject *context = context_current(array->state);
    if (!context) return NULL;
    int failed = gpu_cuDeviceGetAttribute(array->state, &multiprocessors,
                                          CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, context->device);
    Py_DECREF(context);
    if (failed) return NULL;
    launch_shape_splay((size_t)array->size, multiprocessors, &blocks, &threads);
    return closure ? Py_BuildValue("(II)", blocks, 1) : Py_BuildValue("(III)", threads, 1, 1);
}

/* pycuda._array.indexing.attributes.<name>(self) */
static PyObject *get_attribute(PyObject *self, void *name)
{
    return gpuarray_call_python(gpuarray_cast(self)->state, "indexing.attributes", name, self, NULL, 0, NULL);
}

/* a.flat. If the array is a temporary copy (z.real.flat), the result also gets the exception that it is to
 * raise when it is assigned to. */
static PyObject *get_flat(PyObject *self, void *name)
{
    PyObject *type = NULL, *problem = NULL, *trace = NULL;
    ModuleState *state = gpuarray_cast(self)->state;
    if (gpuarray_check_kept(state, self) == 0) return get_attribute(self, name);
    PyErr_Fetch(&type, &problem, &trace);
    PyErr_NormalizeException(&type, &problem, &trace);
    PyObject *flat = gpuarray_call_python(state, "indexing.attributes", name, self, &problem, 1, NULL);
    Py_XDECREF(type);
    Py_XDECREF(problem);
    Py_XDECREF(trace);
    return flat;
}

static int set_flat(PyObject *self, PyObject *value, void *Py_UNUSED(closure))
{
    if (!value) {
        PyErr_SetString(PyExc_AttributeError, "cannot delete array elements");
        return -1;
    }
    if (gpuarray_check_kept(gpuarray_cast(self)->state, self) < 0) return -1;
    PyObject *none = gpuarray_call_python(gpuarray_cast(self)->state, "indexing.attributes", "set_flat", self,
                                          &value, 1, NULL);
    Py_XDECREF(none);
    return none ? 0 : -1;
}

PyMemberDef gpuarray_members[] = {
    {"size", T_PYSSIZET, offsetof(GPUArrayObject, size), READONLY, "Number of elements."},
    {"mem_size", T_PYSSIZET, offsetof(GPUArrayObject, size), READONLY, "Number of elements."},
    {"nbytes", T_PYSSIZET, offsetof(GPUArrayObject, nbytes), READONLY, "size * itemsize."},
    {"itemsize", T_PYSSIZET, offsetof(GPUArrayObject, itemsize), READONLY, "Bytes of one element."},
    {"ndim", T_INT, offsetof(GPUArrayObject, ndim), READONLY, "Number of axes."},
    {"__dictoffset__", T_PYSSIZET, offsetof(GPUArrayObject, attributes), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(GPUArrayObject, weak_references), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

PyGetSetDef gpuarray_getset[] = {
    {"shape", get_shape, gpuarray_set_shape, "Lengths of the axes.", NULL},
    {"strides", get_strides, gpuarray_set_strides, "Bytes from one element to the next along each axis.",
     NULL},
    {"dtype", get_dtype, gpuarray_set_dtype, "NumPy's description of an element.", NULL},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {"allocator", get_allocator, set_allocator_py, "The allocator of this array, and of arrays made from it.",
     NULL},
    {"base", get_base, set_base, "The object that keeps the memory, None when the array does.", NULL},
    {"gpudata", get_gpudata, set_gpudata,
     "The memory: an allocation, or an address as int; None without elements.", NULL},
    {"ptr", get_ptr, NULL, "Address of element 0. AttributeError when there are no elements.", NULL},
    {"flags", gpuarray_flags, NULL, "c_contiguous, f_contiguous, forc; others by name.", NULL},
    {"real", gpuarray_get_part, gpuarray_set_part,
     "The real parts: a packed copy, or the array itself when it is not complex.", "real"},
    {"imag", gpuarray_get_part, gpuarray_set_part,
     "The imaginary parts: a packed copy; zeros when it is not complex.", NULL},
    {"_real", gpuarray_view_part, NULL, "The real parts as NumPy has them: a view.", "real"},
    {"_imag", gpuarray_view_part, NULL, "The imaginary parts as NumPy has them: a view, or zeros to read.",
     NULL},
    {"_is_of_part", gpuarray_is_of_part, NULL, "Whether z.real or z.imag made the memory of this array.",
     NULL},
    {"_address", get_address, NULL, "Address of element 0, also of interleaved parts; 0 without elements.",
     NULL},
    {"T", get_transposed, NULL, "A view with the axes reversed.", NULL},
    {"mT", get_attribute, NULL, "A view with the last two axes swapped.", "mT"},
    {"flat", get_flat, set_flat, "The elements by flat index: a.flat[3], a.flat[:2] = 0.", "flat"},
    {"data", get_attribute, NULL, "AttributeError: there is no memory that the host could look at.", "data"},
    {"_grid", get_splay, NULL, "A grid for a kernel over the elements.", "grid"},
    {"_block", get_splay, NULL, "A block for a kernel over the elements.", NULL},
    {"__cuda_array_interface__", get_interface, NULL, "Version 3 of the CUDA array interface.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
