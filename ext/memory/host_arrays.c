/* NumPy arrays in page-locked, aligned, managed and registered memory. The memory is the array's base. */
#include <string.h>

#include "ext/base/errors.h"
#include "ext/base/numpy_api.h"
#include "ext/convert/convert.h"
#include "ext/memory/device_memory.h"
#include "ext/memory/host_memory.h"

/* How a family of four functions gets memory: a new reference to the object that owns it. `option` is the
 * argument of their last parameter. NULL with an exception. */
typedef PyObject *(*AllocateFn)(ModuleState *state, size_t size, PyObject *option);

static PyObject *allocate_pagelocked(ModuleState *state, size_t size, PyObject *option)
{
    unsigned flags = 0;
    return convert_unsigned(option, "mem_flags", &flags) < 0 ? NULL
                                                             : host_memory_pagelocked(state, size, flags);
}

static PyObject *allocate_aligned(ModuleState *state, size_t size, PyObject *option)
{
    size_t alignment = 4096; /* the default in the signatures of the family */
    return convert_size(option, "alignment", &alignment) < 0 ? NULL
                                                             : host_memory_aligned(state, size, alignment);
}

/* Flags of 0, PyCUDA's documented default, are refused by every driver: they stand for GLOBAL. */
static PyObject *allocate_managed(ModuleState *state, size_t size, PyObject *option)
{
    unsigned flags = 0;
    if (convert_unsigned(option, "mem_flags", &flags) < 0) return NULL;
    return managed_memory_new(state, size, flags ? flags : CU_MEM_ATTACH_GLOBAL);
}

/* A new array of this layout in new memory. Clears the layout. */
static PyObject *make_array(ModuleState *state, AllocateFn allocate, HostArrayLayout *layout,
                            PyObject *option, bool zeroed)
{
    PyObject *memory = allocate(state, layout->bytes, option), *array = NULL;
    if (memory) {
        void *pointer = device_allocation_check(state, memory)
                            ? (void *)(uintptr_t)device_allocation_cast(memory)->pointer
                            : host_memory_cast(memory)->memory;
        if (zeroed) memset(pointer, 0, layout->bytes);
        array = convert_make_array(layout, pointer, memory);
    }
    convert_layout_clear(layout);
    return array;
}

static PyObject *make_new(PyObject *module, AllocateFn allocate, const char *signature, bool zeroed,
                          FAST_PARAMETERS)
{
    ModuleState *state = module_state(module);
    PyObject *given[4];
    HostArrayLayout layout;
    if (convert_arguments(signature, args, arg_count, keywords, GIVEN(given)) < 0
        || convert_layout(state, given[0], given[1], given[2], &layout) < 0)
        return NULL;
    return make_array(state, allocate, &layout, given[3], zeroed);
}

static PyObject *make_like(PyObject *module, AllocateFn allocate, const char *signature, bool zeroed,
                           FAST_PARAMETERS)
{
    PyObject *given[2];
    HostArrayLayout layout;
    if (convert_arguments(signature, args, arg_count, keywords, GIVEN(given)) < 0
        || convert_layout_like(given[0], &layout) < 0)
        return NULL;
    return make_array(module_state(module), allocate, &layout, given[1], zeroed);
}

#define NEW_DOC(name, where, option, option_doc, base, notes) \
    name "(shape, dtype, order=\"C\", " option ")\n--\n\n" \
         "Allocate an array in " where ".\n" \
         "\nParameters\n----------\n" \
         "shape : int or sequence of int\n" \
         "dtype : dtype-like\n" \
         "order : {\"C\", \"F\"}\n" option_doc "\n" \
         "\nReturns\n-------\n" \
         "numpy.ndarray\n    Its base is " base "." notes

#define LIKE_DOC(name, where, option, option_doc, base, notes) \
    name "(array, " option ")\n--\n\n" \
         "Allocate an array in " where ".\n" \
         "\nParameters\n----------\n" \
         "array : numpy.ndarray\n    Its shape, dtype and order are taken.\n" option_doc "\n" \
         "\nReturns\n-------\n" \
         "numpy.ndarray\n    Its base is " base ".\n" \
         "\nRaises\n------\n" \
         "ValueError\n    array is not contiguous." notes

#define CALLS(function) "\n\nNotes\n-----\nCalls " function "."

#define ARRAY_FUNCTION(family, name, make, zeroed, doc) \
    PyDoc_STRVAR(family##_##name##_doc, doc); \
    static PyObject *family##_##name(PyObject *module, FAST_PARAMETERS) \
    { \
        return make(module, allocate_##family, family##_##name##_doc, zeroed, args, arg_count, keywords); \
    }

/* where: what memory it is; use: what that is for, after it. */
#define FAMILY(family, where, use, ...) \
    ARRAY_FUNCTION(family, empty, make_new, false, NEW_DOC(#family "_empty", where use, __VA_ARGS__)) \
    ARRAY_FUNCTION(family, zeros, make_new, true, \
                   NEW_DOC(#family "_zeros", where ", filled with zeros", __VA_ARGS__)) \
    ARRAY_FUNCTION(family, empty_like, make_like, false, \
                   LIKE_DOC(#family "_empty_like", where " like another one", __VA_ARGS__)) \
    ARRAY_FUNCTION( \
        family, zeros_like, make_like, true, \
        LIKE_DOC(#family "_zeros_like", where " like another one, filled with zeros", __VA_ARGS__))

FAMILY(pagelocked, "page-locked memory", ", which asynchronous copies need", "mem_flags=0",
       "mem_flags : host_alloc_flags", "a PagelockedHostAllocation", CALLS("cuMemHostAlloc"))
FAMILY(aligned, "aligned memory", "", "alignment=4096", "alignment : int\n    Bytes, a power of two.",
       "an AlignedHostAllocation", "")
FAMILY(managed, "managed memory", "", "mem_flags=1", "mem_flags : mem_attach_flags\n    1 is GLOBAL.",
       "a ManagedAllocation", CALLS("cuMemAllocManaged"))

/* A view of the array whose base is the page-lock: both end with it. */
static PyObject *register_array(ModuleState *state, PyArrayObject *array, unsigned flags)
{
    int writable = PyArray_FLAGS(array) & NPY_ARRAY_WRITEABLE;
    PyObject *lock = host_memory_register(state, (PyObject *)array, PyArray_DATA(array),
                                          (size_t)PyArray_NBYTES(array), flags);
    if (!lock) return NULL;
    Py_INCREF((PyObject *)PyArray_DESCR(array));
    PyObject *result =
        PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(array), PyArray_NDIM(array), PyArray_DIMS(array),
                             PyArray_STRIDES(array), PyArray_DATA(array), writable, NULL);
    if (!result) {
        Py_DECREF(lock);
        return NULL;
    }
    if (PyArray_SetBaseObject((PyArrayObject *)result, lock) < 0) Py_CLEAR(result);
    return result;
}

PyDoc_STRVAR(register_host_memory_doc,
             "register_host_memory(ary, flags=0)\n--\n\n"
             "Page-lock the memory of an array as long as the result lives.\n"
             "\nParameters\n----------\n"
             "ary : numpy.ndarray\n    C-contiguous and not empty.\n"
             "flags : mem_host_register_flags\n"
             "\nReturns\n-------\n"
             "numpy.ndarray\n"
             "    Over the same memory. Its base is a RegisteredHostMemory, whose base is ary.\n"
             "\nRaises\n------\n"
             "LogicError\n    ary is not contiguous, or empty.\n"
             "\nNotes\n-----\n"
             "Calls cuMemHostRegister.");

static PyObject *register_host_memory(PyObject *module, FAST_PARAMETERS)
{
    ModuleState *state = module_state(module);
    PyObject *ary;
    unsigned flags = 0;
    if (READ_ARGUMENTS(register_host_memory_doc, INTO(&ary), INTO(&flags)) < 0) return NULL;
    if (!PyArray_Check(ary))
        return PyErr_Format(PyExc_TypeError, "ary must be an ndarray, not %s", Py_TYPE(ary)->tp_name);
    if (!PyArray_IS_C_CONTIGUOUS((PyArrayObject *)ary) || PyArray_SIZE((PyArrayObject *)ary) == 0)
        return raise_logic(state, "register_host_memory: the array must be C-contiguous and not empty");
    return register_array(state, (PyArrayObject *)ary, flags);
}

#define ROW(name) {#name, AS_METHOD(name), FAST_KEYWORDS, name##_doc}
#define FAMILY_ROWS(family) \
    ROW(family##_empty), ROW(family##_zeros), ROW(family##_empty_like), ROW(family##_zeros_like)

PyMethodDef host_arrays_functions[] = {
    FAMILY_ROWS(pagelocked),   FAMILY_ROWS(aligned),  FAMILY_ROWS(managed),
    ROW(register_host_memory), {NULL, NULL, 0, NULL},
};
