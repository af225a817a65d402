/* Host arrays over memory of our own: the layout that shape, dtype and order describe, and the array made of
 * it. */
#include "ext/base/errors.h"
#include "ext/base/numpy_api.h"
#include "ext/convert/convert.h"

/* Makes the layout empty. `shape` is not cleared: most arrays have few axes. */
static void start_layout(HostArrayLayout *layout)
{
    layout->dtype = NULL;
    layout->rank = 0;
    layout->fortran = false;
    layout->bytes = 0;
}

/* Whether the object is one of NumPy's static scalar types of numbers: each always means the same dtype. */
static bool is_number_type(PyObject *object)
{
    return PyType_Check(object) && !PyType_HasFeature((PyTypeObject *)object, Py_TPFLAGS_HEAPTYPE)
           && (PyType_IsSubtype((PyTypeObject *)object, &PyNumberArrType_Type)
               || object == (PyObject *)&PyBoolArrType_Type);
}

/* PyArray_DescrConverter, quick for dtypes and for the types of numbers that were requested before. */
static int read_dtype(ModuleState *state, PyObject *object, PyArray_Descr **out)
{
    size_t place = ((uintptr_t)object >> 4) % (sizeof state->dtypes / sizeof *state->dtypes);
    if (state->dtypes[place].type == object) {
        *out = (PyArray_Descr *)Py_NewRef(state->dtypes[place].dtype);
        return 0;
    }
    if (PyArray_DescrCheck(object)) {
        *out = (PyArray_Descr *)Py_NewRef(object);
        return 0;
    }
    if (!PyArray_DescrConverter(object, out)) return -1;
    if (!is_number_type(object)) return 0;
    state->dtypes[place].type = object;
    Py_XSETREF(state->dtypes[place].dtype, Py_NewRef((PyObject *)*out));
    return 0;
}

static int add_dimension(HostArrayLayout *layout, PyObject *value)
{
    if (layout->rank == HOST_ARRAY_DIMS_MAX) {
        PyErr_Format(PyExc_ValueError, "maximum supported dimension for an array is %d", HOST_ARRAY_DIMS_MAX);
        return -1;
    }
    long long length = 0;
    if (convert_length(value, &length) < 0) return -1;
    if (length < 0) {
        PyErr_SetString(PyExc_ValueError, "negative dimensions are not allowed");
        return -1;
    }
    layout->shape[layout->rank++] = (Py_ssize_t)length;
    return 0;
}

static int fill_shape(HostArrayLayout *layout, PyObject *shape)
{
    if (PyIndex_Check(shape) && !PyArray_Check(shape)) return add_dimension(layout, shape);
    PyObject *items = convert_items(shape, "shape must be an int or an iterable of ints");
    int status = items ? 0 : -1;
    for (Py_ssize_t i = 0; status == 0 && i < PySequence_Fast_GET_SIZE(items); i++)
        status = add_dimension(layout, PySequence_Fast_GET_ITEM(items, i));
    Py_XDECREF(items);
    return status;
}

static int fill_order(ModuleState *state, HostArrayLayout *layout, PyObject *order)
{
    if (!order || (PyUnicode_Check(order) && PyUnicode_CompareWithASCIIString(order, "C") == 0)) return 0;
    if (PyUnicode_Check(order) && PyUnicode_CompareWithASCIIString(order, "F") == 0) {
        layout->fortran = true;
        return 0;
    }
    raise_logic(state, "order must be \"C\" or \"F\", not %R", order);
    return -1;
}

/* Checks that the dtype fits device memory, and computes layout->bytes from shape and dtype. */
static int fill_bytes(HostArrayLayout *layout)
{
    size_t bytes = (size_t)PyDataType_ELSIZE(layout->dtype);
    if (PyDataType_REFCHK(layout->dtype)) {
        PyErr_SetString(PyExc_TypeError, "this memory cannot hold Python objects");
        return -1;
    }
    if (convert_check_byte_order(layout->dtype, "memory for the device") < 0) return -1;
    for (int i = 0; i < layout->rank; i++)
        if (__builtin_mul_overflow(bytes, (size_t)layout->shape[i], &bytes) || bytes > PY_SSIZE_T_MAX) {
            PyErr_SetString(PyExc_ValueError, "the array is too big");
            return -1;
        }
    layout->bytes = bytes;
    return 0;
}

int convert_layout(ModuleState *state, PyObject *shape, PyObject *dtype, PyObject *order,
                   HostArrayLayout *out)
{
    start_layout(out);
    if (read_dtype(state, dtype, &out->dtype) < 0) return -1;
    if (fill_shape(out, shape) < 0 || fill_order(state, out, order) < 0 || fill_bytes(out) < 0) {
        convert_layout_clear(out);
        return -1;
    }
    return 0;
}

static int layout_of_array(PyArrayObject *array, HostArrayLayout *out)
{
    if (!PyArray_IS_C_CONTIGUOUS(array) && !PyArray_IS_F_CONTIGUOUS(array)) {
        PyErr_SetString(PyExc_ValueError, "the array is neither C- nor F-contiguous");
        return -1;
    }
    out->fortran = !PyArray_IS_C_CONTIGUOUS(array);
    out->rank = PyArray_NDIM(array);
    for (int i = 0; i < out->rank; i++) out->shape[i] = PyArray_DIM(array, i);
    out->dtype = (PyArray_Descr *)Py_NewRef(PyArray_DESCR(array));
    return fill_bytes(out);
}

int convert_layout_like(PyObject *array, HostArrayLayout *out)
{
    start_layout(out);
    PyObject *host = PyArray_FROM_O(array);
    int status = host ? layout_of_array((PyArrayObject *)host, out) : -1;
    Py_XDECREF(host);
    if (status < 0) convert_layout_clear(out);
    return status;
}

void convert_layout_clear(HostArrayLayout *layout)
{
    PyArray_Descr *dtype = layout->dtype;
    layout->dtype = NULL;
    Py_XDECREF(dtype);
}

PyObject *convert_make_array(HostArrayLayout *layout, void *memory, PyObject *owner)
{
    int order = layout->fortran ? NPY_ARRAY_F_CONTIGUOUS : NPY_ARRAY_C_CONTIGUOUS;
    int flags = NPY_ARRAY_WRITEABLE | order;
    if (!memory) flags = layout->fortran; /* for memory of its own NumPy takes any flag to mean F order */
    PyArray_Descr *dtype = layout->dtype;
    npy_intp shape[HOST_ARRAY_DIMS_MAX];
    for (int i = 0; i < layout->rank; i++) shape[i] = (npy_intp)layout->shape[i];
    layout->dtype = NULL;
    PyObject *array =
        PyArray_NewFromDescr(&PyArray_Type, dtype, layout->rank, shape, NULL, memory, flags, NULL);
    if (!array) {
        Py_XDECREF(owner);
        return NULL;
    }
    if (owner && PyArray_SetBaseObject((PyArrayObject *)array, owner) < 0) Py_CLEAR(array);
    return array;
}
