/* NumPy arrays in page-locked, aligned and registered memory. The memory is the array's base. */
#include <string.h>

#include "ext/convert/convert.h"
#include "ext/errors.h"
#include "ext/memory/host_memory.h"
#include "ext/numpy_api.h"

/* One family of the four functions: how it gets memory, and what its last parameter is. */
typedef struct Family {
    const char *const *names;           /* of the form (shape, dtype, order, option) */
    const char *const *like_names;      /* (array, option) */
    PyObject *(*allocate)(ModuleState *state, size_t size, PyObject *option);
} Family;

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

static const char *const pagelocked_names[] = {"shape", "dtype", "order", "mem_flags", NULL};
static const char *const pagelocked_like_names[] = {"array", "mem_flags", NULL};
static const char *const aligned_names[] = {"shape", "dtype", "order", "alignment", NULL};
static const char *const aligned_like_names[] = {"array", "alignment", NULL};

static const Family pagelocked_family = {pagelocked_names, pagelocked_like_names, allocate_pagelocked};
static const Family aligned_family = {aligned_names, aligned_like_names, allocate_aligned};

static PyObject *make_array(ModuleState *state, const Family *family, HostArrayForm *form, PyObject *option,
                            bool zeroed)
{
    PyObject *memory = family->allocate(state, form->bytes, option), *array = NULL;
    if (memory) {
        if (zeroed) memset(host_memory_cast(memory)->memory, 0, form->bytes);
        array = convert_make_array(form, host_memory_cast(memory)->memory, memory);
    }
    convert_form_clear(form);
    return array;
}

static PyObject *make_new(PyObject *module, const Family *family, const char *function, bool zeroed,
                          FAST_PARAMETERS)
{
    ModuleState *state = module_state(module);
    PyObject *given[4];
    HostArrayForm form;
    if (convert_arguments(function, family->names, 2, args, arg_count, keywords, given) < 0
        || convert_form(state, given[0], given[1], given[2], &form) < 0)
        return NULL;
    return make_array(state, family, &form, given[3], zeroed);
}

static PyObject *make_like(PyObject *module, const Family *family, const char *function, bool zeroed,
                           FAST_PARAMETERS)
{
    PyObject *given[2];
    HostArrayForm form;
    if (convert_arguments(function, family->like_names, 1, args, arg_count, keywords, given) < 0
        || convert_form_like(given[0], &form) < 0)
        return NULL;
    return make_array(module_state(module), family, &form, given[1], zeroed);
}

#define ARRAY_FUNCTION(family, name, make, zeroed) \
    static PyObject *family##_##name(PyObject *module, FAST_PARAMETERS) \
    { \
        return make(module, &family##_family, #family "_" #name, zeroed, args, arg_count, keywords); \
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

PyDoc_STRVAR(register_host_memory_doc, "register_host_memory(ary, flags=0) -> ndarray\n--\n\n"
                                       "An array over the memory of a C-contiguous array, which stays "
                                       "page-locked as long as the result lives. Its base\n"
                                       "is a RegisteredHostMemory, whose base is ary; flags are of "
                                       "mem_host_register_flags. LogicError when ary is not\n"
                                       "contiguous or empty (cuMemHostRegister).");

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

static PyObject *register_host_memory(PyObject *module, FAST_PARAMETERS)
{
    static const char *const names[] = {"ary", "flags", NULL};
    ModuleState *state = module_state(module);
    PyObject *given[2];
    unsigned flags = 0;
    if (convert_arguments("register_host_memory", names, 1, args, arg_count, keywords, given) < 0
        || convert_unsigned(given[1], "flags", &flags) < 0)
        return NULL;
    if (!PyArray_Check(given[0]))
        return PyErr_Format(PyExc_TypeError, "ary must be an ndarray, not %s", Py_TYPE(given[0])->tp_name);
    if (!PyArray_IS_C_CONTIGUOUS((PyArrayObject *)given[0]) || PyArray_SIZE((PyArrayObject *)given[0]) == 0)
        return raise_logic(state, "register_host_memory: the array must be C-contiguous and not empty");
    return register_array(state, (PyArrayObject *)given[0], flags);
}

#define ARRAY_ROW(name, doc) {#name, AS_METHOD(name), FAST_KEYWORDS, doc}
static PyMethodDef functions[] = {
    ARRAY_ROW(pagelocked_empty,
              "pagelocked_empty(shape, dtype, order=\"C\", mem_flags=0) -> ndarray\n--\n\n"
              "An array in page-locked memory, which asynchronous copies need; its base is a\n"
              "PagelockedHostAllocation. mem_flags are of host_alloc_flags (cuMemHostAlloc)."),
    ARRAY_ROW(pagelocked_zeros, "pagelocked_zeros(shape, dtype, order=\"C\", mem_flags=0) -> ndarray\n--\n\n"
                                "pagelocked_empty, filled with zeros."),
    ARRAY_ROW(pagelocked_empty_like,
              "pagelocked_empty_like(array, mem_flags=0) -> ndarray\n--\n\n"
              "pagelocked_empty with the shape, dtype and order of a contiguous array. ValueError for others."),
    ARRAY_ROW(pagelocked_zeros_like, "pagelocked_zeros_like(array, mem_flags=0) -> ndarray\n--\n\n"
                                     "pagelocked_empty_like, filled with zeros."),
    ARRAY_ROW(aligned_empty,
              "aligned_empty(shape, dtype, order=\"C\", alignment=4096) -> ndarray\n--\n\n"
              "An array whose data is aligned to a power of two; its base is an AlignedHostAllocation."),
    ARRAY_ROW(aligned_zeros, "aligned_zeros(shape, dtype, order=\"C\", alignment=4096) -> ndarray\n--\n\n"
                             "aligned_empty, filled with zeros."),
    ARRAY_ROW(aligned_empty_like,
              "aligned_empty_like(array, alignment=4096) -> ndarray\n--\n\n"
              "aligned_empty with the shape, dtype and order of a contiguous array. ValueError for others."),
    ARRAY_ROW(aligned_zeros_like, "aligned_zeros_like(array, alignment=4096) -> ndarray\n--\n\n"
                                  "aligned_empty_like, filled with zeros."),
    ARRAY_ROW(register_host_memory, register_host_memory_doc),
    {NULL, NULL, 0, NULL},
};
#undef ARRAY_ROW

int host_arrays_setup(PyObject *module, ModuleState *Py_UNUSED(state))
{
    return PyModule_AddFunctions(module, functions);
}
