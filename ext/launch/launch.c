/* Function.__call__: the path that every plain launch takes.
 *
 * Nothing here allocates a Python object unless an argument needs one (In, Out, InOut, structures, ctypes),
 * and the GIL is kept while the driver's queue has room: a launch only queues work. The order is: read the
 * arguments (handlers allocate), let handlers copy to the device, launch; if handlers copy back: wait, let
 * them do it. */
#include "ext/base/captured.h"
#include "ext/base/errors.h"
#include "ext/convert/convert.h"
#include "ext/convert/plain_int.h"
#include "ext/launch/arguments.h"
#include "ext/memory/pooled_allocation.h"
#include "ext/stream/stream.h"
#include "ext/texture/reference.h"

typedef struct LaunchKeywords {
    PyObject *block, *grid, *stream, *shared, *texrefs, *time_kernel;   /* borrowed; NULL where not given */
    LaunchExtraKeywords extras;
    bool has_extras;
} LaunchKeywords;

/* The place for the value of this keyword, or NULL. by_address: compares addresses only, which is quick and
 * finds interned names. */
static PyObject **keyword_slot(ModuleState *state, LaunchKeywords *given, PyObject *name, bool by_address)
{
#define MATCH(field) \
    if (by_address ? name == state->str_##field : PyUnicode_Compare(name, state->str_##field) == 0) \
        return &given->field;
    MATCH(block)
    MATCH(grid)
    MATCH(stream)
    MATCH(shared)
    MATCH(texrefs)
    MATCH(time_kernel)
#undef MATCH
    return NULL;
}

static int read_keywords(ModuleState *state, LaunchKeywords *given, PyObject *const *values, PyObject *names)
{
    Py_ssize_t count = names ? PyTuple_GET_SIZE(names) : 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i);
        PyObject **slot = keyword_slot(state, given, name, true);
        if (!slot) slot = keyword_slot(state, given, name, false);
        if (!slot && (slot = launch_extra_slot(state, &given->extras, name))) given->has_extras = true;
        if (!slot) {
            PyErr_Format(PyExc_ValueError, "extra keyword arguments: %U", name);
            return -1;
        }
        *slot = values[i];
    }
    if (given->block && given->block != Py_None) return 0;
    PyErr_SetString(PyExc_ValueError, "must specify block size");
    return -1;
}

/* Reads a tuple of up to 3 small ints, the usual case. Returns how many, or 0, without an exception, for
 * other objects. */
static Py_ssize_t read_plain(PyObject *value, unsigned out[3])
{
    if (!PyTuple_CheckExact(value) || PyTuple_GET_SIZE(value) > 3) return 0;
    Py_ssize_t count = PyTuple_GET_SIZE(value);
    for (Py_ssize_t i = 0; i < count; i++) {
        long number;
        if (!plain_int(PyTuple_GET_ITEM(value, i), &number) || number < 0) return 0;
        out[i] = (unsigned)number;
    }
    return count;
}

int launch_read_block(PyObject *value, unsigned out[3])
{
    return read_plain(value, out) == 3 ? 0 : convert_block(value, out);
}

int launch_read_grid(PyObject *value, unsigned out[3])
{
    out[0] = out[1] = out[2] = 1;
    return !value || read_plain(value, out) > 0 ? 0 : convert_grid(value, out);
}

int launch_read_stream(ModuleState *state, PyObject *value, CUstream *out)
{
    *out = NULL;
    if (!value || value == Py_None) return 0;
    if (Py_TYPE(value) != state->Stream_type) return convert_stream(state, value, out);
    *out = stream_cast(value)->handle;
    return 0;
}

/* -1 with LogicError when a texture reference is bound to nothing, or to freed memory. */
static int check_binding(FunctionObject *function, Reference *reference)
{
    Binding *binding = binding_hold(reference);
    bool bound = binding->source, stale = bound && binding_is_stale(function->state, binding);
    binding_drop(binding);
    if (bound && !stale) return 0;
    raise_logic(function->state, "kernel '%s': texture reference '%s' is bound to %s",
                function_name(function), reference->name,
                stale ? "memory that was freed" : "nothing: set_array or set_address does that");
    return -1;
}

static int check_texref(FunctionObject *function, PyObject *item, bool for_launch)
{
    ModuleState *state = function->state;
    if (!PyObject_TypeCheck(item, state->TextureReference_type)) {
        PyErr_Format(PyExc_TypeError, "texrefs may hold TextureReference objects only, not %.200s",
                     Py_TYPE(item)->tp_name);
        return -1;
    }
    const ReferenceObject *object = reference_cast(item);
    if (object->module == function->module)
        return for_launch ? check_binding(function, object->reference) : 0;
    raise_logic(state, "kernel '%s': texture reference '%s' belongs to %s", function_name(function),
                object->reference->name,
                object->module ? "another module" : "no module: Module.get_texref gives those of one");
    return -1;
}

int launch_check_texrefs(FunctionObject *function, PyObject *texrefs, bool for_launch)
{
    if (!texrefs || texrefs == Py_None) return 0;
    PyObject *items = convert_items(texrefs, "texrefs must be a sequence of TextureReference objects");
    int status = items ? 0 : -1;
    for (Py_ssize_t i = 0; status == 0 && i < PySequence_Fast_GET_SIZE(items); i++)
        status = check_texref(function, PySequence_Fast_GET_ITEM(items, i), for_launch);
    Py_XDECREF(items);
    return status;
}

static int read_shape(FunctionObject *function, const LaunchKeywords *given, LaunchShape *shape,
                      CUstream *stream)
{
    shape->shared_bytes = 0;
    if (launch_read_block(given->block, shape->block) < 0 || launch_read_grid(given->grid, shape->grid) < 0)
        return -1;
    if (given->stream && launch_read_stream(function->state, given->stream, stream) < 0) return -1;
    if (given->shared && convert_unsigned(given->shared, "shared", &shape->shared_bytes) < 0) return -1;
    return given->texrefs ? launch_check_texrefs(function, given->texrefs, true) : 0;
}

/* Launches the kernel. If its layout is known the driver reads each value where it is; otherwise all values
 * are first copied to a buffer. -1 with an exception. */
static int launch(LaunchArgs *args, const LaunchShape *shape, const LaunchExtras *extras, CUstream stream)
{
    FunctionObject *function = args->function;
    unsigned char bytes[KERNEL_ARGS_STACK_BYTES];
    if (function->layout.known) return function_launch(function, shape, extras, stream, args->params, NULL);
    size_t size = launch_args_flatten(args, bytes, sizeof bytes);
    if (size != (size_t)-1) return function_launch_buffer(function, shape, extras, stream, bytes, size);
    PyErr_Format(PyExc_TypeError, "the arguments of kernel '%s' need more than %d bytes",
                 function_name(function), KERNEL_ARGS_STACK_BYTES);
    return -1;
}

/* Calls a method of every handler that has it, unless only_ask. *any: whether a handler has it. -1 with an
 * exception. */
static int call_handlers(PyObject *handlers, PyObject *method, PyObject *stream, bool only_ask, bool *any)
{
    *any = false;
    for (Py_ssize_t i = 0; handlers && i < PyList_GET_SIZE(handlers); i++) {
        PyObject *handler = PyList_GET_ITEM(handlers, i);
        if (!PyObject_HasAttr(handler, method)) continue;
        *any = true;
        PyObject *result = only_ask ? Py_NewRef(Py_None) : PyObject_CallMethodOneArg(handler, method, stream);
        if (!result) return -1;
        Py_DECREF(result);
    }
    return 0;
}

/* A launch with handlers or a timer. The seconds that the kernel took, or 0 when not timed; -1 with an
 * exception. */
static double launch_full(LaunchArgs *args, const LaunchShape *shape, const LaunchExtras *extras,
                          CUstream stream, PyObject *stream_object, bool timed)
{
    ModuleState *state = args->function->state;
    LaunchTimer timer = {0};
    bool before, after;
    double seconds = 0;
    if (timed && !launch_is_eager(state, stream, true)) return -1;
    if (call_handlers(args->handlers, state->str_pre_call, stream_object, false, &before) < 0) return -1;
    if (timed && launch_timer_start(state, &timer, stream) < 0) return -1;
    int failed = launch(args, shape, extras, stream);
    if (!failed && timed) {
        failed = launch_timer_stop(state, &timer, stream);
        if (!failed && (seconds = launch_timer_read(state, &timer)) < 0) failed = -1;
    }
    launch_timer_free(state, &timer);
    if (failed) return -1;
    call_handlers(args->handlers, state->str_post_call, stream_object, true, &after);
    if (after && launch_wait(state, stream) < 0) return -1;
    return after && call_handlers(args->handlers, state->str_post_call, stream_object, false, &after) < 0
               ? -1
               : seconds;
}

int launch_note(FunctionObject *function, PyObject *const *args, Py_ssize_t count, PyObject *stream,
                CUstream handle)
{
    ModuleState *state = function->state;
    if (!pooled_is_due(state)) return 0;
    if (pooled_note_objects(state, args, count, stream, handle) < 0) return -1;
    return references_note(function->module, stream, handle);
}

PyObject *launch_vectorcall(PyObject *callable, PyObject *const *args, size_t count_flag,
                            PyObject *keyword_names)
{
    FunctionObject *function = function_cast(callable);
    Py_ssize_t count = PyVectorcall_NARGS(count_flag);
    LaunchKeywords given = {0};
    LaunchShape shape;
    LaunchExtras extras;
    LaunchArgs values;
    CUstream stream = NULL;
    double seconds = 0;
    int timed = 0;
    if (read_keywords(function->state, &given, args + count, keyword_names) < 0) return NULL;
    given.stream = stream_or_current(function->state, given.stream);
    if (read_shape(function, &given, &shape, &stream) < 0) return NULL;
    if (given.has_extras && launch_extras_read(&given.extras, &shape, &extras) < 0) return NULL;
    const LaunchExtras *given_extras = given.has_extras ? &extras : NULL;
    if (given.time_kernel && (timed = PyObject_IsTrue(given.time_kernel)) < 0) return NULL;
    int failed =
        launch_args_read(&values, function, args, count, stream, given.stream ? given.stream : Py_None);
    if (!failed) failed = launch_note(function, args, count, given.stream, stream);
    if (!failed && !timed && !values.handlers)
        failed = launch(&values, &shape, given_extras, stream);
    else if (!failed) {
        seconds =
            launch_full(&values, &shape, given_extras, stream, given.stream ? given.stream : Py_None, timed);
        failed = seconds < 0;
    }
    launch_args_clear(&values);
    if (failed) {
        function_name_arguments(function, args, count);
        return NULL;
    }
    return timed ? PyFloat_FromDouble(seconds) : Py_NewRef(Py_None);
}
