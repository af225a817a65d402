/* Operators of GPUArray: each is an elementwise operation (elementwise.h), on the current stream. */
#include "ext/gpuarray/operators.h"

#include "ext/base/errors.h"
#include "ext/base/numpy_api.h"
#include "ext/gpuarray/elementwise.h"
#include "ext/gpuarray/foreign_view.h"

/* The result of the operator `a OP b`, or `OP a` if b is NULL: a function of the first `count` operands. */
static PyObject *call_of_first(ModuleState *state, PyObject *name, PyObject *a, PyObject *b, int count,
                               PyObject *out)
{
    PyObject *operands[] = {a, b};
    ElementwiseCall call = {
        .name = name, .operands = operands, .count = count, .out = out, .is_operator = true};
    return elementwise_call(state, &call);
}

static PyObject *call_elementwise(ModuleState *state, PyObject *name, PyObject *a, PyObject *b, PyObject *out)
{
    return call_of_first(state, name, a, b, b ? 2 : 1, out);
}

/* The state of the operand that is a GPUArray: a or b. Its tp_dealloc identifies a GPUArray fast, but not a
 * subclass, and none where an entry of the section is in its place. */
static ModuleState *state_of(PyObject *a, PyObject *b)
{
    if (Py_TYPE(a)->tp_dealloc == gpuarray_dealloc) return gpuarray_cast(a)->state;
    ModuleState *state = state_of_type(Py_TYPE(a));
    return state && gpuarray_check(state, a) ? state : state_of_type(Py_TYPE(b));
}

#define BINARY(name) \
    static PyObject *binary_##name(PyObject *a, PyObject *b) \
    { \
        ModuleState *state = state_of(a, b); \
        return call_elementwise(state, state->str_##name, a, b, NULL); \
    } \
    static PyObject *inplace_##name(PyObject *a, PyObject *b) \
    { \
        ModuleState *state = gpuarray_cast(a)->state; \
        return call_elementwise(state, state->str_##name, a, b, a); \
    }

#define UNARY(name) \
    static PyObject *unary_##name(PyObject *a) \
    { \
        ModuleState *state = gpuarray_cast(a)->state; \
        return call_elementwise(state, state->str_##name, a, NULL, NULL); \
    }

BINARY(add)
BINARY(subtract)
BINARY(multiply)
BINARY(divide)
BINARY(floor_divide)
BINARY(remainder)
BINARY(bitwise_and)
BINARY(bitwise_or)
BINARY(bitwise_xor)
BINARY(left_shift)
BINARY(right_shift)
UNARY(negative)
UNARY(absolute)
UNARY(invert)
UNARY(positive)

static PyObject *divide_with_remainder(PyObject *a, PyObject *b)
{
    PyObject *none = PyTuple_Pack(2, Py_None, Py_None);
    ModuleState *state = state_of(a, b);
    PyObject *result = none ? call_elementwise(state, state->str_divmod, a, b, none) : NULL;
    Py_XDECREF(none);
    return result;
}

/* The name, borrowed, of the function that computes a simple power without pow(), as NumPy does: floats and
 * complex numbers to the power of 2, 0.5 or -1; booleans to that of 2, which gives int8. NULL for other
 * powers. */
static PyObject *simple_power(ModuleState *state, PyObject *base, PyObject *exponent)
{
    if (!gpuarray_check(state, base) || (!PyFloat_CheckExact(exponent) && !PyLong_CheckExact(exponent)))
        return NULL;
    const int number = gpuarray_cast(base)->dtype->type_num;
    const bool squared = PyTypeNum_ISBOOL(number) && PyLong_CheckExact(exponent);
    if (!PyTypeNum_ISFLOAT(number) && !PyTypeNum_ISCOMPLEX(number) && !squared) return NULL;
    double value = PyFloat_AsDouble(exponent);
    if (value == -1 && PyErr_Occurred()) { /* an int beyond all floats: the operation says so */
        PyErr_Clear();
        return NULL;
    }
    if (squared && value != 2) return NULL;
    if (value == 2) return state->str_square;
    if (value == 0.5) return state->str_sqrt;
    return value == -1 ? state->str_reciprocal : NULL;
}

static PyObject *raise_to(PyObject *a, PyObject *b, PyObject *out)
{
    ModuleState *state = state_of(a, b);
    PyObject *simple = simple_power(state, a, b);
    return simple ? call_of_first(state, simple, a, b, 1, out)
                  : call_elementwise(state, state->str_power, a, b, out);
}

static PyObject *power_slot(PyObject *a, PyObject *b, PyObject *modulus)
{
    if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
    return raise_to(a, b, NULL);
}

static PyObject *inplace_power(PyObject *a, PyObject *b, PyObject *modulus)
{
    if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
    return raise_to(a, b, a);
}

static bool is_number(PyObject *value)
{
    return PyLong_Check(value) || PyFloat_Check(value) || PyComplex_Check(value)
           || PyArray_CheckScalar(value);
}

static PyObject *multiply_matrices(PyObject *a, PyObject *b, const char *how)
{
    if (is_number(a) || is_number(b)) {
        return PyErr_Format(
            PyExc_ValueError,
            "matmul: Input operand %d does not have enough dimensions (has 0, gufunc core with "
            "signature (n?,k),(k,m?)->(n?,m?) requires 1)",
            is_number(a) ? 0 : 1);
    }
    ModuleState *state = state_of(a, b);
    bool both = (gpuarray_check(state, a) || foreign_is_array(state, a))
                && (gpuarray_check(state, b) || foreign_is_array(state, b));
    return both ? gpuarray_call_python(state, "linear.matmul", how, a, &b, 1, NULL)
                : Py_NewRef(Py_NotImplemented);
}

static PyObject *matrix_multiply(PyObject *a, PyObject *b) { return multiply_matrices(a, b, "matmul"); }

static PyObject *inplace_matrix_multiply(PyObject *a, PyObject *b)
{
    return multiply_matrices(a, b, "matmul_into_first");
}

static bool holds_whole_numbers(PyObject *array)
{
    int number = gpuarray_cast(array)->dtype->type_num;
    return PyTypeNum_ISBOOL(number) || PyTypeNum_ISINTEGER(number);
}

/* The result of a comparison, except NotImplemented for a list or tuple, which becomes a TypeError: Python
 * would answer == with a single False. Lists are data of the host, which are refused as host arrays are.
 * Takes the reference to the result. */
static PyObject *refuse_list(PyObject *self, PyObject *other, PyObject *result)
{
    if (result != Py_NotImplemented || (!PyList_Check(other) && !PyTuple_Check(other))) return result;
    Py_DECREF(result);
    return PyErr_Format(PyExc_TypeError,
                        "cannot compare a %s with a %s, which is in host memory: copy it to the device with "
                        "pycuda.gpuarray.to_gpu()",
                        Py_TYPE(self)->tp_name, Py_TYPE(other)->tp_name);
}

/* tp_richcompare. If a Python int does not fit the array's integer dtype, the answer is the same for all
 * elements. That does not hold for floats, among which there are infinities and NaNs. */
static PyObject *compare(PyObject *self, PyObject *other, int operation)
{
    ModuleState *state = gpuarray_cast(self)->state;
    PyObject *const names[] = {
        [Py_LT] = state->str_less,      [Py_LE] = state->str_less_equal, [Py_EQ] = state->str_equal,
        [Py_NE] = state->str_not_equal, [Py_GT] = state->str_greater,    [Py_GE] = state->str_greater_equal,
    };
    PyObject *result = refuse_list(self, other, call_elementwise(state, names[operation], self, other, NULL));
    if (result || !PyLong_Check(other) || !holds_whole_numbers(self)) return result;
    if (!PyErr_ExceptionMatches(PyExc_OverflowError)) return NULL;
    PyErr_Clear();
    PyObject *zero = PyLong_FromLong(0), *sign = zero ? PyObject_RichCompare(other, zero, Py_GT) : NULL;
    bool large = sign == Py_True;
    Py_XDECREF(zero);
    Py_XDECREF(sign);
    if (!sign) return NULL;
    bool answer =
        operation == Py_NE
        || (large ? operation == Py_LT || operation == Py_LE : operation == Py_GT || operation == Py_GE);
    PyObject *arguments[] = {answer ? Py_True : Py_False};
    return gpuarray_call_python(state, "core.elementwise", "constant_like", self, arguments, 1, NULL);
}

/* ---- One element as a Python number ---- */

/* The element as a NumPy scalar: waits for what was queued on the current stream. */
static PyObject *only_element(PyObject *self, const char *what)
{
    GPUArrayObject *array = gpuarray_cast(self);
    if (array->size != 1)
        return PyErr_Format(
            PyExc_TypeError,
            "only length-1 arrays can be converted to Python scalars: %s() of an array of size %zd", what,
            array->size);
    PyObject *host = PyObject_CallMethodNoArgs(self, array->state->str_get);
    PyObject *item = host ? PyObject_CallMethod(host, "item", NULL) : NULL;
    Py_XDECREF(host);
    return item;
}

/* Takes the reference to `item`, which may be NULL with an exception. */
static PyObject *convert_item(PyObject *item, PyObject *(*convert)(PyObject *))
{
    PyObject *number = item ? convert(item) : NULL;
    Py_XDECREF(item);
    return number;
}

static PyObject *as_int(PyObject *self) { return convert_item(only_element(self, "int"), PyNumber_Long); }
static PyObject *as_float(PyObject *self)
{
    return convert_item(only_element(self, "float"), PyNumber_Float);
}

static PyObject *as_index(PyObject *self)
{
    GPUArrayObject *array = gpuarray_cast(self);
    if (array->ndim > 0 || !PyTypeNum_ISINTEGER(array->dtype->type_num))
        return PyErr_Format(PyExc_TypeError, "only integer scalar arrays can be converted to a scalar index");
    return convert_item(only_element(self, "an index"), PyNumber_Index);
}

#define SLOT(slot, function) {Py_##slot, AS_SLOT(function)}
#define BOTH(slot, function, inplace) SLOT(nb_##slot, function), SLOT(nb_inplace_##slot, inplace)

const PyType_Slot gpuarray_operators[] = {
    BOTH(add, binary_add, inplace_add),
    BOTH(subtract, binary_subtract, inplace_subtract),
    BOTH(multiply, binary_multiply, inplace_multiply),
    BOTH(true_divide, binary_divide, inplace_divide),
    BOTH(floor_divide, binary_floor_divide, inplace_floor_divide),
    BOTH(remainder, binary_remainder, inplace_remainder),
    BOTH(and, binary_bitwise_and, inplace_bitwise_and),
    BOTH(or, binary_bitwise_or, inplace_bitwise_or),
    BOTH(xor, binary_bitwise_xor, inplace_bitwise_xor),
    BOTH(lshift, binary_left_shift, inplace_left_shift),
    BOTH(rshift, binary_right_shift, inplace_right_shift),
    BOTH(power, power_slot, inplace_power),
    BOTH(matrix_multiply, matrix_multiply, inplace_matrix_multiply),
    SLOT(nb_divmod, divide_with_remainder),
    SLOT(nb_negative, unary_negative),
    SLOT(nb_positive, unary_positive),
    SLOT(nb_absolute, unary_absolute),
    SLOT(nb_invert, unary_invert),
    SLOT(nb_int, as_int),
    SLOT(nb_float, as_float),
    SLOT(nb_index, as_index),
    SLOT(tp_richcompare, compare),
    {0, NULL},
};
