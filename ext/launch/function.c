/* Function: attributes of a kernel, and the launch itself, which all ways of calling one share. */
#include "ext/launch/function.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "ext/base/captured.h"
#include "ext/base/constants.h"
#include "ext/base/launch_site.h"
#include "ext/base/types.h"
#include "ext/convert/driver_method.h"
#include "ext/launch/types.h"
#include "ext/texture/reference.h"

const char *function_name(FunctionObject *function)
{
    const char *name = PyUnicode_AsUTF8(function->name);
    if (!name) PyErr_Clear();
    return name ? name : "?";
}

/* launch_shape_explain(). CALL_CORE is for the GIL: the call itself cannot fail. */
static bool explain_shape(FunctionObject *function, const LaunchShape *shape, char *text, size_t size)
{
    CUresult ignored;
    bool explained = false;
    CALL_CORE(function->state, ignored, BLOCKS_ONCE,
              (explained = launch_shape_explain(shape, function->handle, text, size), CUDA_SUCCESS));
    (void)ignored;
    return explained;
}

/* Appends to the text why the driver refused a launch, if that can be found out. */
static void explain_refusal(FunctionObject *function, const LaunchShape *shape, const LaunchExtras *extras,
                            CUstream stream, CUresult result, char *text, size_t size)
{
    CUcontext current = NULL;
    static const char separator[] = ": ";
    const size_t separator_length = sizeof separator - 1, used = strlen(text);
    char *reason = text + used + separator_length; /* if one is written, the separator is put before it */
    const size_t room = size - used - separator_length;
    CUresult known = try_cuCtxGetCurrent(function->state, &current);
    if (known == CUDA_SUCCESS && !context_shares_memory_with(function->context, current))
        snprintf(text + used, size - used, " does not belong to the current context");
    else if (launch_extras_explain(function, shape, stream, result, reason, room)
             || launch_cluster_explain(function, shape, extras, result, reason, room)
             || explain_shape(function, shape, reason, room))
        memcpy(text + used, separator, separator_length);
}

void function_raise_launch(FunctionObject *function, const LaunchShape *shape, const LaunchExtras *extras,
                           CUstream stream, CUresult result, const char *routine)
{
    char text[512];
    if (PyErr_Occurred()) {
        raise_driver(function->state, result, routine, NULL);
        return;
    }
    if (errors_is_fault(result)) {
        const char *blocking = getenv("CUDA_LAUNCH_BLOCKING");
        if (blocking && strcmp(blocking, "0") != 0 && !driver_is_cpu_device())
            raise_driver(function->state, result, routine, "kernel '%s', or an earlier launch",
                         function_name(function));
        else
            raise_driver(function->state, result, routine, "by an earlier launch");
        return;
    }
    snprintf(text, sizeof text, "kernel '%s'", function_name(function));
    explain_refusal(function, shape, extras, stream, result, text, sizeof text);
    raise_driver(function->state, result, routine, "%s", text);
}

void function_name_arguments(FunctionObject *function, PyObject *const *args, Py_ssize_t count)
{
    PyObject *type, *value, *traceback;
    if (!PyErr_ExceptionMatches(function->state->Error)) return;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    PyObject *reader = function->source_reader ? function->source_reader : Py_None;
    PyObject *module = PyImport_ImportModule("pycuda._base.launch_report"), *list = PyTuple_New(count);
    for (Py_ssize_t i = 0; list && i < count; i++) PyTuple_SET_ITEM(list, i, Py_NewRef(args[i]));
    PyObject *done =
        module && list ? PyObject_CallMethod(module, "name_arguments", "OOO", value, reader, list) : NULL;
    Py_XDECREF(module);
    Py_XDECREF(list);
    Py_XDECREF(done);
    if (!done) { /* the error of the launch matters more than its words; an interrupt comes again, after it */
        if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) PyErr_SetInterrupt();
        PyErr_Clear();
    }
    PyErr_Restore(type, value, traceback);
}

static CUresult queue_launch(FunctionObject *function, const LaunchShape *shape, const LaunchExtras *extras,
                             CUstream stream, void **params, void **extra)
{
    if (extras && extras->count) return launch_extras_launch(function, shape, extras, stream, params, extra);
    return try_cuLaunchKernel(function->state, function->handle, shape->grid[0], shape->grid[1],
                              shape->grid[2], shape->block[0], shape->block[1], shape->block[2],
                              shape->shared_bytes, stream, params, extra);
}

int function_launch(FunctionObject *function, const LaunchShape *shape, const LaunchExtras *extras,
                    CUstream stream, void **params, void **extra)
{
    PyObject *self = (PyObject *)function;
    if (captured_keep(function->state, stream, &self, 1) < 0) return -1;
    bool referring = function->module->references != NULL;
    if (referring && references_begin(function->module, stream) < 0) return -1;
    CUresult result = queue_launch(function, shape, extras, stream, params, extra);
    if (referring) references_end(function->module);
    if (result == CUDA_SUCCESS) {
        launch_site_note(function->state);
        return 0;
    }
    function_raise_launch(function, shape, extras, stream, result,
                          extras && extras->count ? "cuLaunchKernelEx" : "cuLaunchKernel");
    return -1;
}

int function_launch_buffer(FunctionObject *function, const LaunchShape *shape, const LaunchExtras *extras,
                           CUstream stream, void *bytes, size_t size)
{
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, bytes, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    return function_launch(function, shape, extras, stream, NULL, extra);
}

int launch_wait(ModuleState *state, CUstream stream)
{
    return gpu_cuStreamSynchronize(state, stream) < 0 ? -1 : PyErr_CheckSignals();
}

/* Frees the timer, and raises the error of launch_timer_start(). Returns -1. */
static int start_error(ModuleState *state, LaunchTimer *timer, CUresult result, const char *routine)
{
    launch_timer_free(state, timer);
    return raise_unless(state, result, routine);
}

int launch_timer_start(ModuleState *state, LaunchTimer *timer, CUstream stream)
{
    *timer = (LaunchTimer){0};
    CUresult result = try_cuEventCreate(state, &timer->start, CU_EVENT_DEFAULT);
    if (result == CUDA_SUCCESS) result = once_cuEventCreate(state, &timer->stop, CU_EVENT_DEFAULT);
    if (result != CUDA_SUCCESS) return start_error(state, timer, result, "cuEventCreate");
    result = try_cuEventRecord(state, timer->start, stream);
    return result == CUDA_SUCCESS ? 0 : start_error(state, timer, result, "cuEventRecord");
}

int launch_timer_stop(ModuleState *state, LaunchTimer *timer, CUstream stream)
{
    return gpu_cuEventRecord(state, timer->stop, stream);
}

double launch_timer_read(ModuleState *state, LaunchTimer *timer)
{
    float milliseconds = 0;
    if (gpu_cuEventSynchronize(state, timer->stop) < 0) return -1;
    CUresult result = once_cuEventElapsedTime(state, &milliseconds, timer->start, timer->stop);
    const double seconds_per_millisecond = 1e-3;
    if (result != CUDA_SUCCESS) return raise_unless(state, result, "cuEventElapsedTime");
    return milliseconds * seconds_per_millisecond;
}

void launch_timer_free(ModuleState *state, LaunchTimer *timer)
{
    if (timer->start) once_cuEventDestroy(state, timer->start);
    if (timer->stop) once_cuEventDestroy(state, timer->stop);
    *timer = (LaunchTimer){0};
}

PyObject *function_new(ModuleState *state, CodeModuleObject *module, CUfunction handle, PyObject *name)
{
    KernelLayout layout;
    CUresult result;
    const char *text = PyUnicode_AsUTF8(name);
    if (!text) return NULL;
    int count = param_counts_find(&module->counts, text);
    CALL_CORE(state, result, ASKS_ONCE, kernel_layout_read(&layout, handle, count));
    if (result != CUDA_SUCCESS) return raise_driver(state, result, "cuFuncGetParamInfo", NULL);
    if (count < 0) errors_skip_log(state); /* the driver noted that there was no further parameter */
    FunctionObject *function = (FunctionObject *)state->Function_type->tp_alloc(state->Function_type, 0);
    if (!function) {
        kernel_layout_free(&layout);
        return NULL;
    }
    function->vectorcall = section_vectorcall(launch_vectorcall);
    function->state = state;
    function->module = (CodeModuleObject *)Py_NewRef((PyObject *)module);
    function->context = module->context;
    function->handle = handle;
    function->name = Py_NewRef(name);
    function->layout = layout;
    if (parameter_types_open(function) < 0) Py_CLEAR(function);
    return (PyObject *)function;
}

static int function_traverse(PyObject *self, visitproc visit, void *arg)
{
    FunctionObject *function = function_cast(self);
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(function->module);
    Py_VISIT(function->name);
    Py_VISIT(function->arg_format);
    Py_VISIT(function->texrefs);
    Py_VISIT(function->source_types);
    Py_VISIT(function->source_reader);
    Py_VISIT(function->attributes);
    return 0;
}

/* The module and the name stay until deallocation: a cycle must not leave a Function that cannot be called.
 */
static int function_clear(PyObject *self)
{
    FunctionObject *function = function_cast(self);
    Py_CLEAR(function->arg_format);
    Py_CLEAR(function->texrefs);
    Py_CLEAR(function->source_types);
    Py_CLEAR(function->source_reader);
    Py_CLEAR(function->attributes);
    return 0;
}

static void function_dealloc(PyObject *self)
{
    FunctionObject *function = function_cast(self);
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (function->weak_references) PyObject_ClearWeakRefs(self);
    function_clear(self);
    prepared_drop(function->prepared);
    kernel_layout_free(&function->layout);
    PyMem_Free(function->stateful);
    PyMem_Free(function->types);
    Py_XDECREF(function->name);
    Py_XDECREF(function->module);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *function_repr(PyObject *self)
{
    FunctionObject *function = function_cast(self);
    return PyUnicode_FromFormat("<pycuda.driver.Function %R at %p>", function->name,
                                (void *)function->handle);
}

#define SELF_IS \
    FunctionObject *function = function_cast(self); \
    ModuleState *state = function->state; \
    CUfunction handle = function->handle
#define CALL(...) DRIVER_METHOD(SELF_IS, __VA_ARGS__)
#include "ext/launch/function.def"
#undef SELF_IS

PyDoc_STRVAR(param_set_texref_doc,
             "param_set_texref($self, texref)\n--\n\n"
             "Make a texture reference available to the kernel, as all of its module are already.\n"
             "\nParameters\n----------\n"
             "texref : TextureReference\n"
             "\nRaises\n------\n"
             "LogicError\n    It belongs to another module.");

static PyObject *param_set_texref(PyObject *self, FAST_PARAMETERS)
{
    PyObject *texref;
    if (READ_ARGUMENTS(param_set_texref_doc, INTO(&texref)) < 0) return NULL;
    PyObject *list = PyTuple_Pack(1, texref);
    int status = list ? launch_check_texrefs(function_cast(self), list, false) : -1;
    Py_XDECREF(list);
    return status < 0 ? NULL : Py_NewRef(Py_None);
}

/* The getter of an attribute such as num_regs; closure: its CUfunction_attribute. There is one property for
 * each, as a __getattr__ would make every look-up of a method slower. */
static PyObject *get_shortcut(PyObject *self, void *closure)
{
    FunctionObject *function = function_cast(self);
    int value;
    int failed = gpu_cuFuncGetAttribute(function->state, &value, (int)(intptr_t)closure, function->handle);
    return failed ? NULL : PyLong_FromLong(value);
}

/* The getter of arg_format, or, if closure is NULL, of texrefs. AttributeError before prepare() sets them: in
 * PyCUDA they are attributes that Python code sets. */
static PyObject *get_prepared(PyObject *self, void *closure)
{
    FunctionObject *function = function_cast(self);
    PyObject *value = closure ? function->arg_format : function->texrefs;
    if (value) return Py_NewRef(value);
    PyErr_Format(PyExc_AttributeError, "'Function' object has no attribute '%s': prepare() was not called",
                 closure ? "arg_format" : "texrefs");
    return NULL;
}

static PyGetSetDef function_getset[] = {
    {"arg_format", get_prepared, NULL, "The format codes of the arguments, as prepare() found them.", "f"},
#define ATTRIBUTE(lower, upper, doc) {#lower, get_shortcut, NULL, doc, (void *)CU_FUNC_ATTRIBUTE_##upper},
#include "ext/launch/function.def"
    {"texrefs", get_prepared, NULL, "The texture references that prepare() was given.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef function_members[] = {
    {"name", T_OBJECT_EX, offsetof(FunctionObject, name), READONLY, "The kernel's name in its module."},
    {"__name__", T_OBJECT_EX, offsetof(FunctionObject, name), READONLY, "The kernel's name in its module."},
    {"handle", T_ULONGLONG, offsetof(FunctionObject, handle), READONLY, "The CUfunction as an int."},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(FunctionObject, vectorcall), READONLY, NULL},
    {"__dictoffset__", T_PYSSIZET, offsetof(FunctionObject, attributes), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

/* The keywords of every launch, which launch_extra_slot reads. */
#define EXTRA_KEYWORDS "cooperative=False, cluster=None, programmatic=False, priority=None, carveout=None"

PyDoc_STRVAR(prepared_call_doc,
             "prepared_call($self, grid, block, /, *args, shared_size=0, " EXTRA_KEYWORDS ")\n--\n\n"
             "Launch the kernel on the default stream with arguments of the types given to\n"
             "prepare().\n"
             "\nParameters\n----------\n"
             "grid : tuple of int\n    Blocks along 1 to 3 axes.\n"
             "block : tuple of int\n    Threads along 3 axes.\n"
             "*args : object\n"
             "shared_size : int\n    Bytes of dynamic shared memory.\n"
             "cooperative, cluster, programmatic, priority, carveout\n    As in a plain call.\n"
             "\nRaises\n------\n"
             "AttributeError\n    prepare() was not called.\n"
             "\nNotes\n-----\n"
             "Calls cuLaunchKernel, cuLaunchKernelEx.");

PyDoc_STRVAR(prepared_async_call_doc,
             "prepared_async_call($self, grid, block, stream, /, *args, shared_size=0, " EXTRA_KEYWORDS
             ")\n--\n\n"
             "Launch the kernel as prepared_call does, on a stream.\n"
             "\nParameters\n----------\n"
             "grid, block : tuple of int\n"
             "stream : Stream or None\n"
             "*args : object\n"
             "shared_size : int\n    Bytes of dynamic shared memory.\n"
             "cooperative, cluster, programmatic, priority, carveout\n    As in a plain call.\n"
             "\nNotes\n-----\n"
             "Calls cuLaunchKernel, cuLaunchKernelEx.");

PyDoc_STRVAR(prepared_timed_call_doc,
             "prepared_timed_call($self, grid, block, /, *args, shared_size=0, " EXTRA_KEYWORDS ")\n--\n\n"
             "Launch the kernel as prepared_call does, between two events.\n"
             "\nParameters\n----------\n"
             "grid, block : tuple of int\n"
             "*args : object\n"
             "shared_size : int\n    Bytes of dynamic shared memory.\n"
             "cooperative, cluster, programmatic, priority, carveout\n    As in a plain call.\n"
             "\nReturns\n-------\n"
             "callable\n    Waits for the kernel and returns its time in seconds.\n"
             "\nNotes\n-----\n"
             "Calls cuLaunchKernel, cuLaunchKernelEx, cuEventElapsedTime.");

PyDoc_STRVAR(call_doc, "__call__($self, /, *args, block, grid=(1, 1), "
                       "stream=None, shared=0, texrefs=(), time_kernel=False, " EXTRA_KEYWORDS ")\n--\n\n"
                       "Launch the kernel.\n"
                       "\nParameters\n----------\n"
                       "*args : object\n"
                       "    numpy scalars, DeviceAllocation, GPUArray, In, Out and InOut of host arrays,\n"
                       "    objects with ``__cuda_array_interface__``; for a pointer to pointers a list or\n"
                       "    tuple of GPUArrays of one dtype. Number and sizes are checked against the\n"
                       "    kernel's own where the driver reports them.\n"
                       "block : tuple of int\n    Threads along 3 axes.\n"
                       "grid : tuple of int\n    Blocks along 1 to 3 axes.\n"
                       "stream : Stream or None\n"
                       "shared : int\n    Bytes of dynamic shared memory.\n"
                       "texrefs : sequence of TextureReference\n    Checked to be bound.\n"
                       "time_kernel : bool\n    Wait for the kernel and return its time.\n"
                       "cooperative : bool\n"
                       "    Run all blocks at the same time, so that they may wait for each other.\n"
                       "cluster : tuple of int\n"
                       "    Blocks of a cluster along 1 to 3 axes; the grid must be a multiple of it.\n"
                       "programmatic : bool\n"
                       "    Begin before the launch before it in the stream has ended (griddepcontrol).\n"
                       "priority : int\n    As of streams.\n"
                       "carveout : int\n    Percent of on-chip memory to use as shared memory.\n"
                       "\nReturns\n-------\n"
                       "float or None\n    Seconds with time_kernel, else None.\n"
                       "\nRaises\n------\n"
                       "TypeError\n    The arguments do not fit the kernel's parameters.\n"
                       "ValueError\n    An empty list; an array on another device.\n"
                       "LogicError, LaunchError\n"
                       "    The driver refused the launch; the message says what of the shape is to blame.\n"
                       "\nNotes\n-----\n"
                       "Calls cuLaunchKernel, cuLaunchKernelEx.");

/* Raises a TypeError for kernel[grid, block], the notation of other libraries, that shows ours. */
static PyObject *function_subscript(PyObject *self, PyObject *Py_UNUSED(shape))
{
    const char *name = function_name(function_cast(self));
    return PyErr_Format(PyExc_TypeError,
                        "a kernel takes the shape of its launch by keyword: %s(..., grid=(x, y, z), "
                        "block=(x, y, z)), not %s[grid, block](...)",
                        name, name);
}

static PyMethodDef function_methods[] = {
#define CALL(name, ...) {#name, AS_METHOD(name), FAST_KEYWORDS, name##_doc},
#include "ext/launch/function.def"
    {"max_active_clusters", AS_METHOD(max_active_clusters), FAST_KEYWORDS, max_active_clusters_doc},
    {"max_potential_cluster_size", AS_METHOD(max_potential_cluster_size), FAST_KEYWORDS,
     max_potential_cluster_size_doc},
    {"param_set_texref", AS_METHOD(param_set_texref), FAST_KEYWORDS, param_set_texref_doc},
    {"prepare", AS_METHOD(prepared_prepare), FAST_KEYWORDS, prepare_doc},
    {"_note_types", parameter_types_note, METH_O, note_types_doc},
    {"_prepare_strided", AS_METHOD(prepared_prepare_strided), FAST_KEYWORDS, prepare_doc},
    {"prepared_call", AS_METHOD(prepared_call), FAST_KEYWORDS, prepared_call_doc},
    {"prepared_async_call", AS_METHOD(prepared_async_call), FAST_KEYWORDS, prepared_async_call_doc},
    {"prepared_timed_call", AS_METHOD(prepared_timed_call), FAST_KEYWORDS, prepared_timed_call_doc},
    CALL_ROW(PyVectorcall_Call, call_doc),
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(function_doc, "A kernel of a Module; made by Module.get_function.");

const TypeSpec Function_spec = {
    TYPE_WITH_WEAK_REFERENCES("pycuda.driver.Function", FunctionObject, Py_TPFLAGS_HAVE_VECTORCALL,
                              function_doc),
    .tp_dealloc = function_dealloc,
    .tp_traverse = function_traverse,
    .tp_clear = function_clear,
    .tp_repr = function_repr,
    .tp_call = PyVectorcall_Call,
    .mp_subscript = function_subscript,
    TYPE_TABLES(function_methods, function_getset, function_members),
};
