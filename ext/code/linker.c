/* Linker: several pieces of code linked by the driver into one module. Link states belong to a thread
 * (one_thread.h). */
#include <string.h>

#include "core/link.h"
#include "ext/base/deferred.h"
#include "ext/base/driver_calls.h"
#include "ext/base/types.h"
#include "ext/code/code_module.h"
#include "ext/convert/buffers.h"
#include "ext/convert/convert.h"

typedef struct LinkerObject {
    PyObject_HEAD
    ModuleState *state;
    ContextObject *context; /* held; NULL before __init__ */
    CUlinkState handle; /* NULL before __init__ and once the module was linked */
    bool busy; /* a method runs: other calls raise */
    PyObject *message_handler; /* owned, or NULL */
    JitRequest *request; /* owned: the driver writes its logs here until the state is destroyed */
} LinkerObject;

static LinkerObject *linker_cast(PyObject *object) { return (LinkerObject *)object; }

static PyObject *linker_new(PyTypeObject *type, PyObject *Py_UNUSED(args), PyObject *Py_UNUSED(kwargs))
{
    LinkerObject *linker = linker_cast(type->tp_alloc(type, 0));
    if (linker) linker->state = state_of_type(type);
    return (PyObject *)linker;
}

/* ---- Steps, on the thread of link states ---- */

/* Makes a step in the linker's context, which another thread may not destroy meanwhile (context_stay): the
 * thread of link states makes it current. */
IN_CALL static CUresult run_step(LinkerObject *linker, LinkFn call, LinkStep *step)
{
    ContextObject *context = linker->context;
    if (!context_stay(context)) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    CUresult result = call(context->handle, step);
    context_go(context);
    return result;
}

static CUresult take_step(LinkerObject *linker, LinkFn call, LinkStep *step)
{
    CUresult result;
    CALL_CORE(linker->state, result, BLOCKS_ONCE, run_step(linker, call, step));
    return result;
}

/* Destroys the link state. False when it is left to the driver, because the program ends. */
static bool destroy_state(LinkerObject *linker)
{
    ContextScope scope;
    CUresult result;
    LinkStep step = {.handle = linker->handle};
    if (!linker->handle) return true;
    if (!context_enter_scope(linker->context, &scope)) return atomic_load(&linker->context->dead);
    CALL_CORE(linker->state, result, BLOCKS_ONCE, link_destroy(linker->context->handle, &step));
    context_leave_scope(&scope);
    report_driver(linker->state, result, "cuLinkDestroy");
    return true;
}

/* Releases what the linker owns, except the handler. If the link state is left to the driver, the request is
 * leaked: the driver may still write to its logs. */
static void release(LinkerObject *linker)
{
    bool destroyed = destroy_state(linker);
    linker->handle = NULL;
    if (linker->context) context_drop(linker->context);
    linker->context = NULL;
    if (linker->request && destroyed) {
        jit_request_close(linker->request);
        PyMem_Free(linker->request);
    }
    linker->request = NULL;
}

/* False with LogicError while a method of the linker runs. */
static bool is_free(LinkerObject *linker)
{
    if (linker->busy) raise_logic(linker->state, "another thread is using this Linker");
    return !linker->busy;
}

static int open_request(LinkerObject *linker, PyObject *options, PyObject *log_verbose)
{
    int verbose = log_verbose ? PyObject_IsTrue(log_verbose) : 0;
    if (verbose < 0) return -1;
    linker->request = PyMem_Calloc(1, sizeof *linker->request);
    if (!linker->request) {
        PyErr_NoMemory();
        return -1;
    }
    return jit_request_open(linker->request, options, verbose);
}

PyDoc_STRVAR(linker_doc,
             "Linker(message_handler=None, options=None, log_verbose=False)\n--\n\n"
             "Link PTX, cubins, objects and libraries to one Module.\n"
             "\nParameters\n----------\n"
             "message_handler : callable\n"
             "    Called as ``message_handler(ok, info, error)`` with the logs when linking ends.\n"
             "options : iterable of (jit_option, int)\n"
             "log_verbose : bool\n    Longer logs.\n"
             "\nNotes\n-----\n"
             "Calls cuLinkCreate.");

static int linker_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
    LinkerObject *linker = linker_cast(self);
    PyObject *given[3];
    if (convert_call(linker_doc, args, kwargs, GIVEN(given)) < 0
        || host_function_refuses(linker->state, "cuLinkCreate") || !is_free(linker))
        return -1;
    release(linker);
    if (open_request(linker, given[1], given[2]) < 0
        || !(linker->context = context_hold_current(linker->state))) {
        release(linker);
        return -1;
    }
    Py_XSETREF(linker->message_handler, Py_XNewRef(given[0]));
    linker->busy = true;
    JitRequest *request = linker->request;
    LinkStep step = {.count = request->count, .options = request->options, .values = request->values};
    CUresult result = take_step(linker, link_create, &step);
    linker->handle = result == CUDA_SUCCESS ? step.handle : NULL;
    linker->busy = false;
    if (result == CUDA_SUCCESS) return 0;
    raise_driver(linker->state, result, "cuLinkCreate", NULL);
    release(linker);
    return -1;
}

static int linker_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(linker_cast(self)->message_handler);
    return 0;
}

static int linker_clear(PyObject *self)
{
    Py_CLEAR(linker_cast(self)->message_handler);
    return 0;
}

static void linker_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (deferred_dealloc(linker_cast(self)->state, linker_dealloc, self)) return;
    linker_clear(self);
    release(linker_cast(self));
    type->tp_free(self);
    Py_DECREF(type);
}

/* False with LogicError when the linker is in use or has linked its module. */
static bool is_open(LinkerObject *linker)
{
    if (!is_free(linker)) return false;
    if (linker->handle) return true;
    raise_logic(linker->state, "cuLinkAddData failed: this Linker has already linked its module");
    return false;
}

/* Called when a step has failed: calls the handler, then raises with the error log unless the handler has
 * raised. Returns NULL. */
static PyObject *raise_step(LinkerObject *linker, CUresult result, const char *routine)
{
    if (!PyErr_Occurred() && jit_request_call_handler(linker->request, linker->message_handler, false) < 0)
        return NULL;
    if (linker->request->error[0])
        return raise_driver(linker->state, result, routine, "%s", linker->request->error);
    return raise_driver(linker->state, result, routine, NULL);
}

/* Returns None, or NULL with the exception of the failed step. */
static PyObject *add_input(LinkerObject *linker, LinkFn call, LinkStep *step, const char *routine)
{
    linker->busy = true;
    CUresult result = take_step(linker, call, step);
    PyObject *answer = result == CUDA_SUCCESS ? Py_NewRef(Py_None) : raise_step(linker, result, routine);
    linker->busy = false;
    return answer;
}

PyDoc_STRVAR(add_data_doc, "add_data($self, data, input_type, name=\"unknown\")\n--\n\n"
                           "Add code from a buffer.\n"
                           "\nParameters\n----------\n"
                           "data : bytes-like\n"
                           "input_type : jit_input_type\n"
                           "name : str\n    For messages.\n"
                           "\nRaises\n------\n"
                           "LogicError, RuntimeError\n"
                           "    The code cannot be linked, or link_module was called before.\n"
                           "\nNotes\n-----\n"
                           "Calls cuLinkAddData.");

static PyObject *add_data(PyObject *self, FAST_PARAMETERS)
{
    LinkerObject *linker = linker_cast(self);
    PyObject *data, *bytes;
    unsigned type;
    const char *name = "unknown";
    if (READ_ARGUMENTS(add_data_doc, INTO(&data), INTO(&type), INTO(&name)) < 0 || !is_open(linker))
        return NULL;
    bytes = PyUnicode_Check(data) ? PyUnicode_AsUTF8String(data) : PyBytes_FromObject(data);
    if (!bytes) return NULL;
    /* PTX ends with NUL, which counts; a bytes object has one after its end. */
    size_t size = (size_t)PyBytes_GET_SIZE(bytes) + (type == CU_JIT_INPUT_PTX);
    LinkStep step = {.handle = linker->handle,
                     .type = type,
                     .bytes = PyBytes_AS_STRING(bytes),
                     .name = name,
                     .size = size};
    PyObject *answer = code_check_image(linker->state, bytes, "cuLinkAddData")
                           ? add_input(linker, link_add_bytes, &step, "cuLinkAddData")
                           : NULL;
    Py_DECREF(bytes);
    return answer;
}

PyDoc_STRVAR(add_file_doc, "add_file($self, filename, input_type)\n--\n\n"
                           "Add code from a file.\n"
                           "\nParameters\n----------\n"
                           "filename : str or path-like\n"
                           "input_type : jit_input_type\n"
                           "\nRaises\n------\n"
                           "LogicError, RuntimeError\n"
                           "    The file cannot be linked, or link_module was called before.\n"
                           "\nNotes\n-----\n"
                           "Calls cuLinkAddFile.");

static PyObject *add_file(PyObject *self, FAST_PARAMETERS)
{
    LinkerObject *linker = linker_cast(self);
    PyObject *filename, *path;
    unsigned type;
    if (READ_ARGUMENTS(add_file_doc, INTO(&filename), INTO(&type)) < 0 || !is_open(linker)
        || !PyUnicode_FSConverter(filename, &path))
        return NULL;
    LinkStep step = {.handle = linker->handle, .type = type, .bytes = PyBytes_AS_STRING(path)};
    PyObject *answer = add_input(linker, link_add_path, &step, "cuLinkAddFile");
    Py_DECREF(path);
    return answer;
}

PyDoc_STRVAR(link_module_doc, "link_module($self)\n--\n\n"
                              "Link what was added and load it. The Linker cannot be used again.\n"
                              "\nReturns\n-------\n"
                              "Module\n"
                              "\nRaises\n------\n"
                              "LogicError, RuntimeError\n    Linking failed.\n"
                              "\nNotes\n-----\n"
                              "Calls cuLinkComplete, cuModuleLoadData.");

static PyObject *link_module(PyObject *self, PyObject *Py_UNUSED(none))
{
    LinkerObject *linker = linker_cast(self);
    LinkStep step = {.handle = linker->handle};
    if (!is_open(linker)) return NULL;
    linker->busy = true;
    CUresult result = take_step(linker, link_complete, &step);
    PyObject *module = result == CUDA_SUCCESS ? code_module_load(linker->state, step.image, step.size, NULL,
                                                                 NULL, "cuModuleLoadData")
                                              : raise_step(linker, result, "cuLinkComplete");
    if (module && jit_request_call_handler(linker->request, linker->message_handler, true) < 0)
        Py_CLEAR(module);
    if (result == CUDA_SUCCESS) release(linker);
    linker->busy = false;
    return module;
}

static PyMethodDef linker_methods[] = {
    {"add_data", AS_METHOD(add_data), FAST_KEYWORDS, add_data_doc},
    {"add_file", AS_METHOD(add_file), FAST_KEYWORDS, add_file_doc},
    {"link_module", link_module, METH_NOARGS, link_module_doc},
    {NULL, NULL, 0, NULL},
};

const TypeSpec Linker_spec = {
    TYPE_OF("pycuda.driver.Linker", LinkerObject, Py_TPFLAGS_BASETYPE, linker_doc),
    .tp_new = linker_new,
    .tp_init = linker_init,
    .tp_dealloc = linker_dealloc,
    .tp_traverse = linker_traverse,
    .tp_clear = linker_clear,
    TYPE_TABLES(linker_methods, NULL, NULL),
};
