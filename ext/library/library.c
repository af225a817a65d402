/* Loading libraries, and what their functions answer as exceptions. Where a library is, and what to say when
 * it is not there, is the business of pycuda._libraries. */
#include "ext/library/library.h"

#include "ext/convert/convert.h"
#include "ext/memory/array_device.h"
#include "ext/memory/pooled_allocation.h"
#include "ext/stream/stream.h"

bool library_is_callable(ModuleState *state, LibraryFn function)
{
    const char *name = library_rows[function].name;
    if (host_function_refuses(state, name)) return false;
    if (forked_after_init()) {
        raise_driver(state, CUDA_ERROR_NOT_INITIALIZED, name, NULL);
        return false;
    }
    if (state->libraries.functions[function]) return true;
    PyErr_Format(PyExc_NotImplementedError, "%s: %s", name,
                 state->libraries.handles[library_rows[function].library]
                     ? "the library that was found has no such function: it is too old, or too new"
                     : "its library is not loaded");
    return false;
}

/* Sets code, name and routine, which errors of the driver have as well. -1 with another exception. */
static int set_facts(PyObject *error, int status, const char *name, const char *routine)
{
    PyObject *facts[] = {PyLong_FromLong(status), name ? PyUnicode_FromString(name) : Py_NewRef(Py_None),
                         PyUnicode_FromString(routine)};
    static const char *const names[] = {"code", "name", "routine"};
    int failed = 0;
    for (int i = 0; i < 3; i++) {
        failed = failed || !facts[i] || PyObject_SetAttrString(error, names[i], facts[i]) < 0;
        Py_XDECREF(facts[i]);
    }
    return failed ? -1 : 0;
}

int library_raise_unless(ModuleState *state, LibraryFn function, int status)
{
    if (status == 0) return 0;
    const LibraryRow *row = &library_rows[function];
    const char *name = library_status_name(row->library, status);
    PyObject *text = name ? PyUnicode_FromFormat("%s failed: %s", row->name, name)
                          : PyUnicode_FromFormat("%s failed: status %d", row->name, status);
    PyObject *error = text ? PyObject_CallOneArg(state->LibraryError, text) : NULL;
    if (error && set_facts(error, status, name, row->name) == 0) PyErr_SetObject(state->LibraryError, error);
    Py_XDECREF(error);
    Py_XDECREF(text);
    return -1;
}

/* Loads a library, unless it is loaded. False with OSError when it cannot be loaded. */
static bool load(ModuleState *state, LibraryId library, const char *path)
{
    char problem[512];
    bool loaded;
    /* Without the GIL: the library's initialization takes long. */
    WITHOUT_GIL(loaded = library_load(&state->libraries, library, path, problem, sizeof problem));
    if (!loaded) PyErr_Format(PyExc_OSError, "%s", problem);
    return loaded;
}

PyDoc_STRVAR(library_open_doc, "_library_open(name, find)\n--\n\n"
                               "Load this library of NVIDIA's, once.\n"
                               "\nParameters\n----------\n"
                               "name : str\n    For instance \"cublas\".\n"
                               "find : callable\n    find(name) is its path.\n"
                               "\nRaises\n------\n"
                               "OSError\n    It cannot be loaded.");

static PyObject *library_open(PyObject *module, FAST_PARAMETERS)
{
    ModuleState *state = module_state(module);
    PyObject *find, *found, *path = NULL;
    const char *name;
    if (READ_ARGUMENTS(library_open_doc, INTO(&name), INTO(&find)) < 0) return NULL;
    int library = library_find(name);
    if (library < 0) return PyErr_Format(PyExc_ValueError, "no library is known as %s", name);
    if (state->libraries.handles[library]) Py_RETURN_NONE;
    if (!(found = PyObject_CallFunction(find, "s", name))) return NULL;
    bool loaded =
        PyUnicode_FSConverter(found, &path) && load(state, (LibraryId)library, PyBytes_AS_STRING(path));
    Py_XDECREF(path);
    Py_DECREF(found);
    return none_unless(!loaded);
}

PyDoc_STRVAR(uses_doc, "_library_uses(stream, objects)\n--\n\n"
                       "Work on this stream is about to be queued, by a library, that uses these objects'\n"
                       "memory: pooled memory is freed after it, and a capture keeps what it uses.\n"
                       "\nParameters\n----------\n"
                       "stream : Stream or None\n"
                       "objects : tuple");

/* -1 with ValueError when a GPUArray among the objects is on another device than the current context. */
static int check_devices(ModuleState *state, PyObject *const *objects, Py_ssize_t count)
{
    ContextObject *context = context_current(state);
    int failed = !context;
    for (Py_ssize_t i = 0; i < count && !failed; i++)
        failed =
            gpuarray_check(state, objects[i]) && array_device_require(gpuarray_cast(objects[i]), context) < 0;
    Py_XDECREF((PyObject *)context);
    return failed ? -1 : 0;
}

static PyObject *library_uses(PyObject *module, FAST_PARAMETERS)
{
    ModuleState *state = module_state(module);
    PyObject *stream, *objects;
    CUstream handle;
    if (READ_ARGUMENTS(uses_doc, INTO(&stream), INTO_A(&PyTuple_Type, &objects)) < 0
        || convert_stream(state, stream, &handle) < 0)
        return NULL;
    PyObject *const *items = PySequence_Fast_ITEMS(objects);
    Py_ssize_t count = PyTuple_GET_SIZE(objects);
    return none_unless(check_devices(state, items, count) < 0
                       || pooled_note(state, items, count, stream, handle) < 0);
}

static PyObject *is_cpu_device(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none))
{
    return PyBool_FromLong(driver_is_cpu_device());
}

PyMethodDef library_functions[] = {
    {"_is_cpu_device", is_cpu_device, METH_NOARGS,
     "_is_cpu_device()\n--\n\n"
     "Whether the driver is the CPU device, on whose memory NVIDIA's libraries cannot work.\n"
     "\nReturns\n-------\n"
     "bool"},
    {"_library_open", AS_METHOD(library_open), FAST_KEYWORDS, library_open_doc},
    {"_library_uses", AS_METHOD(library_uses), FAST_KEYWORDS, uses_doc},
    {NULL, NULL, 0, NULL},
};
