/* Positional and keyword arguments sorted into an array, without building a tuple or a dict. */
#include "ext/convert/convert.h"

#include <stdio.h>
#include <string.h>

enum { ALTERNATIVE_MAX = 64 };

/* True when the keyword is one of the names in "size|count". */
static bool keyword_is(PyObject *keyword, const char *names)
{
    char name[ALTERNATIVE_MAX];
    while (*names) {
        size_t length = strcspn(names, "|");
        if (length < sizeof name) {
            memcpy(name, names, length);
            name[length] = '\0';
            if (PyUnicode_CompareWithASCIIString(keyword, name) == 0) return true;
        }
        names += length + (names[length] == '|');
    }
    return false;
}

static int parameter_count(const char *const *names)
{
    int count = 0;
    while (names[count]) count++;
    return count;
}

static int take_positional(const char *function, int total, PyObject *const *args, Py_ssize_t count,
                           PyObject **out)
{
    if (count > total) {
        PyErr_Format(PyExc_TypeError, "%s() takes at most %d arguments (%zd given)", function, total, count);
        return -1;
    }
    for (int i = 0; i < total; i++) out[i] = i < count ? args[i] : NULL;
    return 0;
}

static int take_keyword(const char *function, const char *const *names, PyObject *keyword, PyObject *value,
                        PyObject **out)
{
    for (int i = 0; names[i]; i++) {
        if (!keyword_is(keyword, names[i])) continue;
        if (out[i]) {
            PyErr_Format(PyExc_TypeError, "%s() got several values for argument '%U'", function, keyword);
            return -1;
        }
        out[i] = value;
        return 0;
    }
    PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'", function, keyword);
    return -1;
}

static int check_required(const char *function, const char *const *names, int required, PyObject *const *out)
{
    for (int i = 0; i < required; i++) {
        char name[ALTERNATIVE_MAX];
        if (out[i]) continue;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(names[i], "|"), names[i]);
        PyErr_Format(PyExc_TypeError, "%s() misses its argument '%s'", function, name);
        return -1;
    }
    return 0;
}

int convert_arguments(const char *function, const char *const *names, int required, FAST_PARAMETERS,
                      PyObject **out)
{
    Py_ssize_t keyword_count = keywords ? PyTuple_GET_SIZE(keywords) : 0;
    if (take_positional(function, parameter_count(names), args, arg_count, out) < 0) return -1;
    for (Py_ssize_t i = 0; i < keyword_count; i++)
        if (take_keyword(function, names, PyTuple_GET_ITEM(keywords, i), args[arg_count + i], out) < 0)
            return -1;
    return check_required(function, names, required, out);
}

int convert_call(const char *function, const char *const *names, int required, PyObject *args, PyObject *kwargs,
                 PyObject **out)
{
    PyObject *keyword, *value;
    Py_ssize_t position = 0;
    PyObject *const *items = &PyTuple_GET_ITEM(args, 0);
    if (take_positional(function, parameter_count(names), items, PyTuple_GET_SIZE(args), out) < 0) return -1;
    while (kwargs && PyDict_Next(kwargs, &position, &keyword, &value))
        if (take_keyword(function, names, keyword, value, out) < 0) return -1;
    return check_required(function, names, required, out);
}
