/* Positional and keyword arguments sorted into an array, without building a tuple or a dict.
 *
 * What a callable takes is said once, in the text signature with which its docstring begins:
 * inspect.signature and help() read it, and so does this file. "memcpy_dtod_async(dest, src, size,
 * stream=None)": three parameters that are required and one that is not.
 */
#include "ext/convert/convert.h"

#include <stdio.h>
#include <string.h>

#include "ext/convert/plain_int.h"

enum { NAME_MAX_SIZE = 64, TARGETS_MAX = 8 };

typedef struct Parameter {
    const char *name;
    size_t length;
    bool optional;
} Parameter;

/* Keywords that PyCUDA takes, or took once, besides the name in the signature. */
typedef struct Alias {
    const char *function, *parameter, *alias;
} Alias;

static const Alias aliases[] = {
    {"Device", "number", "pci_bus_id"},     {"IPCMemoryHandle", "ipc_handle", "handle"},
    {"allocate", "size", "bytes"},          {"mem_alloc", "bytes", "size"},
    {"memcpy_dtod", "size", "count"},       {"memcpy_dtod_async", "size", "count"},
    {"memcpy_peer", "size", "count"},       {"memcpy_peer_async", "size", "count"},
    {"memset_d8", "size", "count"},         {"memset_d8_async", "size", "count"},
    {"memset_d16", "size", "count"},        {"memset_d16_async", "size", "count"},
    {"memset_d32", "size", "count"},        {"memset_d32_async", "size", "count"},
    {"time_since", "start_event", "event"}, {"time_till", "end_event", "event"},
    {"to_device", "bf_obj", "buffer"},
};

/* The first parameter of a signature: after "(", or after "($self, ". */
static const char *first_parameter(const char *signature)
{
    const char *at = strchr(signature, '(') + 1;
    if (*at == '$') at += strcspn(at, ",)");
    return at;
}

/* Reads the parameter at *at, and moves past it and its default, which may contain parentheses. False at the
 * end of the signature. */
static bool next_parameter(const char **at, Parameter *out)
{
    const char *end = *at;
    int depth = 0;
    while (*end == ',' || *end == ' ') end++;
    if (*end == ')') return false;
    out->name = end;
    while (*end != '=' && *end != ',' && *end != ')') end++;
    out->length = (size_t)(end - out->name);
    out->optional = *end == '=';
    for (; depth > 0 || (*end != ',' && *end != ')'); end++) depth += (*end == '(') - (*end == ')');
    *at = end;
    return true;
}

/* Copies the callable's name to `name`, which is returned. */
static const char *name_of(const char *signature, char name[NAME_MAX_SIZE])
{
    size_t length = strcspn(signature, "(");
    if (length >= NAME_MAX_SIZE) length = NAME_MAX_SIZE - 1;
    memcpy(name, signature, length);
    name[length] = '\0';
    return name;
}

/* Fills given[0 .. total - 1] with the positional arguments, then NULL. The signature is read only for the
 * error message. -1 with TypeError when there are too many. */
static int take_positional(const char *signature, PyObject *const *args, Py_ssize_t arg_count,
                           PyObject **given, int total)
{
    char name[NAME_MAX_SIZE];
    for (int i = 0; i < total; i++) given[i] = i < arg_count ? args[i] : NULL;
    if (arg_count <= total) return 0;
    PyErr_Format(PyExc_TypeError, "%s() takes at most %d argument%s (%zd given)", name_of(signature, name),
                 total, total == 1 ? "" : "s", arg_count);
    return -1;
}

/* The position of the parameter with this name; -1 when there is none. SystemError is set when the signature
 * does not have `total` parameters: a mistake in the caller. */
static int find_parameter(const char *signature, const char *name, int total)
{
    const char *at = first_parameter(signature);
    size_t length = strlen(name);
    Parameter parameter;
    int i = 0;
    for (; i < total && next_parameter(&at, &parameter); i++)
        if (length == parameter.length && memcmp(name, parameter.name, length) == 0) return i;
    if (i != total || next_parameter(&at, &parameter))
        PyErr_Format(PyExc_SystemError, "%d arguments are read of %.200s", total, signature);
    return -1;
}

/* The position of the parameter that the keyword is another name for; -1 when there is none. */
static int find_alias(const char *signature, const char *keyword, int total)
{
    char function[NAME_MAX_SIZE];
    name_of(signature, function);
    for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++)
        if (strcmp(aliases[i].function, function) == 0 && strcmp(aliases[i].alias, keyword) == 0)
            return find_parameter(signature, aliases[i].parameter, total);
    return -1;
}

/* Puts the value into given[] by the keyword. -1 with TypeError. */
static int take_keyword(const char *signature, PyObject *keyword, PyObject *value, PyObject **given,
                        int total)
{
    const char *name = PyUnicode_AsUTF8(keyword);
    char function[NAME_MAX_SIZE];
    if (!name) return -1;
    int found = find_parameter(signature, name, total);
    if (found < 0 && !PyErr_Occurred()) found = find_alias(signature, name, total);
    if (found >= 0 && !given[found]) {
        given[found] = value;
        return 0;
    }
    if (PyErr_Occurred()) return -1;
    name_of(signature, function);
    if (found >= 0)
        PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument '%U'", function, keyword);
    else
        PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'", function, keyword);
    return -1;
}

/* How many parameters come before the first that has a default: no more than these are required. A "/" in the
 * signature counts as one. */
static Py_ssize_t required_at_most(const char *signature)
{
    const char *at = first_parameter(signature);
    Py_ssize_t commas = 0;
    while (*at == ',' || *at == ' ') at++;
    if (*at == ')') return 0;
    for (; *at != '=' && *at != ')'; at++) commas += *at == ',';
    return *at == '=' ? commas : commas + 1;
}

/* -1 with TypeError when a required parameter is not given. Most calls give so many arguments by position
 * that no names have to be read. */
static int check_required(const char *signature, PyObject *const *given, Py_ssize_t arg_count, int total)
{
    if (arg_count >= required_at_most(signature)) return 0;
    const char *at = first_parameter(signature);
    char function[NAME_MAX_SIZE], name[NAME_MAX_SIZE];
    Parameter parameter;
    for (int i = 0; i < total && next_parameter(&at, &parameter) && !parameter.optional; i++) {
        if (given[i]) continue;
        snprintf(name, sizeof name, "%.*s", (int)parameter.length, parameter.name);
        PyErr_Format(PyExc_TypeError, "%s() missing required argument '%s' (pos %d)",
                     name_of(signature, function), name, i + 1);
        return -1;
    }
    return 0;
}

int convert_arguments(const char *signature, FAST_PARAMETERS, PyObject **given, int total)
{
    Py_ssize_t keyword_count = keywords ? PyTuple_GET_SIZE(keywords) : 0;
    if (take_positional(signature, args, arg_count, given, total) < 0) return -1;
    for (Py_ssize_t i = 0; i < keyword_count; i++)
        if (take_keyword(signature, PyTuple_GET_ITEM(keywords, i), args[arg_count + i], given, total) < 0)
            return -1;
    return arg_count == total ? 0 : check_required(signature, given, arg_count, total);
}

int convert_call(const char *signature, PyObject *args, PyObject *kwargs, PyObject **given, int total)
{
    PyObject *keyword, *value;
    Py_ssize_t position = 0, arg_count = PyTuple_GET_SIZE(args);
    PyObject *const *items = &PyTuple_GET_ITEM(args, 0);
    if (take_positional(signature, items, arg_count, given, total) < 0) return -1;
    while (kwargs && PyDict_Next(kwargs, &position, &keyword, &value))
        if (take_keyword(signature, keyword, value, given, total) < 0) return -1;
    return arg_count == total ? 0 : check_required(signature, given, arg_count, total);
}

/* Reads the usual arguments: True, False, an object of the target's type, a small number that is not
 * negative. False for all other arguments, without an exception: read_value() is to read them. */
static bool read_plain(PyObject *value, const ArgumentTarget *target)
{
    long number;
    if (target->kind == INTO_TYPE) return PyObject_TypeCheck(value, target->type);
    if (target->kind == INTO_BOOL && PyBool_Check(value)) {
        *(bool *)target->variable = value == Py_True;
        return true;
    }
    if (!plain_int(value, &number) || number < 0) return false;
    switch (target->kind) {
    case INTO_INT: *(int *)target->variable = (int)number; return true;
    case INTO_UNSIGNED: *(unsigned *)target->variable = (unsigned)number; return true;
    case INTO_SIZE: *(size_t *)target->variable = (size_t)number; return true;
    case INTO_BITS: *(unsigned long long *)target->variable = (unsigned long long)number; return true;
    default: return false;
    }
}

static int read_text(PyObject *value, const char **out) { return (*out = PyUnicode_AsUTF8(value)) ? 0 : -1; }

static int read_double(PyObject *value, double *out)
{
    *out = PyFloat_AsDouble(value);
    return *out == -1 && PyErr_Occurred() ? -1 : 0;
}

/* Converts one argument into its target. what: the parameter's name, for messages. */
static int read_value(PyObject *value, const char *what, const ArgumentTarget *target)
{
    switch (target->kind) {
    case INTO_TYPE: return convert_check_type(value, target->type, what) ? 0 : -1;
    case INTO_TEXT: return read_text(value, target->variable);
    case INTO_BOOL: return convert_bool(value, target->variable);
    case INTO_INT: return convert_int(value, what, target->variable);
    case INTO_UNSIGNED: return convert_unsigned(value, what, target->variable);
    case INTO_SIZE: return convert_size(value, what, target->variable);
    case INTO_BITS: return convert_bits(value, what, 64, target->variable);
    case INTO_DOUBLE: return read_double(value, target->variable);
    default: return 0;
    }
}

/* Copies the name of the parameter at position `number`, counted from 0, to `what`. */
static void name_parameter(const char *signature, int number, char what[NAME_MAX_SIZE])
{
    const char *at = first_parameter(signature);
    Parameter parameter = {"", 0, false};
    for (int i = 0; i <= number && next_parameter(&at, &parameter); i++) continue;
    snprintf(what, NAME_MAX_SIZE, "%.*s", (int)parameter.length, parameter.name);
}

static int read_values(const char *signature, PyObject *const *given, const ArgumentTarget *targets,
                       int total)
{
    char what[NAME_MAX_SIZE];
    for (int i = 0; i < total; i++) {
        const ArgumentTarget *target = &targets[i];
        if (target->kind == INTO_OBJECT || target->kind == INTO_TYPE)
            *(PyObject **)target->variable = given[i];
        if (target->kind == INTO_OBJECT || !given[i] || read_plain(given[i], target)) continue;
        name_parameter(signature, i, what);
        if (read_value(given[i], what, target) < 0) return -1;
    }
    return 0;
}

/* False with SystemError when there are more targets than TARGETS_MAX. */
static bool are_few(int total)
{
    if (total > TARGETS_MAX) PyErr_BadInternalCall();
    return total <= TARGETS_MAX;
}

int convert_read(const char *signature, FAST_PARAMETERS, const ArgumentTarget *targets, int total)
{
    PyObject *given[TARGETS_MAX];
    if (!are_few(total) || convert_arguments(signature, args, arg_count, keywords, given, total) < 0)
        return -1;
    return read_values(signature, given, targets, total);
}

int convert_read_call(const char *signature, PyObject *args, PyObject *kwargs, const ArgumentTarget *targets,
                      int total)
{
    PyObject *given[TARGETS_MAX];
    if (!are_few(total) || convert_call(signature, args, kwargs, given, total) < 0) return -1;
    return read_values(signature, given, targets, total);
}
