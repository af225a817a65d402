/* Functions of Python that take arrays of other libraries among their arguments, and obey a stream. */
#include "ext/base/numpy_api.h"
#include "ext/base/types.h"
#include "ext/convert/convert.h"
#include "ext/gpuarray/elementwise.h"
#include "ext/gpuarray/foreign_view.h"
#include "ext/gpuarray/launch_cache.h"
#include "ext/memory/array_device.h"
#include "ext/stream/stream.h"

/* How deep lists, tuples and dicts are searched: __array_function__ gets a tuple of arguments, of which one
 * may be a list. */
enum { DEPTH = 3 };

/* ---- Looking ---- */

/* Looks at a value that is no container. Not 0 ends the walk: -1 with an exception. */
typedef int (*Visit)(ModuleState *state, PyObject *value, void *found);

static bool is_container(PyObject *value)
{
    return PyList_CheckExact(value) || PyTuple_CheckExact(value) || PyDict_CheckExact(value);
}

/* Visits the values, and the items of containers among them, at most `depth` containers deep. What ended the
 * walk, or 0. */
static int visit_each(ModuleState *state, PyObject *const *values, Py_ssize_t count, int depth, Visit visit,
                      void *found)
{
    int ended = 0;
    for (Py_ssize_t i = 0; !ended && i < count; i++) {
        if (!is_container(values[i])) {
            ended = visit(state, values[i], found);
        } else if (depth) {
            PyObject *items =
                PyDict_CheckExact(values[i]) ? PyDict_Values(values[i]) : convert_items(values[i], "");
            ended = !items ? -1
                           : visit_each(state, PySequence_Fast_ITEMS(items), PySequence_Fast_GET_SIZE(items),
                                        depth - 1, visit, found);
            Py_XDECREF(items);
        }
    }
    return ended;
}

static int visit_foreign(ModuleState *state, PyObject *value, void *Py_UNUSED(found))
{
    return foreign_is_possible(state, value);
}

/* Whether one of the values, or an item at most `depth` containers deep, may be another library's array. Also
 * if memory is short, which is raised where the items are replaced. */
static bool any_foreign(ModuleState *state, PyObject *const *values, Py_ssize_t count, int depth)
{
    int found = visit_each(state, values, count, depth, visit_foreign, NULL);
    if (found < 0) PyErr_Clear();
    return found != 0;
}

/* ---- Devices ---- */

/* Ends the walk at an array of another context than *first, that of the first array. */
static int visit_context(ModuleState *state, PyObject *value, void *found)
{
    const ContextObject **first = found;
    if (!gpuarray_check(state, value) || !gpuarray_cast(value)->allocation) return 0;
    const ContextObject *context = gpuarray_cast(value)->allocation->context;
    if (!*first) *first = context;
    return context != *first;
}

/* -1 with ValueError if kernels of the context `found` must not use this array. */
static int visit_checked(ModuleState *state, PyObject *value, void *found)
{
    return gpuarray_check(state, value) ? array_device_require(gpuarray_cast(value), found) : 0;
}

/* -1 with ValueError if the arguments are arrays of several devices. A function would find that out by
 * itself, but perhaps after it has launched kernels for the arrays of one of them. */
static int check_devices(ModuleState *state, PyObject *const *values, Py_ssize_t count)
{
    const ContextObject *first = NULL;
    int differ = visit_each(state, values, count, DEPTH, visit_context, &first);
    if (differ <= 0) return differ;
    ContextObject *context = context_current(state);
    int failed = context ? visit_each(state, values, count, DEPTH, visit_checked, context) : -1;
    Py_XDECREF((PyObject *)context);
    return failed;
}

/* ---- Replacing ---- */

/* The replacement of other libraries' arrays by views in the arguments of one call. */
typedef struct Replacing {
    ModuleState *state;
    TransferMode mode;
    PyObject *pairs; /* owned: a list of each view and, after it, its array */
} Replacing;

static PyObject *replaced(Replacing *work, PyObject *value, int depth);

/* A new list or tuple with replaced items. It iterates over a copy: making a view may run code that changes
 * a list. */
static PyObject *replaced_items(Replacing *work, PyObject *value, int depth)
{
    PyObject *items = PySequence_Tuple(value), *result = items ? PyList_New(0) : NULL;
    for (Py_ssize_t i = 0; result && i < PyTuple_GET_SIZE(items); i++) {
        PyObject *item = replaced(work, PyTuple_GET_ITEM(items, i), depth);
        if (!item || PyList_Append(result, item) < 0) Py_CLEAR(result);
        Py_XDECREF(item);
    }
    Py_XDECREF(items);
    if (result && PyTuple_CheckExact(value)) Py_SETREF(result, PyList_AsTuple(result));
    return result;
}

static PyObject *replaced_values(Replacing *work, PyObject *value, int depth)
{
    PyObject *result = PyDict_New(), *keys = result ? PyDict_Keys(value) : NULL;
    for (Py_ssize_t i = 0; keys && result && i < PyList_GET_SIZE(keys); i++) {
        PyObject *key = PyList_GET_ITEM(keys, i), *given = PyObject_GetItem(value, key);
        PyObject *item = given ? replaced(work, given, depth) : NULL;
        if (!item || PyDict_SetItem(result, key, item) < 0) Py_CLEAR(result);
        Py_XDECREF(given);
        Py_XDECREF(item);
    }
    if (!keys) Py_CLEAR(result);
    Py_XDECREF(keys);
    return result;
}

/* What takes the value's place, a new reference: for another library's array a view; for a container that may
 * hold such arrays a new container with views; otherwise the value itself. NULL with an exception. */
static PyObject *replaced(Replacing *work, PyObject *value, int depth)
{
    PyObject *view = NULL;
    if (!any_foreign(work->state, &value, 1, depth)) return Py_NewRef(value);
    if (PyDict_CheckExact(value)) return replaced_values(work, value, depth - 1);
    if (PyList_CheckExact(value) || PyTuple_CheckExact(value)) return replaced_items(work, value, depth - 1);
    int found = foreign_view(work->state, value, work->mode, &view);
    if (found == 0) return Py_NewRef(value);
    if (found > 0 && (PyList_Append(work->pairs, view) < 0 || PyList_Append(work->pairs, value) < 0))
        Py_CLEAR(view);
    return view;
}

static bool is_stream(ModuleState *state, PyObject *value)
{
    return PyObject_TypeCheck(value, state->Stream_type)
           || (foreign_is_possible(state, value) && PyObject_HasAttr(value, state->str___cuda_stream__));
}

PyDoc_STRVAR(views_doc, "_views(values, stream=None)\n--\n\n"
                        "The tuple, with GPUArrays in place of other libraries' arrays, for work on the\n"
                        "stream; the same one where there are none.");

static PyObject *views_py(PyObject *module, FAST_PARAMETERS)
{
    PyObject *given[2];
    Replacing work = {.state = module_state(module), .mode = {.host_too = true}};
    if (convert_arguments(views_doc, args, arg_count, keywords, GIVEN(given)) < 0) return NULL;
    if (!PyTuple_CheckExact(given[0])) return PyErr_Format(PyExc_TypeError, "values must be a tuple");
    if (!any_foreign(work.state, given, 1, DEPTH)) return Py_NewRef(given[0]);
    if (transfer_stream(work.state, given[1], &work.mode) < 0 || !(work.pairs = PyList_New(0))) return NULL;
    PyObject *result = replaced(&work, given[0], 1);
    if (result && !PyList_GET_SIZE(work.pairs)) Py_SETREF(result, Py_NewRef(given[0]));
    Py_DECREF(work.pairs);
    return result;
}

/* ---- Functions that take them ---- */

/* A Python function that is called with views in place of other libraries' arrays. During the call the
 * argument `stream` is the current stream, so that copies and allocations that name no stream use it. `quick`
 * says how some calls are made without Python: a name, as the elementwise operation of this name if the only
 * argument is a GPUArray; a _LaunchCache, as a launch that it remembers. */
typedef struct ArrayFunctionObject {
    PyObject_HEAD
    vectorcallfunc call;
    ModuleState *state;
    PyObject *function; /* owned */
    PyObject *quick; /* owned, or NULL: an interned name, or a _LaunchCache */
    bool writes; /* the function writes to its first argument */
    bool anywhere; /* it launches nothing for arrays of several devices: it reads their description only */
    bool has_stream; /* the function has a parameter `stream` */
    Py_ssize_t stream_at; /* the position of `stream` or `stream_or_out`; -1: not to be given by position */
    Py_ssize_t out_at; /* the position of `out` or `stream_or_out`; -1: not to be given by position */
    PyObject *attributes; /* __dict__ */
    PyObject *weak_references;
} ArrayFunctionObject;

static ArrayFunctionObject *array_function_cast(PyObject *object) { return (ArrayFunctionObject *)object; }

/* The argument `stream` of a call, borrowed, or NULL. */
static PyObject *given_stream(const ArrayFunctionObject *outer, FAST_PARAMETERS)
{
    Py_ssize_t named = keywords && outer->has_stream ? PyTuple_GET_SIZE(keywords) : 0;
    for (Py_ssize_t i = 0; i < named; i++)
        if (PyTuple_GET_ITEM(keywords, i) == outer->state->str_stream) return args[arg_count + i];
    return outer->stream_at >= 0 && outer->stream_at < arg_count ? args[outer->stream_at] : NULL;
}

static PyObject *call_on_stream(const ArrayFunctionObject *outer, PyObject *stream, FAST_PARAMETERS)
{
    PyObject *token = NULL;
    if (!stream || !is_stream(outer->state, stream))
        return PyObject_Vectorcall(outer->function, args, (size_t)arg_count, keywords);
    if (!(token = stream_push(outer->state, stream))) return NULL;
    PyObject *result = PyObject_Vectorcall(outer->function, args, (size_t)arg_count, keywords);
    stream_pop(outer->state, token);
    return result;
}

/* The argument `out` of a call, borrowed, or NULL. */
static PyObject *given_out(const ArrayFunctionObject *outer, FAST_PARAMETERS)
{
    for (Py_ssize_t i = 0; keywords && i < PyTuple_GET_SIZE(keywords); i++) {
        PyObject *name = PyTuple_GET_ITEM(keywords, i);
        bool is_out = PyUnicode_CompareWithASCIIString(name, "out") == 0;
        if (is_out || PyUnicode_CompareWithASCIIString(name, "stream_or_out") == 0)
            return args[arg_count + i];
    }
    return outer->out_at >= 0 && outer->out_at < arg_count ? args[outer->out_at] : NULL;
}

static bool is_or_contains(PyObject *out, PyObject *array)
{
    for (Py_ssize_t i = 0; PyTuple_Check(out) && i < PyTuple_GET_SIZE(out); i++)
        if (PyTuple_GET_ITEM(out, i) == array) return true;
    return out == array;
}

/* If the result is a view of an array that the caller gave as out=, returns that array in its place;
 * otherwise the result. Steals the reference to the result, which may be NULL; returns a new one. */
static PyObject *original_of(const Replacing *work, PyObject *out, PyObject *result)
{
    for (Py_ssize_t i = 0; out && result && i < PyList_GET_SIZE(work->pairs); i += 2) {
        PyObject *array = PyList_GET_ITEM(work->pairs, i + 1);
        if (PyList_GET_ITEM(work->pairs, i) != result || !is_or_contains(out, array)) continue;
        Py_DECREF(result);
        return Py_NewRef(array);
    }
    return result;
}

/* Calls the function with views in the place of foreign arrays, made for work on the stream. */
static PyObject *call_with_views(const ArrayFunctionObject *outer, PyObject *stream, FAST_PARAMETERS)
{
    Py_ssize_t total = arg_count + (keywords ? PyTuple_GET_SIZE(keywords) : 0), done = 0;
    Replacing work = {.state = outer->state, .pairs = PyList_New(0)};
    PyObject *result = NULL, **values = PyMem_New(PyObject *, (size_t)(total ? total : 1));
    if (!values) PyErr_NoMemory();
    work.mode.host_too = true;
    if (values && work.pairs && transfer_stream(outer->state, stream, &work.mode) == 0)
        while (done < total && (values[done] = replaced(&work, args[done], DEPTH))) done++;
    if (!PyErr_Occurred())
        result = original_of(&work, given_out(outer, args, arg_count, keywords),
                             call_on_stream(outer, stream, values, arg_count, keywords));
    while (done > 0) Py_DECREF(values[--done]);
    PyMem_Free(values);
    Py_XDECREF(work.pairs);
    return result;
}

/* Makes the call by `quick`. NULL without an exception when it cannot be made so. */
static PyObject *call_quickly(const ArrayFunctionObject *outer, PyObject *const *values, Py_ssize_t count)
{
    ModuleState *state = outer->state;
    if (!PyUnicode_Check(outer->quick)) return launch_cache_call(outer->quick, values, count);
    if (count != 1 || !gpuarray_check(state, *values)) return NULL;
    ElementwiseCall call = {.name = outer->quick, .operands = values, .count = 1};
    return elementwise_call(state, &call);
}

static PyObject *call_array_function(PyObject *self, PyObject *const *args, size_t flags, PyObject *keywords)
{
    ArrayFunctionObject *outer = array_function_cast(self);
    Py_ssize_t count = PyVectorcall_NARGS(flags), total = count + (keywords ? PyTuple_GET_SIZE(keywords) : 0);
    if (outer->quick && total == count) {
        PyObject *result = call_quickly(outer, args, count);
        if (result || PyErr_Occurred()) return result;
    }
    if (outer->writes && count && gpuarray_check_kept(outer->state, args[0]) < 0) return NULL;
    if (gpuarray_check_out_kept(outer->state, outer->function, args, count, keywords) < 0
        || (!outer->anywhere && check_devices(outer->state, args, total) < 0))
        return NULL;
    PyObject *stream = given_stream(outer, args, count, keywords);
    return any_foreign(outer->state, args, total, DEPTH)
               ? call_with_views(outer, stream, args, count, keywords)
               : call_on_stream(outer, stream, args, count, keywords);
}

/* A method __call__ of kernels: calls that were seen before need not go through Python. */
static PyObject *call_kernel(PyObject *self, PyObject *const *args, size_t flags, PyObject *keywords)
{
    ArrayFunctionObject *outer = array_function_cast(self);
    Py_ssize_t count = PyVectorcall_NARGS(flags);
    PyObject *result = NULL;
    if (count > 1 && !keywords) result = launch_cache_call_kernel(outer->state, args[0], args + 1, count - 1);
    if (result || PyErr_Occurred()) return result;
    return PyObject_Vectorcall(outer->function, args, flags, keywords);
}

/* An integer attribute of a code object. -1 with an exception. */
static Py_ssize_t code_count(PyObject *code, const char *name)
{
    PyObject *value = PyObject_GetAttrString(code, name);
    Py_ssize_t count = value ? PyLong_AsSsize_t(value) : -1;
    Py_XDECREF(value);
    return count;
}

/* Finds out whether the function has parameters `stream` and `out`, and their positions. -1 with an
 * exception. */
static int find_parameters(ArrayFunctionObject *outer)
{
    PyObject *code = PyObject_GetAttrString(outer->function, "__code__");
    PyObject *names = code ? PyObject_GetAttrString(code, "co_varnames") : NULL;
    Py_ssize_t placed = names ? code_count(code, "co_argcount") : -1;
    Py_ssize_t by_name = placed < 0 ? -1 : code_count(code, "co_kwonlyargcount");
    outer->stream_at = outer->out_at = -1;
    for (Py_ssize_t i = 0; by_name >= 0 && i < placed + by_name; i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i);
        bool is_named = PyUnicode_CompareWithASCIIString(name, "stream") == 0;
        bool is_either = PyUnicode_CompareWithASCIIString(name, "stream_or_out") == 0;
        outer->has_stream = outer->has_stream || is_named;
        bool is_out = PyUnicode_CompareWithASCIIString(name, "out") == 0;
        if ((is_named || is_either) && i < placed) outer->stream_at = i;
        if ((is_out || is_either) && i < placed) outer->out_at = i;
    }
    Py_XDECREF(names);
    Py_XDECREF(code);
    return by_name < 0 ? -1 : 0;
}

static PyObject *array_function_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *function, *quick = NULL;
    int writes = 0, anywhere = 0;
    ModuleState *state = state_of_type(type);
    if (kwargs || !PyArg_ParseTuple(args, "O|Opp:_ArrayFunction", &function, &quick, &writes, &anywhere))
        return NULL;
    if (quick == Py_None) quick = NULL;
    if (quick && !PyUnicode_CheckExact(quick) && Py_TYPE(quick) != state->_LaunchCache_type)
        return PyErr_Format(PyExc_TypeError, "expected the name of a function or a _LaunchCache object");
    ArrayFunctionObject *outer = array_function_cast(type->tp_alloc(type, 0));
    if (!outer) return NULL;
    outer->call = section_vectorcall(call_array_function);
    outer->state = state;
    outer->function = Py_NewRef(function);
    outer->quick = Py_XNewRef(quick);
    outer->writes = writes;
    outer->anywhere = anywhere;
    if (quick && PyUnicode_Check(quick)) PyUnicode_InternInPlace(&outer->quick);
    if (find_parameters(outer) < 0) Py_CLEAR(outer);
    return (PyObject *)outer;
}

static PyObject *kernel_call_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *outer = array_function_new(type, args, kwargs);
    if (outer) array_function_cast(outer)->call = section_vectorcall(call_kernel);
    return outer;
}

static int array_function_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(array_function_cast(self)->function);
    Py_VISIT(array_function_cast(self)->quick);
    Py_VISIT(array_function_cast(self)->attributes);
    return 0;
}

static int array_function_clear(PyObject *self)
{
    Py_CLEAR(array_function_cast(self)->function);
    Py_CLEAR(array_function_cast(self)->quick);
    Py_CLEAR(array_function_cast(self)->attributes);
    return 0;
}

static void array_function_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (array_function_cast(self)->weak_references) PyObject_ClearWeakRefs(self);
    array_function_clear(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *array_function_repr(PyObject *self)
{
    PyObject *name = PyObject_GetAttrString(self, "__qualname__");
    PyObject *module = name ? PyObject_GetAttrString(self, "__module__") : NULL;
    PyObject *text = module ? PyUnicode_FromFormat("<function %S.%S>", module, name) : NULL;
    Py_XDECREF(module);
    Py_XDECREF(name);
    return text;
}

/* Binds like a function, so that inspect and help() see a routine. */
static PyObject *array_function_get(PyObject *self, PyObject *object, PyObject *Py_UNUSED(type))
{
    return object && object != Py_None ? PyMethod_New(self, object) : Py_NewRef(self);
}

/* Pickled by its name, as functions are. */
static PyObject *array_function_reduce(PyObject *self, PyObject *Py_UNUSED(none))
{
    return PyObject_GetAttrString(self, "__qualname__");
}

static PyMethodDef array_function_methods[] = {
    {"__reduce__", array_function_reduce, METH_NOARGS, "__reduce__($self)\n--\n\nIts name."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef array_function_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(ArrayFunctionObject, call), READONLY, NULL},
    {"__dictoffset__", T_PYSSIZET, offsetof(ArrayFunctionObject, attributes), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef array_function_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

const TypeSpec _ArrayFunction_spec = {
    TYPE_WITH_WEAK_REFERENCES("pycuda._driver._ArrayFunction", ArrayFunctionObject,
                              Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_METHOD_DESCRIPTOR,
                              NULL),
    .tp_new = array_function_new,
    .tp_dealloc = array_function_dealloc,
    .tp_traverse = array_function_traverse,
    .tp_clear = array_function_clear,
    .tp_repr = array_function_repr,
    .tp_call = PyVectorcall_Call,
    .tp_descr_get = array_function_get,
    TYPE_TABLES(array_function_methods, array_function_getset, array_function_members),
};

/* A type with the flag for vectorcall says itself where the function is, though it has it from its base. */
static PyMemberDef kernel_call_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(ArrayFunctionObject, call), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

const TypeSpec _KernelCall_spec = {
    TYPE_OF("pycuda._driver._KernelCall", ArrayFunctionObject,
            Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR, NULL),
    .tp_new = kernel_call_new,
    .tp_dealloc = array_function_dealloc,
    .tp_traverse = array_function_traverse,
    .tp_clear = array_function_clear,
    .tp_call = PyVectorcall_Call,
    .tp_descr_get = array_function_get,
    TYPE_TABLES(NULL, NULL, kernel_call_members),
};

PyDoc_STRVAR(on_stream_doc, "_on_stream(stream, function, /, *args)\n--\n\n"
                            "function(*args) with the stream as the current one; without one as it is.");

static PyObject *on_stream_py(PyObject *module, PyObject *const *args, Py_ssize_t arg_count)
{
    ModuleState *state = module_state(module);
    if (arg_count < 2) return PyErr_Format(PyExc_TypeError, "_on_stream takes a stream and a function");
    if (args[0] == Py_None) return PyObject_Vectorcall(args[1], args + 2, (size_t)(arg_count - 2), NULL);
    PyObject *token = stream_push(state, args[0]);
    if (!token) return NULL;
    PyObject *result = PyObject_Vectorcall(args[1], args + 2, (size_t)(arg_count - 2), NULL);
    stream_pop(state, token);
    return result;
}

PyDoc_STRVAR(from_capsule_doc, "_from_capsule(capsule, stream=None)\n--\n\n"
                               "A GPUArray over the tensor in a capsule of DLPack, for work on the stream.");

static PyObject *from_capsule_py(PyObject *module, FAST_PARAMETERS)
{
    PyObject *given[2];
    TransferMode mode = {0};
    ModuleState *state = module_state(module);
    if (convert_arguments(from_capsule_doc, args, arg_count, keywords, GIVEN(given)) < 0
        || transfer_stream(state, given[1], &mode) < 0)
        return NULL;
    return foreign_view_of_capsule(state, given[0], mode);
}

PyDoc_STRVAR(from_table_doc,
             "_from_table(x, stream=None)\n--\n\n"
             "A GPUArray over an array whose type has an exchange table of DLPack, else None.");

static PyObject *from_table_py(PyObject *module, FAST_PARAMETERS)
{
    PyObject *given[2], *view = NULL;
    TransferMode mode = {0};
    ModuleState *state = module_state(module);
    if (convert_arguments(from_table_doc, args, arg_count, keywords, GIVEN(given)) < 0
        || transfer_stream(state, given[1], &mode) < 0)
        return NULL;
    int found = foreign_view_retained(state, given[0], mode, &view);
    return found == 0 ? Py_NewRef(Py_None) : view;
}

PyMethodDef foreign_arguments_functions[] = {
    {"_on_stream", AS_METHOD(on_stream_py), METH_FASTCALL, on_stream_doc},
    {"_from_table", AS_METHOD(from_table_py), FAST_KEYWORDS, from_table_doc},
    {"_from_capsule", AS_METHOD(from_capsule_py), FAST_KEYWORDS, from_capsule_doc},
    {"_views", AS_METHOD(views_py), FAST_KEYWORDS, views_doc},
    {NULL, NULL, 0, NULL},
};
