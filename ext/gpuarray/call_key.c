/* What a call of a user's kernel has in common with the calls that need the same launch: the context, the
 * number of arguments and, of each array, dtype, shape and strides. As bytes, which are made and found
 * quickly.
 *
 * Context and dtypes are told by their addresses: who remembers something by a key keeps them alive.
 */
#include "ext/convert/convert.h"
#include "ext/errors.h"
#include "ext/gpuarray/gpuarray.h"

#include <string.h>

enum { WORDS = 64 }; /* of a key that needs no memory of its own while it is made */

/* Vectors of so many bytes are the longest that kernels load: where in such a one an array begins may count.
 */
enum { ALIGNMENT = 16 };

/* Words that describe an array: 0 for what needs a closer look, as it is no GPUArray or may not be written
 * to. */
static Py_ssize_t words_of(ModuleState *state, PyObject *object)
{
    if (!gpuarray_check(state, object) || gpuarray_cast(object)->read_only || !gpuarray_cast(object)->dtype)
        return 0;
    return 3 + 2 * (Py_ssize_t)gpuarray_cast(object)->ndim;
}

static uint64_t *describe(uint64_t *to, const GPUArrayObject *array, bool aligned)
{
    size_t bytes = (size_t)array->ndim * sizeof *to;
    *to++ = (uint64_t)(uintptr_t)array->dtype;
    *to++ = (uint64_t)array->ndim;
    *to++ = aligned ? array->pointer % ALIGNMENT : 0;
    if (!array->ndim) return to;
    memcpy(to, array->shape, bytes);
    memcpy(to + array->ndim, array->strides, bytes);
    return to + 2 * array->ndim;
}

/* The object of the current context, borrowed by nobody: a number. -1 with an exception. */
static int context_number(ModuleState *state, uint64_t *out)
{
    CUcontext handle = NULL;
    CUresult result;
    *out = 0;
    CALL_NEAR(state, result, driver.cuCtxGetCurrent(&handle));
    if (result != CUDA_SUCCESS || !handle) return 0;
    ContextObject *context = context_current(state);
    *out = (uint64_t)(uintptr_t)context;
    Py_XDECREF((PyObject *)context);
    return context ? 0 : -1;
}

/* How many words; 0 when there is no key. */
static Py_ssize_t count_words(ModuleState *state, PyObject *values, PyObject *positions)
{
    Py_ssize_t words = 2;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(positions); i++) {
        Py_ssize_t at = PyLong_AsSsize_t(PyTuple_GET_ITEM(positions, i));
        bool there = at >= 0 && at < PyTuple_GET_SIZE(values);
        Py_ssize_t more = there ? words_of(state, PyTuple_GET_ITEM(values, at)) : 0;
        if (!more) return 0;
        words += more;
    }
    return words;
}

PyDoc_STRVAR(call_key_doc,
             "_call_key(values, positions, aligned=False)\n--\n\n"
             "Bytes that are the same for calls which need the same launch: of the current\n"
             "context, the number of values and the forms of the GPUArrays among them; with\n"
             "aligned, also of where they begin in 16 bytes. None when something else is there,\n"
             "or a read-only array.");

static PyObject *call_key_py(PyObject *module, FAST_PARAMETERS)
{
    PyObject *given[3];
    ModuleState *state = module_state(module);
    if (convert_arguments(call_key_doc, args, arg_count, keywords, GIVEN(given)) < 0) return NULL;
    if (!PyTuple_CheckExact(given[0]) || !PyTuple_CheckExact(given[1]))
        return PyErr_Format(PyExc_TypeError, "values and positions must be tuples");
    int aligned = given[2] ? PyObject_IsTrue(given[2]) : 0;
    Py_ssize_t words = count_words(state, given[0], given[1]);
    if (aligned < 0 || PyErr_Occurred()) return NULL;
    if (!words) return Py_NewRef(Py_None);
    uint64_t few[WORDS], *key = words <= WORDS ? few : PyMem_New(uint64_t, (size_t)words), *end = key;
    PyObject *result = NULL;
    if (!key) return PyErr_NoMemory();
    *end++ = (uint64_t)PyTuple_GET_SIZE(given[0]);
    if (context_number(state, end++) == 0) {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(given[1]); i++) {
            Py_ssize_t at = PyLong_AsSsize_t(PyTuple_GET_ITEM(given[1], i));
            end = describe(end, gpuarray_cast(PyTuple_GET_ITEM(given[0], at)), aligned);
        }
        result = PyBytes_FromStringAndSize((const char *)key, (Py_ssize_t)((size_t)words * sizeof *key));
    }
    if (key != few) PyMem_Free(key);
    return result;
}

static PyMethodDef functions[] = {
    {"_call_key", AS_METHOD(call_key_py), FAST_KEYWORDS, call_key_doc},
    {NULL, NULL, 0, NULL},
};

int call_key_setup(PyObject *module, ModuleState *state)
{
    (void)state;
    return PyModule_AddFunctions(module, functions);
}
