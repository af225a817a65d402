/* a.flags: how the elements lie in memory. A struct sequence whose first three are a tuple as in
 * PyCUDA; the others, and NumPy's words in brackets, go by name. */
#include "ext/gpuarray/gpuarray.h"

#include "ext/base/section.h"

enum { C_CONTIGUOUS, F_CONTIGUOUS, FORC, WRITEABLE, FNC, FLAG_COUNT, TUPLE_LENGTH = FORC + 1 };

static PyStructSequence_Field fields[] = {
    [C_CONTIGUOUS] = {"c_contiguous", "row-major without gaps"},
    [F_CONTIGUOUS] = {"f_contiguous", "column-major without gaps"},
    [FORC] = {"forc", "either of them"},
    [WRITEABLE] = {"writeable",
                   "false if the memory is another library's and read-only, or if elements overlap"},
    [FNC] = {"fnc", "column-major without gaps, and not row-major"},
    {NULL, NULL},
};

static PyStructSequence_Desc description = {
    "pycuda.gpuarray.ArrayFlags",
    "How the elements of a GPUArray lie in memory.",
    fields,
    TUPLE_LENGTH,
};

PyObject *gpuarray_flags(PyObject *self, void *Py_UNUSED(closure))
{
    GPUArrayObject *array = gpuarray_cast(self);
    const bool c = array->layout & GPUARRAY_C, f = array->layout & GPUARRAY_F;
    const bool values[FLAG_COUNT] = {
        [C_CONTIGUOUS] = c, [F_CONTIGUOUS] = f, [FORC] = array->layout != 0, [WRITEABLE] = !array->read_only,
        [FNC] = f && !c,
    };
    PyObject *flags = PyStructSequence_New(array->state->ArrayFlags_type);
    for (int i = 0; flags && i < FLAG_COUNT; i++)
        PyStructSequence_SetItem(flags, i, PyBool_FromLong(values[i]));
    return flags;
}

/* flags["C_CONTIGUOUS"], flags["C"]: NumPy's words. */
static const struct Word {
    const char *word;
    int field;
} words[] = {
    {"C_CONTIGUOUS", C_CONTIGUOUS},
    {"CONTIGUOUS", C_CONTIGUOUS},
    {"C", C_CONTIGUOUS},
    {"F_CONTIGUOUS", F_CONTIGUOUS},
    {"FORTRAN", F_CONTIGUOUS},
    {"F", F_CONTIGUOUS},
    {"FORC", FORC},
    {"FNC", FNC},
    {"WRITEABLE", WRITEABLE},
    {"W", WRITEABLE},
};

static PyObject *get_flag(PyObject *self, PyObject *key)
{
    if (!PyUnicode_Check(key)) return PyTuple_Type.tp_as_mapping->mp_subscript(self, key);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (PyUnicode_CompareWithASCIIString(key, words[i].word) == 0)
            return PyObject_GetAttrString(self, fields[words[i].field].name);
    PyErr_SetObject(PyExc_KeyError, key);
    return NULL;
}

static PyMethodDef get_flag_method = {"__getitem__", get_flag, METH_O,
                                      "One flag, by index or by NumPy's name."};

int gpuarray_flags_setup(ModuleState *state)
{
    state->ArrayFlags_type = PyStructSequence_NewType(&description);
    if (!state->ArrayFlags_type) return -1;
    PyObject *method = PyDescr_NewMethod(state->ArrayFlags_type, section_method(&get_flag_method));
    int failed =
        method ? PyObject_SetAttrString((PyObject *)state->ArrayFlags_type, "__getitem__", method) : -1;
    Py_XDECREF(method);
    return failed;
}
