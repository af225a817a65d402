/* a.real and a.imag: packed copies of complex arrays, as PyCUDA has them. An assignment to an element of a
 * temporary copy (z.real[...] = x) would be lost without an error; so such copies are marked, and writing to
 * one that only the call holds raises. */
#include "ext/base/numpy_api.h"
#include "ext/gpuarray/elementwise.h"
#include "ext/gpuarray/gpuarray.h"

/* A view of the real or the imaginary part of each element. */
static PyObject *view_complex(GPUArrayObject *array, bool real)
{
    int number = array->dtype->type_num == NPY_CFLOAT ? NPY_FLOAT : NPY_DOUBLE;
    CUdeviceptr offset = real || !array->size ? 0 : (CUdeviceptr)array->itemsize / 2;
    PyObject *view = gpuarray_new_view(array, PyArray_DescrFromType(number), array->ndim, array->shape,
                                       array->strides, array->pointer + offset);
    if (view) gpuarray_cast(view)->is_interleaved = true;
    return view;
}

static bool is_complex(const GPUArrayObject *array) { return PyTypeNum_ISCOMPLEX(array->dtype->type_num); }

static PyObject *zeros_like(GPUArrayObject *array)
{
    PyObject *self = (PyObject *)array;
    ElementwiseCall call = {.name = array->state->str_imag, .operands = &self, .count = 1};
    return elementwise_call(array->state, &call);
}

PyObject *gpuarray_view_part(PyObject *self, void *closure)
{
    GPUArrayObject *array = gpuarray_cast(self);
    bool real = closure != NULL;
    if (is_complex(array)) return view_complex(array, real);
    if (real) return Py_NewRef(self);
    PyObject *zeros = zeros_like(array);
    if (zeros) gpuarray_cast(zeros)->read_only = true;
    return zeros;
}

/* A packed copy with the array's order of axes. */
static PyObject *copy_complex(GPUArrayObject *array, bool real)
{
    PyObject *view = view_complex(array, real), *part = view ? gpuarray_copy(view, NULL, 0, NULL) : NULL;
    Py_XDECREF(view);
    return part;
}

PyObject *gpuarray_get_part(PyObject *self, void *closure)
{
    GPUArrayObject *array = gpuarray_cast(self);
    bool real = closure != NULL;
    if (real && !is_complex(array)) return Py_NewRef(self);
    PyObject *part = is_complex(array) ? copy_complex(array, real) : zeros_like(array);
    if (part) gpuarray_cast(part)->is_part = true;
    return part;
}

/* ---- Temporary copies ---- */

/* Whether only the call in progress holds the object. Before Python 3.14 a local variable holds a reference
 * besides that of the call; from then on only CPython itself knows. */
static bool is_temporary(PyObject *object)
{
#if PY_VERSION_HEX >= 0x030E0000
    return PyUnstable_Object_IsUniqueReferencedTemporary(object);
#else
    return Py_REFCNT(object) == 1;
#endif
}

/* Whether what is written to the object would be lost: it is a copy that z.real or z.imag made, or a view of
 * one, and only this call holds it. The reference that `view`, an array or NULL, has to its base does not
 * count. */
static bool write_is_lost_except(ModuleState *state, PyObject *object, PyObject *view)
{
    PyObject *kept = view ? gpuarray_cast(view)->base : NULL;
    if (!gpuarray_check(state, object) || (!gpuarray_cast(object)->is_part && !gpuarray_cast(object)->base)
        || (kept == object ? Py_REFCNT(object) > 2 : !is_temporary(object)))
        return false;
    while (!gpuarray_cast(object)->is_part) {
        object = gpuarray_cast(object)->base;
        if (!object || !gpuarray_check(state, object) || Py_REFCNT(object) > 1 + (kept == object))
            return false;
    }
    return true;
}

static bool write_is_lost(ModuleState *state, PyObject *object)
{
    return write_is_lost_except(state, object, NULL);
}

static int raise_lost(void)
{
    PyErr_SetString(PyExc_ValueError,
                    "z.real and z.imag are copies, and nothing keeps this one: what is written to it "
                    "would be lost. Assign to the property (z.real = x), write to the view numpy.real(z), "
                    "or keep a copy (r = z.real)");
    return -1;
}

int gpuarray_check_kept(ModuleState *state, PyObject *object)
{
    return write_is_lost(state, object) ? raise_lost() : 0;
}

/* In z.real[0] += 1 the value is a view of the copy and holds the only other reference to it. From Python
 * 3.14 on a local variable is not counted, so r[0] += 1 looks the same, and neither raises. */
int gpuarray_check_kept_of(ModuleState *state, PyObject *object, PyObject *value)
{
    bool own = PY_VERSION_HEX < 0x030E0000 && gpuarray_check(state, value) && Py_REFCNT(value) == 1;
    return write_is_lost_except(state, object, own ? value : NULL) ? raise_lost() : 0;
}

static bool is_out(PyObject *name)
{
    return PyUnicode_CompareWithASCIIString(name, "out") == 0
           || PyUnicode_CompareWithASCIIString(name, "stream_or_out") == 0;
}

/* Whether the parameter of a Python function at this position is where a result goes. */
static bool is_out_at(PyObject *function, Py_ssize_t position)
{
    PyObject *code = PyObject_GetAttrString(function, "__code__");
    PyObject *names = code ? PyObject_GetAttrString(code, "co_varnames") : NULL;
    PyObject *name = names ? PySequence_GetItem(names, position) : NULL;
    bool found = name && is_out(name);
    PyErr_Clear();
    Py_XDECREF(name);
    Py_XDECREF(names);
    Py_XDECREF(code);
    return found;
}

int gpuarray_check_out_kept(ModuleState *state, PyObject *function, FAST_PARAMETERS)
{
    for (Py_ssize_t i = 0; i < arg_count; i++)
        if (write_is_lost(state, args[i]) && is_out_at(function, i))
            return gpuarray_check_kept(state, args[i]);
    for (Py_ssize_t i = 0; keywords && i < PyTuple_GET_SIZE(keywords); i++)
        if (is_out(PyTuple_GET_ITEM(keywords, i))) return gpuarray_check_kept(state, args[arg_count + i]);
    return 0;
}

PyObject *gpuarray_is_of_part(PyObject *self, void *Py_UNUSED(closure))
{
    ModuleState *state = gpuarray_cast(self)->state;
    while (self && gpuarray_check(state, self) && !gpuarray_cast(self)->is_part)
        self = gpuarray_cast(self)->base;
    return PyBool_FromLong(self && gpuarray_check(state, self));
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
    PyObject *part = gpuarray_view_part(self, closure);
    int failed = part ? gpuarray_assign_subscript(part, Py_Ellipsis, value) : -1;
    Py_XDECREF(part);
    return failed;
}
