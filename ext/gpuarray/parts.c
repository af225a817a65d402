/* a.real and a.imag: views of complex arrays. */
#include "ext/gpuarray/elementwise.h"
#include "ext/gpuarray/gpuarray.h"
#include "ext/numpy_api.h"

/* One of the two numbers of each element, as a view. */
static PyObject *view_part(GPUArrayObject *array, bool real)
{
    int number = array->dtype->type_num == NPY_CFLOAT ? NPY_FLOAT : NPY_DOUBLE;
    CUdeviceptr offset = real || !array->size ? 0 : (CUdeviceptr)array->itemsize / 2;
    PyObject *view = gpuarray_new_view(array, PyArray_DescrFromType(number), array->ndim, array->shape,
                                       array->strides, array->pointer + offset);
    if (view) gpuarray_cast(view)->half = true;
    return view;
}

PyObject *gpuarray_get_part(PyObject *self, void *closure)
{
    GPUArrayObject *array = gpuarray_cast(self);
    ModuleState *state = array->state;
    bool real = closure != NULL;
    if (PyTypeNum_ISCOMPLEX(array->dtype->type_num)) return view_part(array, real);
    if (real) return Py_NewRef(self);
    ElementwiseCall call = {.name = state->str_imag, .operands = &self, .count = 1};
    PyObject *zeros = elementwise_call(state, &call);
    if (zeros) gpuarray_cast(zeros)->read_only = true;
    return zeros;
}

int gpuarray_set_part(PyObject *self, PyObject *value, void *closure)
{
    GPUArrayObject *array = gpuarray_cast(self);
    bool settable = closure || PyTypeNum_ISCOMPLEX(array->dtype->type_num);
    if (!value || !settable) {
        PyErr_SetString(value ? PyExc_TypeError : PyExc_AttributeError,
                        value ? "an array that is not complex has no imaginary part to set"
                              : "parts of an array cannot be deleted");
        return -1;
    }
    PyObject *part = gpuarray_get_part(self, closure);
    int failed = part ? gpuarray_assign_subscript(part, Py_Ellipsis, value) : -1;
    Py_XDECREF(part);
    return failed;
}
