/* See types.h. */
#include "ext/launch/types.h"

#include <string.h>

#include "ext/base/driver_calls.h"
#include "ext/base/numpy_api.h"
#include "ext/memory/gpuarray_object.h"

/* Whether arguments are checked. */
static bool is_on(void)
{
    const char *text = getenv("PYCUDA_CHECK_ARGUMENTS"); /* core/settings.def has the row */
    return text && *text ? strcmp(text, "1") == 0 : driver_knows_parameter_types();
}

/* Notes a parameter's type, and makes the next argument there be checked. */
static void set_type(FunctionObject *function, uint32_t position, ParameterType type)
{
    function->types[position] = type;
    launch_args_expect_none(function, position);
}

static CpuParameterKind kind_by_driver(FunctionObject *function, size_t position)
{
    CpuParameterKind kind = CPU_PARAMETER_UNKNOWN;
    CUresult result;
    CALL_CORE(function->state, result, ASKS_ONCE, driver_parameter_kind(function->handle, position, &kind));
    return result == CUDA_SUCCESS ? kind : CPU_PARAMETER_UNKNOWN;
}

/* Asks the driver for the kinds of the parameters that are numbers. */
static void ask_driver(FunctionObject *function)
{
    for (uint32_t i = 0; i < function->layout.count; i++) {
        CpuParameterKind kind = kind_by_driver(function, i);
        if (kind == CPU_PARAMETER_INTEGER || kind == CPU_PARAMETER_FLOAT)
            set_type(function, i,
                     (ParameterType){kind == CPU_PARAMETER_FLOAT ? 'f' : 'i',
                                     (uint8_t)function->layout.params[i].size});
    }
}

int parameter_types_open(FunctionObject *function)
{
    if (!function->layout.known || !function->layout.count || !is_on()) return 0;
    function->types = PyMem_Calloc(function->layout.count, sizeof *function->types);
    if (!function->types) {
        PyErr_NoMemory();
        return -1;
    }
    ask_driver(function);
    return 0;
}

/* The types by the source, two bytes for each parameter (types.h), borrowed from the function. NULL without
 * an exception when they are not known, or with one. */
static const char *types_by_source(FunctionObject *function)
{
    if (!function->source_types && function->source_reader) {
        PyObject *reader = Py_NewRef(function->source_reader), *read = PyObject_CallNoArgs(reader);
        Py_DECREF(reader);
        if (!read) return NULL;
        Py_XSETREF(function->source_types, read);
    }
    PyObject *types = function->source_types;
    bool fits =
        types && PyBytes_Check(types) && PyBytes_GET_SIZE(types) == 2 * (Py_ssize_t)function->layout.count;
    return fits ? PyBytes_AS_STRING(types) : NULL;
}

const char note_types_doc[] =
    "_note_types($self, read, /)\n--\n\nread() gives the types of the parameters, as far as the source says "
    "them.";

PyObject *parameter_types_note(PyObject *self, PyObject *read)
{
    FunctionObject *function = function_cast(self);
    Py_CLEAR(function->source_types);
    Py_XSETREF(function->source_reader, Py_NewRef(read));
    if (!function->types) Py_RETURN_NONE;
    const char *given = types_by_source(function);
    for (uint32_t i = 0; given && i < function->layout.count; i++) {
        ParameterType type = {given[2 * i], (uint8_t)given[2 * i + 1]};
        bool pointer = type.kind == 'I' || type.kind == 'F';
        size_t size = pointer ? sizeof(CUdeviceptr) : type.size;
        bool plain = pointer || type.kind == 'i' || type.kind == 'f';
        if (plain && size == function->layout.params[i].size) set_type(function, i, type);
    }
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

/* The parameter's kind by the source, as a letter (types.h); 0 when it is not known. */
static char letter_by_source(FunctionObject *function, Py_ssize_t position)
{
    const char *types = types_by_source(function);
    if (!types) PyErr_Clear();
    return types ? types[2 * position] : 0;
}

ParameterForm parameter_types_form(FunctionObject *function, Py_ssize_t position)
{
    CpuParameterKind kind = kind_by_driver(function, (size_t)position);
    if (kind != CPU_PARAMETER_UNKNOWN)
        return kind == CPU_PARAMETER_STRUCTURE ? PARAMETER_STRUCTURE : PARAMETER_PLAIN;
    char letter = letter_by_source(function, position);
    if (!letter) return PARAMETER_UNKNOWN;
    return letter == 's' ? PARAMETER_STRUCTURE : PARAMETER_PLAIN;
}

bool parameter_types_is_integer(FunctionObject *function, Py_ssize_t position)
{
    CpuParameterKind kind = kind_by_driver(function, (size_t)position);
    if (kind != CPU_PARAMETER_UNKNOWN) return kind == CPU_PARAMETER_INTEGER;
    return letter_by_source(function, position) == 'i';
}

static const ParameterType *type_of(const FunctionObject *function, Py_ssize_t position)
{
    bool known = function->types && position < (Py_ssize_t)function->layout.count;
    return known && function->types[position].kind ? &function->types[position] : NULL;
}

/* A type as messages name it: "a float", "float *". */
static const char *type_words(const ParameterType *type)
{
    switch (type->kind) {
    case 'f': return type->size == 8 ? "a double" : "a float";
    case 'F': return type->size == 8 ? "double *" : "float *";
    case 'i': return "an integer";
    default:
        return type->size == 8   ? "a pointer to 8-byte integers"
               : type->size == 4 ? "a pointer to 4-byte integers"
                                 : "a pointer to 2-byte integers";
    }
}

static int raise_mismatch(FunctionObject *function, Py_ssize_t position, const char *given,
                          const ParameterType *type)
{
    PyErr_Format(PyExc_TypeError,
                 "kernel '%s': argument %zd is %s, the kernel's parameter is %s%s. The kernel would misread "
                 "its bits (PYCUDA_CHECK_ARGUMENTS=0 turns this check off)",
                 function_name(function), position, given, type_words(type),
                 type->kind != 'f' ? ""
                 : type->size == 8 ? ": pass numpy.float64"
                                   : ": pass numpy.float32");
    return -1;
}

/* Whether an argument of `size` bytes agrees with the parameter's type. given: 'i', 'f', 'c' (complex) or 'P'
 * (an address). Any argument of 2 bytes agrees with an integer: kernels take a half as one. */
static bool type_agrees(const ParameterType *type, char given, size_t size)
{
    switch (type->kind) {
    case 'f': return given == 'f';
    case 'i': return given == 'i' || given == 'P' || size == 2;
    default: return given == 'i' || given == 'P';
    }
}

/* 'i' for a NumPy integer or boolean, 'f' for a real number, 'c' for a complex one. */
static char kind_of_scalar(PyObject *argument)
{
    if (PyArray_IsScalar(argument, Integer) || PyArray_IsScalar(argument, Bool)) return 'i';
    return PyArray_IsScalar(argument, Floating) ? 'f' : 'c';
}

int parameter_types_check(FunctionObject *function, Py_ssize_t position, PyObject *argument,
                          const ArgumentKind *kind, bool *may_remember)
{
    const ParameterType *type = type_of(function, position);
    *may_remember = true;
    if (!type || kind->size != function->layout.params[position].size) return 0;
    bool elements = type->kind == 'I' || type->kind == 'F';
    if (kind->how == ARGUMENT_ARRAY && elements) {
        *may_remember = false;
        return parameter_types_check_elements(function, position, (PyObject *)gpuarray_cast(argument)->dtype);
    }
    char given = kind->how == ARGUMENT_VALUE ? kind_of_scalar(argument) : 'P';
    if (type_agrees(type, given, kind->size)) return 0;
    return raise_mismatch(function, position, Py_TYPE(argument)->tp_name, type);
}

/* Warns when the dtype of arrays is not what a pointer of this type points to. The words come before its name
 * in the message. -1 with a warning that became an exception. */
static int check_dtype(FunctionObject *function, Py_ssize_t position, PyObject *dtype,
                       const ParameterType *type, const char *given, const char *parameter)
{
    const PyArray_Descr *descr = (const PyArray_Descr *)dtype;
    size_t size = (size_t)PyDataType_ELSIZE(descr);
    char kind = descr->kind == 'u' ? 'i' : descr->kind;
    if (kind == 'c') { /* complex numbers are pairs of real ones */
        kind = 'f';
        size /= 2;
    }
    if ((kind != 'i' && kind != 'f') || size < 2) return 0;
    bool same = size == type->size && ((kind == 'f') == (type->kind == 'F') || size == 2);
    if (same) return 0;
    return PyErr_WarnFormat(PyExc_UserWarning, 1,
                            "kernel '%s': argument %zd is %s of %S, the kernel's parameter is %s%s "
                            "(PYCUDA_CHECK_ARGUMENTS=0 turns this check off)",
                            function_name(function), position, given, dtype, parameter, type_words(type));
}

int parameter_types_check_elements(FunctionObject *function, Py_ssize_t position, PyObject *dtype)
{
    const ParameterType *type = type_of(function, position);
    if (!type || (type->kind != 'I' && type->kind != 'F') || !PyArray_DescrCheck(dtype)) return 0;
    return check_dtype(function, position, dtype, type, "an array", "");
}

int parameter_types_check_table(FunctionObject *function, Py_ssize_t position, PyObject *dtype)
{
    const bool counted = function->layout.known && position < (Py_ssize_t)function->layout.count;
    const char *types = counted ? types_by_source(function) : NULL;
    if (!types) return PyErr_Occurred() ? -1 : 0;
    const char kind = types[2 * position];
    const ParameterType type = {kind == 'G' ? 'F' : 'I', (uint8_t)types[2 * position + 1]};
    if (!kind || kind == 'p') return 0;
    if (kind == 'G' || kind == 'J')
        return function->types ? check_dtype(function, position, dtype, &type, "a list of arrays",
                                             "a pointer to pointers, each ")
                               : 0;
    PyErr_Format(PyExc_TypeError,
                 "argument %zd of kernel '%s' is a list of arrays, for which the kernel must take a pointer "
                 "to pointers: in the source its parameter is %s",
                 position, function_name(function),
                 kind == 's'                  ? "a structure"
                 : kind == 'i' || kind == 'f' ? "a number"
                                              : "a plain pointer");
    return -1;
}

int parameter_types_check_code(FunctionObject *function, Py_ssize_t position, const PackCode *code)
{
    static const char kinds[] = {
        [PACK_BOOL] = 'i', [PACK_SIGNED] = 'i',   [PACK_UNSIGNED] = 'i', [PACK_POINTER] = 'P',
        [PACK_HALF] = 'f', [PACK_BFLOAT16] = 'f', [PACK_FLOAT] = 'f',    [PACK_COMPLEX] = 'c',
    };
    const ParameterType *type = type_of(function, position);
    char given = code->kind < sizeof kinds ? kinds[code->kind] : 0, name[32];
    if (!type || !given || type_agrees(type, given, code->size)) return 0;
    PyOS_snprintf(name, sizeof name, "'%c' by its type", code->code);
    return raise_mismatch(function, position, name, type);
}
