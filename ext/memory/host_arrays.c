/* NumPy arrays in page-locked, aligned and registered memory. The memory is the array's base. */
#include <string.h>

#include "ext/base/errors.h"
#include "ext/base/numpy_api.h"
#include "ext/convert/convert.h"
#include "ext/memory/host_memory.h"

/* How a family of four functions gets memory; `option` is their last parameter. */
typedef PyObject *(*AllocateFn)(ModuleState *state, size_t size, PyObject *option);

static PyObject *allocate_pagelocked(ModuleState *state, size_t size, PyObject *option)
{
    unsigned flags = 0;
    return convert_unsigned(option, "mem_flags", &flags) < 0 ? NULL
                                                             : host_memory_pagelocked(state, size, flags);
}

static PyObject *allocate_aligned(ModuleState *state, size_t size, PyObject *option)
{
    size_t alignment = 4096;
    return convert_size(option, "alignment", &alignment) < 0 ? NULL
                                                             : host_memory_aligned(state, size, alignment);
}

static PyObject *make_array(ModuleState *state, AllocateFn allocate, HostArrayForm *form, PyObject *option,
                            bool zeroed)
{
    PyObject *memory = allocate(state, form->bytes, option), *array = NULL;
    if (memory) {
        if (zeroed) memset(host_memory_cast(memory)->memory, 0, form->bytes);
        array = convert_make_array(form, host_memory_cast(memory)->memory, memory);
    }
    convert_form_clear(form);
    return array;
}

static PyObject *make_new(PyObject *module, AllocateFn allocate, const char *signature, bool zeroed,
                          FAST_PARAMETERS)
{
    ModuleState *state = module_state(module);
    PyObject *given[4];
    HostArrayForm form;
    if (convert_arguments(signature, args, arg_count, keywords, GIVEN(given)) < 0
        || convert_form(state, given[0], given[1], given[2], &form) < 0)
        return NULL;
    return make_array(state, allocate, &form, given[3], zeroed);
}

static PyObject *make_like(PyObject *module, AllocateFn allocate, const char *signature, bool zeroed,
                           FAST_PARAMETERS)
{
    PyObject *given[2];
    HostArrayForm form;
    if (convert_arguments(signature, args, arg_count, keywords, GIVEN(given)) < 0
        || convert_form_like(given[0], &form) < 0)
        return NULL;
    return make_array(module_state(module), allocate, &form, given[1], zeroed);
}

PyDoc_STRVAR(pagelocked_empty_doc,
             "pagelocked_empty(shape, dtype, order=\"C\", mem_flags=0)\n--\n\n"
             "Allocate an array in page-locked memory, which asynchronous copies need.\n"
             "\nParameters\n----------\n"
             "shape : int or sequence of int\n"
             "dtype : dtype-like\n"
             "order : {\"C\", \"F\"}\n"
             "mem_flags : host_alloc_flags\n"
             "\nReturns\n-------\n"
             "numpy.ndarray\n    Its base is a PagelockedHostAllocation.\n"
             "\nNotes\n-----\n"
             "Calls cuMemHostAlloc.");

PyDoc_STRVAR(pagelocked_zeros_doc, "pagelocked_zeros(shape, dtype, order=\"C\", mem_flags=0)\n--\n\n"
                                   "Allocate an array in page-locked memory, filled with zeros.\n"
                                   "\nParameters\n----------\n"
                                   "shape : int or sequence of int\n"
                                   "dtype : dtype-like\n"
                                   "order : {\"C\", \"F\"}\n"
                                   "mem_flags : host_alloc_flags\n"
                                   "\nReturns\n-------\n"
                                   "numpy.ndarray\n    Its base is a PagelockedHostAllocation.\n"
                                   "\nNotes\n-----\n"
                                   "Calls cuMemHostAlloc.");

PyDoc_STRVAR(pagelocked_empty_like_doc, "pagelocked_empty_like(array, mem_flags=0)\n--\n\n"
                                        "Allocate an array in page-locked memory like another one.\n"
                                        "\nParameters\n----------\n"
                                        "array : numpy.ndarray\n    Its shape, dtype and order are taken.\n"
                                        "mem_flags : host_alloc_flags\n"
                                        "\nReturns\n-------\n"
                                        "numpy.ndarray\n    Its base is a PagelockedHostAllocation.\n"
                                        "\nRaises\n------\n"
                                        "ValueError\n    array is not contiguous.\n"
                                        "\nNotes\n-----\n"
                                        "Calls cuMemHostAlloc.");

PyDoc_STRVAR(pagelocked_zeros_like_doc,
             "pagelocked_zeros_like(array, mem_flags=0)\n--\n\n"
             "Allocate an array in page-locked memory like another one, filled with zeros.\n"
             "\nParameters\n----------\n"
             "array : numpy.ndarray\n    Its shape, dtype and order are taken.\n"
             "mem_flags : host_alloc_flags\n"
             "\nReturns\n-------\n"
             "numpy.ndarray\n    Its base is a PagelockedHostAllocation.\n"
             "\nRaises\n------\n"
             "ValueError\n    array is not contiguous.\n"
             "\nNotes\n-----\n"
             "Calls cuMemHostAlloc.");

PyDoc_STRVAR(aligned_empty_doc, "aligned_empty(shape, dtype, order=\"C\", alignment=4096)\n--\n\n"
                                "Allocate an array in aligned memory.\n"
                                "\nParameters\n----------\n"
                                "shape : int or sequence of int\n"
                                "dtype : dtype-like\n"
                                "order : {\"C\", \"F\"}\n"
                                "alignment : int\n    Bytes, a power of two.\n"
                                "\nReturns\n-------\n"
                                "numpy.ndarray\n    Its base is an AlignedHostAllocation.");

PyDoc_STRVAR(aligned_zeros_doc, "aligned_zeros(shape, dtype, order=\"C\", alignment=4096)\n--\n\n"
                                "Allocate an array in aligned memory, filled with zeros.\n"
                                "\nParameters\n----------\n"
                                "shape : int or sequence of int\n"
                                "dtype : dtype-like\n"
                                "order : {\"C\", \"F\"}\n"
                                "alignment : int\n    Bytes, a power of two.\n"
                                "\nReturns\n-------\n"
                                "numpy.ndarray\n    Its base is an AlignedHostAllocation.");

PyDoc_STRVAR(aligned_empty_like_doc, "aligned_empty_like(array, alignment=4096)\n--\n\n"
                                     "Allocate an array in aligned memory like another one.\n"
                                     "\nParameters\n----------\n"
                                     "array : numpy.ndarray\n    Its shape, dtype and order are taken.\n"
                                     "alignment : int\n    Bytes, a power of two.\n"
                                     "\nReturns\n-------\n"
                                     "numpy.ndarray\n    Its base is an AlignedHostAllocation.\n"
                                     "\nRaises\n------\n"
                                     "ValueError\n    array is not contiguous.");

PyDoc_STRVAR(aligned_zeros_like_doc,
             "aligned_zeros_like(array, alignment=4096)\n--\n\n"
             "Allocate an array in aligned memory like another one, filled with zeros.\n"
             "\nParameters\n----------\n"
             "array : numpy.ndarray\n    Its shape, dtype and order are taken.\n"
             "alignment : int\n    Bytes, a power of two.\n"
             "\nReturns\n-------\n"
             "numpy.ndarray\n    Its base is an AlignedHostAllocation.\n"
             "\nRaises\n------\n"
             "ValueError\n    array is not contiguous.");

#define ARRAY_FUNCTION(family, name, make, zeroed) \
    static PyObject *family##_##name(PyObject *module, FAST_PARAMETERS) \
    { \
        return make(module, allocate_##family, family##_##name##_doc, zeroed, args, arg_count, keywords); \
    }
ARRAY_FUNCTION(pagelocked, empty, make_new, false)
ARRAY_FUNCTION(pagelocked, zeros, make_new, true)
ARRAY_FUNCTION(pagelocked, empty_like, make_like, false)
ARRAY_FUNCTION(pagelocked, zeros_like, make_like, true)
ARRAY_FUNCTION(aligned, empty, make_new, false)
ARRAY_FUNCTION(aligned, zeros, make_new, true)
ARRAY_FUNCTION(aligned, empty_like, make_like, false)
ARRAY_FUNCTION(aligned, zeros_like, make_like, true)
#undef ARRAY_FUNCTION

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
    PyObject *given[2];
    unsigned flags = 0;
    if (convert_arguments(register_host_memory_doc, args, arg_count, keywords, GIVEN(given)) < 0
        || convert_unsigned(given[1], "flags", &flags) < 0)
        return NULL;
    if (!PyArray_Check(given[0]))
        return PyErr_Format(PyExc_TypeError, "ary must be an ndarray, not %s", Py_TYPE(given[0])->tp_name);
    if (!PyArray_IS_C_CONTIGUOUS((PyArrayObject *)given[0]) || PyArray_SIZE((PyArrayObject *)given[0]) == 0)
        return raise_logic(state, "register_host_memory: the array must be C-contiguous and not empty");
    return register_array(state, (PyArrayObject *)given[0], flags);
}

#define ARRAY_ROW(name) {#name, AS_METHOD(name), FAST_KEYWORDS, name##_doc}
static PyMethodDef functions[] = {
    ARRAY_ROW(pagelocked_empty),      ARRAY_ROW(pagelocked_zeros),
    ARRAY_ROW(pagelocked_empty_like), ARRAY_ROW(pagelocked_zeros_like),
    ARRAY_ROW(aligned_empty),         ARRAY_ROW(aligned_zeros),
    ARRAY_ROW(aligned_empty_like),    ARRAY_ROW(aligned_zeros_like),
    ARRAY_ROW(register_host_memory),  {NULL, NULL, 0, NULL},
};
#undef ARRAY_ROW

int host_arrays_setup(PyObject *module, ModuleState *Py_UNUSED(state))
{
    return PyModule_AddFunctions(module, functions);
}
