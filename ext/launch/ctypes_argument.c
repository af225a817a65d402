/* See ctypes_argument.h. A program with a ctypes object has imported ctypes. */
#include "ext/launch/ctypes_argument.h"

#include <string.h>

#include "ext/convert/convert.h"

/* 1 if the argument is an instance of this class of ctypes, 0 if not, -1 with an exception. */
static int is_a(PyObject *argument, PyObject *ctypes, const char *name)
{
    PyObject *type = PyObject_GetAttrString(ctypes, name);
    int found = type ? PyObject_IsInstance(argument, type) : -1;
    Py_XDECREF(type);
    return found;
}

/* Whether values of the type are not in the byte order of this machine. */
static bool is_swapped(PyObject *type)
{
    PyObject *same = PyObject_GetAttrString(type, "__ctype_le__");
    bool swapped = same ? same != type : PyObject_HasAttrString(type, "_swappedbytes_");
    PyErr_Clear();
    Py_XDECREF(same);
    return swapped;
}

/* Whether a simple type of ctypes is a number or an address that kernels can take; the others are text,
 * Python objects and long double. */
static bool is_number(PyObject *type)
{
    static const char number_codes[] = "cbB?hHiIlLqQfdP"; /* values of _type_ */
    PyObject *code = PyObject_GetAttrString(type, "_type_");
    const char *text = code && PyUnicode_Check(code) ? PyUnicode_AsUTF8(code) : NULL;
    bool number = text && strlen(text) == 1 && strchr(number_codes, *text);
    PyErr_Clear();
    Py_XDECREF(code);
    return number;
}

static int read_bytes(PyObject *argument, PyObject *ctypes, PyObject **view, ArgumentValue *out)
{
    PyObject *alignment = PyObject_CallMethod(ctypes, "alignment", "O", argument);
    size_t multiple = alignment ? PyLong_AsSize_t(alignment) : 0;
    Py_XDECREF(alignment);
    if (PyErr_Occurred() || !(*view = PyMemoryView_FromObject(argument))) return -1;
    const Py_buffer *bytes = PyMemoryView_GET_BUFFER(*view);
    *out = (ArgumentValue){bytes->buf, (uint32_t)bytes->len, (uint32_t)multiple};
    return 1;
}

static int read_argument(PyObject *argument, PyObject *ctypes, PyObject **view, ArgumentValue *out)
{
    PyObject *type = (PyObject *)Py_TYPE(argument);
    if (is_swapped(type)) return 0;
    int found = is_a(argument, ctypes, "_SimpleCData");
    if (found > 0 && !is_number(type)) return 0;
    if (found == 0) found = is_a(argument, ctypes, "Structure");
    if (found == 0) found = is_a(argument, ctypes, "Union");
    return found > 0 ? read_bytes(argument, ctypes, view, out) : found;
}

int ctypes_argument(PyObject *argument, PyObject **view, ArgumentValue *out)
{
    PyObject *ctypes = convert_imported_module("_ctypes");
    int found = ctypes ? read_argument(argument, ctypes, view, out) : 0;
    Py_XDECREF(ctypes);
    return found;
}
