/* A function of a library for Python: its arguments are converted by the types in its row. */
#include <string.h>

#include "ext/base/types.h"
#include "ext/context/context.h"
#include "ext/convert/buffers.h"
#include "ext/convert/convert.h"
#include "ext/library/library.h"
#include "ext/library/library_handle.h"
#include "ext/memory/device_pointer.h"

enum { MAX_ARGUMENTS = 24 };

typedef enum ParameterKind { KIND_INT, KIND_LONG, KIND_POINTER, KIND_HANDLE } ParameterKind;

typedef struct LibraryFunctionObject {
    PyObject_HEAD
    vectorcallfunc call;
    ModuleState *state;
    LibraryFn function;
    int count;
    unsigned char kinds[MAX_ARGUMENTS]; /* of ParameterKind */
} LibraryFunctionObject;

static LibraryFunctionObject *library_function_cast(PyObject *object)
{
    return (LibraryFunctionObject *)object;
}

/* The kind of a parameter such as "const void *alpha", the text from `start` to `end`. It is found by the
 * first row whose part is in the text; others, such as enumerations, are ints. */
static ParameterKind kind_of(const char *start, const char *end)
{
    static const struct {
        const char *part;
        ParameterKind kind;
    } rows[] = {{"*", KIND_POINTER},         {"[", KIND_POINTER},         {"Handle_t ", KIND_HANDLE},
                {"fftHandle ", KIND_HANDLE}, {"Stream_t ", KIND_POINTER}, {"Params_t ", KIND_POINTER},
                {"Info_t ", KIND_POINTER},   {"size_t ", KIND_LONG},      {"long long ", KIND_LONG},
                {"int64_t ", KIND_LONG},     {"Descr_t ", KIND_POINTER}};
    char text[64];
    snprintf(text, sizeof text, "%.*s", (int)(end - start), start);
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++)
        if (strstr(text, rows[row].part)) return rows[row].kind;
    return KIND_INT;
}

/* kinds[]: the kinds of the parameters in a list such as "(int n, const void *alpha)". Returns their number.
 */
static int read_kinds(const char *params, unsigned char *kinds)
{
    int count = 0;
    for (const char *at = params + 1, *end; *at; at = end + strspn(end, ", )")) {
        end = at + strcspn(at, ",)");
        kinds[count++] = (unsigned char)kind_of(at, end);
    }
    return count;
}

/* A call in progress: its arguments as C values, and the host memory that Python arguments lend. */
typedef struct LibraryCall {
    uint64_t words[MAX_ARGUMENTS];
    HostBuffer lent[MAX_ARGUMENTS]; /* the first lent_count: to be released after the call */
    int lent_count;
} LibraryCall;

/* *out: the address that an argument means. None leaves it 0. An object with a device address gives that. A
 * buffer in host memory is lent, for numbers that the library reads or writes before it returns. -1 with an
 * exception. */
static int convert_address(ModuleState *state, PyObject *value, LibraryCall *call, uint64_t *out)
{
    CUdeviceptr address;
    if (value == Py_None) return 0;
    if (PyObject_CheckBuffer(value)) {
        HostBuffer *lent = &call->lent[call->lent_count];
        if (buffers_read(value, "the argument", lent) < 0) return -1;
        call->lent_count++;
        *out = (uint64_t)(uintptr_t)lent->pointer;
        return 0;
    }
    if (convert_pointer(state, value, &address) < 0) return -1;
    *out = address;
    return 0;
}

static int convert_handle(ModuleState *state, PyObject *value, uint64_t *out)
{
    if (library_handle_value(state, value, out)) return PyErr_Occurred() ? -1 : 0;
    PyErr_Format(PyExc_TypeError, "a handle of the library is needed, not %s", Py_TYPE(value)->tp_name);
    return -1;
}

/* Converts the argument at this position. -1 with an exception. */
static int convert_one(LibraryFunctionObject *self, PyObject *value, int position, LibraryCall *call)
{
    uint64_t *out = &call->words[position];
    if (self->kinds[position] == KIND_HANDLE) return convert_handle(self->state, value, out);
    if (self->kinds[position] == KIND_POINTER) return convert_address(self->state, value, call, out);
    PyObject *number = PyNumber_Index(value);
    long long read = number ? PyLong_AsLongLong(number) : -1;
    Py_XDECREF(number);
    if (read == -1 && PyErr_Occurred()) return -1;
    if (self->kinds[position] == KIND_INT && read != (int)read) {
        PyErr_Format(PyExc_OverflowError, "%s: argument %d is %lld, which does not fit in a C int",
                     library_rows[self->function].name, position + 1, read);
        return -1;
    }
    *out = (uint64_t)read;
    return 0;
}

/* Calls a function of up to MAX_ARGUMENTS parameters, all of them integers or pointers. On the processors
 * that are supported, each takes a register or eight bytes of the stack, and surplus arguments are ignored.
 */
static int call_address(LibraryAddress address, const uint64_t *w)
{
    typedef uint64_t W;
    typedef int Function(W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W);
    return ((Function *)address)(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11],
                                 w[12], w[13], w[14], w[15], w[16], w[17], w[18], w[19], w[20], w[21], w[22],
                                 w[23]);
}

/* Calls the function while captures forbid this thread nothing: libraries load code and allocate when they
 * need to, which a capture of another thread would forbid. *status: the function's result. */
IN_CALL static CUresult call_relaxed(LibraryAddress address, const uint64_t *words, int *status)
{
    CaptureMode mode;
    CUresult result = capture_mode_relax(&mode);
    if (result != CUDA_SUCCESS) return result;
    *status = call_address(address, words);
    return capture_mode_restore(&mode);
}

static int call_in_context(LibraryFunctionObject *self, LibraryCall *call)
{
    ModuleState *state = self->state;
    LibraryAddress address = state->libraries.functions[self->function];
    PyObject *context = (PyObject *)context_current(state);
    CUresult result;
    int status = 0;
    if (!context) return -1;
    CALL_CORE(state, result, BLOCKS_ONCE, call_relaxed(address, call->words, &status));
    Py_DECREF(context);
    if (raise_unless(state, result, library_rows[self->function].name) < 0) return -1;
    return library_raise_unless(state, self->function, status);
}

static PyObject *call_function(PyObject *callable, PyObject *const *args, size_t flags, PyObject *keywords)
{
    LibraryFunctionObject *self = library_function_cast(callable);
    const LibraryRow *row = &library_rows[self->function];
    Py_ssize_t count = PyVectorcall_NARGS(flags);
    LibraryCall call = {.lent_count = 0};
    int failed = 0;
    if (count != self->count || keywords)
        return PyErr_Format(PyExc_TypeError, "%s%s takes %d positional arguments, not %zd", row->name,
                            row->params, self->count, count);
    if (!library_is_callable(self->state, self->function)) return NULL;
    for (int i = 0; i < self->count && !failed; i++) failed = convert_one(self, args[i], i, &call);
    failed = failed || call_in_context(self, &call) < 0;
    while (call.lent_count > 0) buffers_release(&call.lent[--call.lent_count]);
    return none_unless(failed);
}

PyDoc_STRVAR(function_doc,
             "_LibraryFunction(name)\n--\n\n"
             "A function of one of NVIDIA's libraries, by its name there.\n"
             "\nIt takes integers for integers and enumerations; a _LibraryHandle for a handle; None,\n"
             "what has a device address, and what lends host memory (the buffer protocol) for\n"
             "pointers. It is called in the\n"
             "current context, without the GIL, and returns None.\n"
             "\nRaises\n------\n"
             "LibraryError\n    The status is not success.\n"
             "NotImplementedError\n    The library is not loaded, or has no such function.");

static PyObject *function_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    const char *name;
    if (READ_CALL(function_doc, INTO(&name)) < 0) return NULL;
    int row = library_find_function(name);
    if (row < 0) return PyErr_Format(PyExc_ValueError, "unknown library function '%s'", name);
    LibraryFunctionObject *self = library_function_cast(type->tp_alloc(type, 0));
    if (!self) return NULL;
    self->call = section_vectorcall(call_function);
    self->state = state_of_type(type);
    self->function = (LibraryFn)row;
    self->count = read_kinds(library_rows[row].params, self->kinds);
    return (PyObject *)self;
}

static PyObject *function_repr(PyObject *self)
{
    const LibraryRow *row = &library_rows[library_function_cast(self)->function];
    return PyUnicode_FromFormat("<%s%s>", row->name, row->params);
}

static void function_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMemberDef function_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(LibraryFunctionObject, call), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

const TypeSpec _LibraryFunction_spec = {
    TYPE_OF("pycuda._driver._LibraryFunction", LibraryFunctionObject, Py_TPFLAGS_HAVE_VECTORCALL,
            function_doc),
    .tp_new = function_new,
    .tp_dealloc = function_dealloc,
    .tp_repr = function_repr,
    .tp_call = PyVectorcall_Call,
    TYPE_TABLES(NULL, NULL, function_members),
};
