/* prepare() and the prepared calls: the types of the arguments are settled once, so that calls may pass plain
 * Python numbers. Settled types are compared with the kernel's own parameters right away. */
#include <stdlib.h>
#include <string.h>

#include "ext/base/deferred.h"
#include "ext/base/errors.h"
#include "ext/base/numpy_api.h"
#include "ext/base/types.h"
#include "ext/convert/convert.h"
#include "ext/launch/arguments.h"
#include "ext/launch/pointer_table.h"
#include "ext/launch/pvt_struct.h"
#include "ext/launch/types.h"
#include "ext/memory/device_memory.h"
#include "ext/memory/gpuarray_object.h"
#include "ext/stream/stream.h"
#include "ext/texture/reference.h"

void prepared_drop(Prepared *prepared)
{
    if (prepared && gil_count(&prepared->holders, -1) == 0) PyMem_Free(prepared);
}

/* A new Prepared with a slot for each value of the format. NULL with MemoryError. */
static Prepared *make_slots(const PackFormat *format)
{
    Prepared *out = PyMem_Calloc(1, sizeof *out + format->value_count * sizeof *out->slots);
    if (!out) return (Prepared *)PyErr_NoMemory();
    out->holders = 1;
    out->bytes = format->size;
    for (size_t i = 0; i < format->run_count; i++) {
        const PackRun *run = &format->runs[i];
        size_t step = pack_run_step(run);
        for (size_t k = 0; k < pack_run_values(run); k++)
            out->slots[out->count++] =
                (PreparedSlot){run->code, (uint32_t)(run->offset + k * step), (uint32_t)step};
    }
    return out;
}

/* Several values may make up one parameter, as two floats a float2. True when at each parameter's first byte
 * a value begins, and at its last byte one ends. */
static bool tiles_parameters(const Prepared *prepared, const KernelLayout *layout)
{
    Py_ssize_t slot = 0;
    for (uint32_t i = 0; i < layout->count; i++) {
        uint32_t end = layout->params[i].offset + layout->params[i].size;
        if (slot == prepared->count || prepared->slots[slot].offset != layout->params[i].offset) return false;
        while (slot < prepared->count && prepared->slots[slot].offset + prepared->slots[slot].size < end)
            slot++;
        if (slot == prepared->count || prepared->slots[slot].offset + prepared->slots[slot].size != end)
            return false;
        slot++;
    }
    return slot == prepared->count;
}

/* Gives the slots the offsets of the kernel's parameters. -1 with TypeError when the types do not fit. */
static int fit_layout(FunctionObject *function, Prepared *prepared)
{
    const KernelLayout *layout = &function->layout;
    Py_ssize_t wrong = -1; /* the first slot whose size is not its parameter's */
    for (Py_ssize_t i = 0; i < prepared->count && i < (Py_ssize_t)layout->count && wrong < 0; i++)
        if (prepared->slots[i].size != layout->params[i].size) wrong = i;
    if (wrong < 0 && prepared->count == (Py_ssize_t)layout->count) {
        for (Py_ssize_t i = 0; i < prepared->count; i++) {
            if (parameter_types_check_code(function, i, prepared->slots[i].code) < 0) return -1;
            prepared->slots[i].offset = layout->params[i].offset;
        }
        prepared->by_parameter = true;
    } else if (!tiles_parameters(prepared, layout)) {
        if (wrong < 0)
            PyErr_Format(PyExc_TypeError, "prepare: kernel '%s' takes %u argument%s, %zd type%s given",
                         function_name(function), layout->count, layout->count == 1 ? "" : "s",
                         prepared->count, prepared->count == 1 ? "" : "s");
        else
            PyErr_Format(PyExc_TypeError,
                         "prepare: argument %zd of kernel '%s' has %u bytes by its type ('%c'), the "
                         "kernel's parameter has %u",
                         wrong, function_name(function), prepared->slots[wrong].size,
                         prepared->slots[wrong].code->code, layout->params[wrong].size);
        return -1;
    }
    prepared->bytes = layout->bytes;
    return 0;
}

/* The format code of a dtype, a new str. NULL with TypeError for a dtype that kernels cannot take. */
static PyObject *code_of_dtype(PyArray_Descr *dtype, Py_ssize_t position)
{
    if (convert_check_byte_order(dtype, "prepare") < 0) return NULL;
    if (strchr("biufc", dtype->kind) && pack_code(dtype->type))
        return PyUnicode_FromFormat("%c", dtype->type);
    if (dtype->kind == 'V' && !PyDataType_REFCHK(dtype))
        return PyUnicode_FromFormat("%zds", (Py_ssize_t)PyDataType_ELSIZE(dtype));
    PyErr_Format(PyExc_TypeError, "prepare: argument %zd: kernels take no %S", position, (PyObject *)dtype);
    return NULL;
}

/* The format codes of one item of arg_types, a new reference. As in PyCUDA anything except a scalar type of
 * NumPy, a dtype or a string means an address (None, object, int, DeviceAllocation). */
static PyObject *code_of_item(PyObject *item, Py_ssize_t position)
{
    PyArray_Descr *dtype = NULL;
    if (PyUnicode_Check(item)) return Py_NewRef(item);
    if (PyArray_DescrCheck(item)) return code_of_dtype((PyArray_Descr *)item, position);
    if (!PyType_Check(item) || !PyType_IsSubtype((PyTypeObject *)item, &PyGenericArrType_Type))
        return PyUnicode_FromString("P");
    if (!PyArray_DescrConverter(item, &dtype)) return NULL;
    PyObject *code = code_of_dtype(dtype, position);
    Py_DECREF(dtype);
    return code;
}

/* arg_types as one format string. */
static PyObject *read_types(PyObject *types)
{
    if (PyUnicode_Check(types)) return Py_NewRef(types);
    PyObject *items = PySequence_List(types), *empty = items ? PyUnicode_FromString("") : NULL;
    for (Py_ssize_t i = 0; empty && i < PyList_GET_SIZE(items); i++) {
        PyObject *code = code_of_item(PyList_GET_ITEM(items, i), i);
        if (!code || PyList_SetItem(items, i, code) < 0) Py_CLEAR(empty);
    }
    PyObject *format = empty ? PyUnicode_Join(empty, items) : NULL;
    Py_XDECREF(empty);
    Py_XDECREF(items);
    return format;
}

/* texrefs= as a list. NULL with an exception when it holds anything else than references of the module. */
static PyObject *read_texrefs(FunctionObject *function, PyObject *texrefs)
{
    PyObject *list = texrefs && texrefs != Py_None ? PySequence_List(texrefs) : PyList_New(0);
    if (list && launch_check_texrefs(function, list, false) < 0) Py_CLEAR(list);
    return list;
}

const char prepare_doc[] =
    PyDoc_STR("prepare($self, arg_types, shared=None, texrefs=None)\n--\n\n"
              "Fix the types of the arguments for prepared_call and its relatives.\n"
              "\nParameters\n----------\n"
              "arg_types : str or sequence\n"
              "    Format codes of the struct module (i, f, P ...; F and D are complex), or a\n"
              "    sequence of such strings, numpy dtypes and numpy scalar types. Whatever else is in\n"
              "    one (None, object, int) stands for an address.\n"
              "shared : int\n    Ignored; prepared_call takes ``shared_size``.\n"
              "texrefs : sequence of TextureReference\n"
              "\nReturns\n-------\n"
              "Function\n    Itself.\n"
              "\nRaises\n------\n"
              "TypeError\n    The types do not fit the kernel's parameters.");

static PyObject *prepare_as(PyObject *self, bool strided, FAST_PARAMETERS)
{
    FunctionObject *function = function_cast(self);
    PackFormat format;
    Prepared *prepared = NULL, *previous = NULL;
    PyObject *given[3], *text, *texrefs;
    if (convert_arguments(prepare_doc, args, arg_count, keywords, GIVEN(given)) < 0
        || !(text = read_types(given[0])))
        return NULL;
    if (pack_read_format(function->state, text, &format) == 0) {
        prepared = make_slots(&format);
        pack_format_free(&format);
    }
    int failed = !prepared || (function->layout.known && fit_layout(function, prepared) < 0);
    if (failed || !(texrefs = read_texrefs(function, given[2]))) {
        prepared_drop(prepared);
        Py_DECREF(text);
        return NULL;
    }
    prepared->strided = strided;
    previous = function->prepared;
    function->prepared = prepared;
    prepared_drop(previous);
    Py_XSETREF(function->arg_format, text);
    Py_XSETREF(function->texrefs, texrefs);
    return Py_NewRef(self);
}

PyObject *prepared_prepare(PyObject *self, FAST_PARAMETERS)
{
    return prepare_as(self, false, args, arg_count, keywords);
}

PyObject *prepared_prepare_strided(PyObject *self, FAST_PARAMETERS)
{
    return prepare_as(self, true, args, arg_count, keywords);
}

/* Adds to the PackError that is set which argument it is about. Returns -1. */
static int name_argument(FunctionObject *function, Py_ssize_t position)
{
    PyObject *type, *value, *traceback;
    if (!PyErr_ExceptionMatches(function->state->PackError)) return -1;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_Format(function->state->PackError, "argument %zd of kernel '%s': %S", position,
                 function_name(function), value ? value : type);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    return -1;
}

/* Shape, attributes and stream of one prepared call. */
typedef struct PreparedLaunch {
    LaunchShape shape;
    LaunchExtras extras;
    CUstream stream;
    PyObject *stream_object; /* borrowed: the same, or None */
    PyObject *tables; /* owned list of the memory that is made for lists of arrays; NULL for none */
} PreparedLaunch;

/* *out: the address of a table of the arrays' addresses, which launch->tables keeps. -1 with an exception. */
static int read_list(FunctionObject *function, PreparedLaunch *launch, Py_ssize_t i, PyObject *arrays,
                     CUdeviceptr *out)
{
    if (!launch->tables && !(launch->tables = PyList_New(0))) return -1;
    DeviceAllocationObject *table =
        pointer_table_new(function, i, arrays, launch->stream_object, launch->stream);
    if (!table) return -1;
    *out = table->pointer;
    int failed = PyList_Append(launch->tables, (PyObject *)table);
    Py_DECREF((PyObject *)table);
    return failed;
}

/* Writes value i to its place in the buffer of arguments. -1 with an exception. */
static int write_slot(FunctionObject *function, const Prepared *prepared, PreparedLaunch *launch,
                      Py_ssize_t i, PyObject *value, unsigned char *bytes)
{
    const PreparedSlot *slot = &prepared->slots[i];
    if (slot->code->kind != PACK_POINTER) {
        if (pack_write(function->state, slot->code, slot->size, value, bytes + slot->offset) == 0) return 0;
        return name_argument(function, i);
    }
    CUdeviceptr address;
    if (!prepared->strided && gpuarray_check(function->state, value)
        && gpuarray_check_whole(gpuarray_cast(value)) < 0)
        return -1;
    int failed = pointer_table_is(value) ? read_list(function, launch, i, value, &address)
                                         : launch_args_address(function, i, value, launch->stream, &address);
    if (failed) return -1;
    memcpy(bytes + slot->offset, &address, sizeof address);
    return 0;
}

static int check_texrefs(FunctionObject *function)
{
    if (PyList_GET_SIZE(function->texrefs) == 0) return 0;
    PyObject *texrefs = Py_NewRef(function->texrefs);
    int status = launch_check_texrefs(function, texrefs, true);
    Py_DECREF(texrefs);
    return status;
}

static int launch_prepared(FunctionObject *function, const Prepared *prepared, PreparedLaunch *launch,
                           PyObject *const *values, Py_ssize_t count)
{
    unsigned char stack[KERNEL_ARGS_STACK_BYTES], *bytes = stack;
    if (count != prepared->count) {
        PyErr_Format(function->state->PackError, "kernel '%s' was prepared for %zd argument%s, %zd given",
                     function_name(function), prepared->count, prepared->count == 1 ? "" : "s", count);
        return -1;
    }
    if (check_texrefs(function) < 0) return -1;
    if (prepared->bytes > sizeof stack && !(bytes = PyMem_Malloc(prepared->bytes))) {
        PyErr_NoMemory();
        return -1;
    }
    memset(bytes, 0, prepared->bytes);
    int failed = 0;
    for (Py_ssize_t i = 0; i < count && !failed; i++)
        failed = write_slot(function, prepared, launch, i, values[i], bytes);
    if (!failed)
        failed = function_launch_buffer(function, &launch->shape, &launch->extras, launch->stream, bytes,
                                        prepared->bytes);
    if (bytes != stack) PyMem_Free(bytes);
    return failed;
}

static int launch_values(FunctionObject *function, PreparedLaunch *launch, PyObject *const *values,
                         Py_ssize_t count)
{
    Prepared *prepared = function->prepared;
    gil_count(&prepared->holders, 1);
    launch->tables = NULL;
    int failed = launch_prepared(function, prepared, launch, values, count);
    Py_XDECREF(launch->tables);
    prepared_drop(prepared);
    if (failed) function_name_arguments(function, values, count);
    return failed;
}

int prepared_launch(FunctionObject *function, const LaunchShape *shape, PyObject *stream,
                    PyObject *const *values, Py_ssize_t count)
{
    PreparedLaunch launch;
    launch.shape = *shape;
    launch.extras.count = 0;
    stream = stream_or_current(function->state, stream);
    launch.stream_object = stream ? stream : Py_None;
    if (launch_read_stream(function->state, stream, &launch.stream) < 0
        || launch_note(function, values, count, stream, launch.stream) < 0)
        return -1;
    return launch_values(function, &launch, values, count);
}

static int read_keywords(ModuleState *state, const char *call, PyObject *const *values, PyObject *names,
                         PreparedLaunch *out)
{
    LaunchExtraKeywords given = {0};
    out->shape.shared_bytes = 0;
    for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i), **slot;
        if (name == state->str_shared_size || PyUnicode_Compare(name, state->str_shared_size) == 0) {
            if (convert_unsigned(values[i], "shared_size", &out->shape.shared_bytes) < 0) return -1;
        } else if ((slot = launch_extra_slot(state, &given, name))) {
            *slot = values[i];
        } else {
            PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'", call, name);
            return -1;
        }
    }
    return launch_extras_read(&given, &out->shape, &out->extras);
}

/* Reads the leading arguments of a prepared call: grid, block and, if async, the stream, which is otherwise
 * the current one; then the keywords. Notes the memory that the other arguments use. call: the method's name.
 * -1 with an exception. */
static int read_front(FunctionObject *function, const char *call, PyObject *const *args, Py_ssize_t arg_count,
                      PyObject *keywords, PreparedLaunch *launch, bool async)
{
    Py_ssize_t front = async ? 3 : 2;
    if (!function->arg_format) {
        PyErr_Format(PyExc_AttributeError, "%s: prepare() was not called on kernel '%s'", call,
                     function_name(function));
        return -1;
    }
    if (arg_count < front) {
        PyErr_Format(PyExc_TypeError, "%s() takes a grid, a block%s and the arguments of the kernel", call,
                     async ? ", a stream" : "");
        return -1;
    }
    if (launch_read_grid(args[0], launch->shape.grid) < 0
        || launch_read_block(args[1], launch->shape.block) < 0)
        return -1;
    PyObject *stream = stream_or_current(function->state, async ? args[2] : NULL);
    launch->stream_object = stream ? stream : Py_None;
    if (launch_read_stream(function->state, stream, &launch->stream) < 0
        || read_keywords(function->state, call, args + arg_count, keywords, launch) < 0)
        return -1;
    return launch_note(function, args + front, arg_count - front, stream, launch->stream);
}

PyObject *prepared_call(PyObject *self, FAST_PARAMETERS)
{
    FunctionObject *function = function_cast(self);
    PreparedLaunch launch;
    if (read_front(function, "prepared_call", args, arg_count, keywords, &launch, false) < 0
        || launch_values(function, &launch, args + 2, arg_count - 2) < 0)
        return NULL;
    Py_RETURN_NONE;
}

PyObject *prepared_async_call(PyObject *self, FAST_PARAMETERS)
{
    FunctionObject *function = function_cast(self);
    PreparedLaunch launch;
    if (read_front(function, "prepared_async_call", args, arg_count, keywords, &launch, true) < 0
        || launch_values(function, &launch, args + 3, arg_count - 3) < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* What prepared_timed_call returns: called, it waits and returns the seconds. */
typedef struct TimedCallObject {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    ModuleState *state;
    ContextObject *context; /* held: the events belong to it */
    LaunchTimer timer; /* owned until deallocation, as several threads may read it at once */
    double seconds; /* -1 until it was read */
} TimedCallObject;

static TimedCallObject *timed_call_cast(PyObject *object) { return (TimedCallObject *)object; }

static PyObject *timed_call_seconds(PyObject *callable, PyObject *const *Py_UNUSED(args), size_t count_flag,
                                    PyObject *keyword_names)
{
    TimedCallObject *self = timed_call_cast(callable);
    ContextScope scope;
    if (PyVectorcall_NARGS(count_flag) || (keyword_names && PyTuple_GET_SIZE(keyword_names))) {
        PyErr_SetString(PyExc_TypeError, "the time of a call is requested without arguments");
        return NULL;
    }
    if (self->seconds < 0) {
        if (host_function_refuses(self->state, "cuEventSynchronize")) return NULL;
        if (!self->timer.stop || !context_enter_scope(self->context, &scope))
            return raise_logic(self->state, "the time of this call is unknown: its events were destroyed");
        self->seconds = launch_timer_read(self->state, &self->timer);
        context_leave_scope(&scope);
    }
    return self->seconds < 0 ? NULL : PyFloat_FromDouble(self->seconds);
}

static void timed_call_dealloc(PyObject *object)
{
    TimedCallObject *self = timed_call_cast(object);
    PyTypeObject *type = Py_TYPE(object);
    ContextScope scope;
    if (deferred_dealloc(self->state, timed_call_dealloc, object)) return;
    if (self->timer.start && context_enter_scope(self->context, &scope)) {
        launch_timer_free(self->state, &self->timer);
        context_leave_scope(&scope);
    }
    context_drop(self->context);
    PyObject_Free(object);
    Py_DECREF(type);
}

/* Takes the timer over, also on failure. */
static PyObject *timed_call_new(FunctionObject *function, LaunchTimer timer)
{
    TimedCallObject *self = PyObject_New(TimedCallObject, function->state->TimedCall_type);
    if (!self) {
        launch_timer_free(function->state, &timer);
        return NULL;
    }
    self->vectorcall = section_vectorcall(timed_call_seconds);
    self->state = function->state;
    self->context = context_hold(function->context);
    self->timer = timer;
    self->seconds = -1;
    return (PyObject *)self;
}

PyObject *prepared_timed_call(PyObject *object, FAST_PARAMETERS)
{
    FunctionObject *function = function_cast(object);
    PreparedLaunch launch;
    LaunchTimer timer;
    if (read_front(function, "prepared_timed_call", args, arg_count, keywords, &launch, false) < 0
        || launch_timer_start(function->state, &timer, launch.stream) < 0)
        return NULL;
    if (launch_values(function, &launch, args + 2, arg_count - 2) < 0
        || launch_timer_stop(function->state, &timer, launch.stream) < 0) {
        launch_timer_free(function->state, &timer);
        return NULL;
    }
    return timed_call_new(function, timer);
}

static PyMemberDef timed_call_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(TimedCallObject, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

const TypeSpec TimedCall_spec = {
    TYPE_OF("pycuda._driver._TimedCall", TimedCallObject, Py_TPFLAGS_HAVE_VECTORCALL,
            "What prepared_timed_call returns. Called, it waits for the kernel and returns seconds."),
    .tp_dealloc = timed_call_dealloc,
    .tp_call = PyVectorcall_Call,
    TYPE_TABLES(NULL, NULL, timed_call_members),
};
