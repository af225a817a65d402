/* Dtypes of NumPy, and of ml_dtypes, as DLPack has them. */
#include <string.h>

#include "ext/base/numpy_api.h"
#include "ext/convert/dlpack.h"

typedef struct NativeRow {
    int number; /* of NumPy: NPY_TYPES */
    uint8_t code, bits; /* as in DLPackDtype */
} NativeRow;

static const NativeRow native[] = {
    {NPY_BOOL, DLPACK_BOOL, 8},       {NPY_INT8, DLPACK_INT, 8},          {NPY_INT16, DLPACK_INT, 16},
    {NPY_INT32, DLPACK_INT, 32},      {NPY_INT64, DLPACK_INT, 64},        {NPY_UINT8, DLPACK_UINT, 8},
    {NPY_UINT16, DLPACK_UINT, 16},    {NPY_UINT32, DLPACK_UINT, 32},      {NPY_UINT64, DLPACK_UINT, 64},
    {NPY_HALF, DLPACK_FLOAT, 16},     {NPY_FLOAT, DLPACK_FLOAT, 32},      {NPY_DOUBLE, DLPACK_FLOAT, 64},
    {NPY_CFLOAT, DLPACK_COMPLEX, 64}, {NPY_CDOUBLE, DLPACK_COMPLEX, 128},
};

typedef struct NamedRow {
    const char *name;
    uint8_t code, bits;
} NamedRow;

/* Dtypes that ml_dtypes registers with NumPy. */
static const NamedRow named[] = {
    {"bfloat16", DLPACK_BFLOAT, 16},
    {"float8_e3m4", DLPACK_FLOAT8_E3M4, 8},
    {"float8_e4m3", DLPACK_FLOAT8_E4M3, 8},
    {"float8_e4m3b11fnuz", DLPACK_FLOAT8_E4M3B11FNUZ, 8},
    {"float8_e4m3fn", DLPACK_FLOAT8_E4M3FN, 8},
    {"float8_e4m3fnuz", DLPACK_FLOAT8_E4M3FNUZ, 8},
    {"float8_e5m2", DLPACK_FLOAT8_E5M2, 8},
    {"float8_e5m2fnuz", DLPACK_FLOAT8_E5M2FNUZ, 8},
    {"float8_e8m0fnu", DLPACK_FLOAT8_E8M0FNU, 8},
};

enum { NATIVE_COUNT = sizeof native / sizeof native[0], NAMED_COUNT = sizeof named / sizeof named[0] };

/* *out: the data type of one of NumPy's own dtypes. C has several integer types of one size, and so has
 * NumPy: any of them is found. False for other dtypes. */
static bool find_native(PyArray_Descr *dtype, DLPackDtype *out)
{
    for (int i = 0; i < NATIVE_COUNT; i++) {
        bool same = native[i].number == dtype->type_num
                    || (PyTypeNum_ISINTEGER(dtype->type_num)
                        && PyArray_EquivTypenums(native[i].number, dtype->type_num));
        if (!same) continue;
        *out = (DLPackDtype){native[i].code, native[i].bits, 1};
        return true;
    }
    return false;
}

int dlpack_dtype_of(PyArray_Descr *dtype, DLPackDtype *out)
{
    if (find_native(dtype, out)) return 0;
    const char *name = dtype->typeobj ? strrchr(dtype->typeobj->tp_name, '.') : NULL;
    if (dtype->typeobj && !name) name = dtype->typeobj->tp_name;
    for (int i = 0; name && dtype->type_num >= NPY_USERDEF && i < NAMED_COUNT; i++) {
        if (strcmp(named[i].name, *name == '.' ? name + 1 : name) != 0) continue;
        *out = (DLPackDtype){named[i].code, named[i].bits, 1};
        return 0;
    }
    PyErr_Format(PyExc_BufferError, "DLPack does not support dtype %S", (PyObject *)dtype);
    return -1;
}

static PyArray_Descr *read_named(const char *name)
{
    PyArray_Descr *dtype = NULL;
    PyObject *module = PyImport_ImportModule("ml_dtypes");
    PyObject *type = module ? PyObject_GetAttrString(module, name) : NULL;
    if (!type || !PyArray_DescrConverter(type, &dtype)) {
        dtype = NULL;
        PyErr_Format(PyExc_BufferError, "the dtype %s needs the package ml_dtypes", name);
    }
    Py_XDECREF(type);
    Py_XDECREF(module);
    return dtype;
}

PyArray_Descr *dlpack_dtype_read(DLPackDtype dtype)
{
    for (int i = 0; i < NATIVE_COUNT && dtype.lanes == 1; i++)
        if (native[i].code == dtype.code && native[i].bits == dtype.bits)
            return PyArray_DescrFromType(native[i].number);
    for (int i = 0; i < NAMED_COUNT && dtype.lanes == 1; i++)
        if (named[i].code == dtype.code && named[i].bits == dtype.bits) return read_named(named[i].name);
    PyErr_Format(PyExc_BufferError, "DLPack data type with code %d, %d bits and %d lanes is not supported",
                 dtype.code, dtype.bits, dtype.lanes);
    return NULL;
}
