/* The functions of core/layout/ for plans that Python makes. Python's form of an axis is a tuple of its
 * length and its stride in each array. */
#include "core/layout/elementwise_layout.h"
#include "ext/base/numpy_api.h"
#include "ext/convert/convert.h"
#include "ext/gpuarray/gpuarray.h"

/* ---- Loops ---- */

/* *plan: the loop along a sequence of axes, over `count` arrays that begin at address 0. -1 with an
 * exception. The caller frees plan->operands in either case. */
static int read_loop(LoopPlan *plan, PyObject *axes, int count)
{
    *plan =
        (LoopPlan){.count = count, .size = 1, .operands = PyMem_Calloc((size_t)count, sizeof(LoopOperand))};
    if (!plan->operands) {
        PyErr_NoMemory();
        return -1;
    }
    PyArrayObject *table = (PyArrayObject *)PyArray_FROMANY(axes, NPY_INTP, 1, 2, NPY_ARRAY_CARRAY_RO);
    if (!table) return -1;
    plan->ndim = (int)PyArray_DIM(table, 0);
    const npy_intp *number = PyArray_DATA(table);
    bool fits = plan->ndim == 0 || (PyArray_NDIM(table) == 2 && PyArray_DIM(table, 1) == count + 1);
    if (!fits || PyArray_DIM(table, 0) > STRIDES_MAX_DIMS)
        PyErr_Format(PyExc_ValueError, "each axis must be (length, %d strides); at most %d axes", count,
                     STRIDES_MAX_DIMS);
    for (int i = 0; i < plan->ndim && !PyErr_Occurred(); i++) {
        plan->shape[i] = *number++;
        if (plan->shape[i] == 0) plan->size = 0; /* only whether it is 0 matters */
        for (int k = 0; k < count; k++) plan->operands[k].strides[i] = *number++;
    }
    Py_DECREF(table);
    return PyErr_Occurred() ? -1 : 0;
}

/* The plan's axes in Python's form, a new list; a single axis of length 1 if there are none. */
static PyObject *axes_list(const LoopPlan *plan)
{
    int ndim = plan->ndim ? plan->ndim : 1;
    PyObject *axes = PyList_New(0);
    for (int i = 0; axes && i < ndim; i++) {
        PyObject *axis = PyTuple_New(plan->count + 1);
        for (int k = 0; axis && k <= plan->count; k++) {
            ptrdiff_t number = k == 0 ? 1 : 0;
            if (plan->ndim) number = k == 0 ? plan->shape[i] : plan->operands[k - 1].strides[i];
            PyTuple_SET_ITEM(axis, k, PyLong_FromSsize_t(number));
        }
        if (!axis || PyErr_Occurred() || PyList_Append(axes, axis) < 0) Py_CLEAR(axes);
        Py_XDECREF(axis);
    }
    return axes;
}

PyDoc_STRVAR(
    collapse_doc,
    "_collapse_axes(axes, count, sort=False, reverse=False)\n--\n\n"
    "The fewest axes along which that many arrays are walked in the same order; with sort in that of\n"
    "memory, with reverse from the lowest address of the first array on.\n"
    "\nParameters\n----------\n"
    "axes : sequence of tuple\n    (length, stride in each array), the outermost first.\n"
    "\nReturns\n-------\n"
    "(axes, start)\n    At least one axis; the bytes from the first array's element 0 to the first\n"
    "    that is walked.");

static PyObject *collapse_py(PyObject *Py_UNUSED(module), FAST_PARAMETERS)
{
    PyObject *axes, *sort, *reverse, *result = NULL;
    LoopPlan plan = {0};
    int count = 0;
    if (READ_ARGUMENTS(collapse_doc, INTO(&axes), INTO(&count), INTO(&sort), INTO(&reverse)) < 0) return NULL;
    int order = (sort && PyObject_IsTrue(sort) > 0 ? LOOP_SORT : 0)
                | (reverse && PyObject_IsTrue(reverse) > 0 ? LOOP_REVERSE : 0);
    if (count < 1)
        PyErr_Format(PyExc_ValueError, "count is %d: it must be at least 1", count);
    else if (read_loop(&plan, axes, count) == 0) {
        loop_collapse(&plan, order);
        result = Py_BuildValue("NL", axes_list(&plan), (long long)plan.operands[0].address);
    }
    PyMem_Free(plan.operands);
    return result;
}

PyDoc_STRVAR(alignment_doc,
             "_alignment(axes, addresses)\n--\n\n"
             "For each array the greatest power of two, 16 at most, of which the addresses of all elements\n"
             "along these axes are multiples.");

static PyObject *alignment_py(PyObject *Py_UNUSED(module), FAST_PARAMETERS)
{
    PyObject *given[2], *result = NULL;
    LoopPlan plan = {0};
    if (convert_arguments(alignment_doc, args, arg_count, keywords, GIVEN(given)) < 0) return NULL;
    if (!PyTuple_CheckExact(given[1])) return PyErr_Format(PyExc_TypeError, "addresses must be a tuple");
    int count = (int)PyTuple_GET_SIZE(given[1]);
    if (read_loop(&plan, given[0], count) == 0) result = PyTuple_New(count);
    for (int k = 0; result && k < count; k++) {
        uint64_t address = PyLong_AsUnsignedLongLongMask(PyTuple_GET_ITEM(given[1], k));
        PyTuple_SET_ITEM(
            result, k,
            PyLong_FromSsize_t(strides_alignment(plan.ndim, plan.shape, plan.operands[k].strides, address)));
    }
    PyMem_Free(plan.operands);
    if (PyErr_Occurred()) Py_CLEAR(result);
    return result;
}

/* ---- Strides ---- */

/* A new tuple of the strides of a packed array: in this order, or, if `like` is not NULL, with the axes in
 * the order in which these strides have them in memory. */
static PyObject *packed_tuple(char order, int ndim, const Py_ssize_t *shape, const Py_ssize_t *like,
                              Py_ssize_t itemsize)
{
    Py_ssize_t strides[STRIDES_MAX_DIMS];
    if (strides_count(ndim, shape, itemsize) < 0)
        return PyErr_Format(PyExc_ValueError, "an array of this shape is beyond what can be addressed");
    if (like)
        strides_pack_like(ndim, shape, like, itemsize, strides);
    else
        strides_fill(order, ndim, shape, itemsize, strides);
    PyObject *tuple = PyTuple_New(ndim);
    for (int axis = 0; tuple && axis < ndim; axis++)
        PyTuple_SET_ITEM(tuple, axis, PyLong_FromSsize_t(strides[axis]));
    if (PyErr_Occurred()) Py_CLEAR(tuple);
    return tuple;
}

PyDoc_STRVAR(
    packed_doc,
    "_packed_strides(shape, itemsize, order=\"C\")\n--\n\n"
    "Strides of a packed array; order is \"C\", \"F\", or strides whose order of axes is kept. An axis\n"
    "of length 0 counts as 1.");

static PyObject *packed_py(PyObject *Py_UNUSED(module), FAST_PARAMETERS)
{
    PyObject *given[3];
    Py_ssize_t shape[STRIDES_MAX_DIMS] = {0}, like[STRIDES_MAX_DIMS];
    if (convert_arguments(packed_doc, args, arg_count, keywords, GIVEN(given)) < 0) return NULL;
    Py_ssize_t ndim = PySequence_Size(given[0]), itemsize = PyNumber_AsSsize_t(given[1], PyExc_OverflowError);
    if (PyErr_Occurred()) return NULL;
    if (ndim > STRIDES_MAX_DIMS)
        return PyErr_Format(PyExc_ValueError, "an array has at most %d axes", STRIDES_MAX_DIMS);
    if (gpuarray_read_strides(given[0], (int)ndim, shape) < 0) return NULL;
    bool has_strides = given[2] && !PyUnicode_Check(given[2]);
    if (has_strides && gpuarray_read_strides(given[2], (int)ndim, like) < 0) return NULL;
    char order = 'C';
    if (given[2] && !has_strides && PyUnicode_CompareWithASCIIString(given[2], "F") == 0) order = 'F';
    return packed_tuple(order, (int)ndim, shape, has_strides ? like : NULL, itemsize);
}

PyDoc_STRVAR(divider_doc, "_divider(length, /)\n--\n\n"
                          "(factor, shift) with which numbers below 2**31 are divided by this length.");

static PyObject *divider_py(PyObject *Py_UNUSED(module), PyObject *value)
{
    unsigned length = 0;
    if (convert_unsigned(value, "length", &length) < 0) return NULL;
    Divider divider = divider_of(length ? length : 1);
    return Py_BuildValue("II", divider.factor, divider.shift);
}

/* ---- The table of elementwise kernels ---- */

static PyObject *layouts_tuple(void)
{
    PyObject *rows = PyTuple_New(LAYOUT_COUNT);
    for (int i = 0; rows && i < LAYOUT_COUNT; i++) {
        const ElementwiseLayout *row = &elementwise_layouts[i];
        PyTuple_SET_ITEM(rows, i, Py_BuildValue("siO", row->name, row->axes, row->wide ? Py_True : Py_False));
    }
    return rows;
}

/* Adds an object to the module and drops the reference, also on failure. -1 with an exception, also for
 * NULL. */
static int add_constant(PyObject *module, const char *name, PyObject *value)
{
    int failed = value && !PyErr_Occurred() ? PyModule_AddObjectRef(module, name, value) : -1;
    Py_XDECREF(value);
    return failed;
}

/* Adds the fields of parameter blocks and the rows of layouts, for the kernels' source. -1 with an exception.
 */
static int add_table(PyObject *module)
{
    PyObject *head = Py_BuildValue("("
#define HEAD_FIELD(type, device_type, name) "(ss)"
#include "core/layout/elementwise_layouts.def"
                                   ")"
#define HEAD_FIELD(type, device_type, name) , device_type, #name
#include "core/layout/elementwise_layouts.def"
    );
    PyObject *axes = Py_BuildValue("("
#define AXES_FIELD(type, device_type, name, per_operand) "(ssi)"
#include "core/layout/elementwise_layouts.def"
                                   ")"
#define AXES_FIELD(type, device_type, name, per_operand) , device_type, #name, per_operand
#include "core/layout/elementwise_layouts.def"
    );
    int failed = add_constant(module, "_PARAMETER_HEAD", head);
    failed = add_constant(module, "_PARAMETER_AXES", axes) < 0 || failed;
    return add_constant(module, "_LAYOUTS", layouts_tuple()) < 0 || failed ? -1 : 0;
}

PyMethodDef axes_functions[] = {
    {"_alignment", AS_METHOD(alignment_py), FAST_KEYWORDS, alignment_doc},
    {"_divider", divider_py, METH_O, divider_doc},
    {"_collapse_axes", AS_METHOD(collapse_py), FAST_KEYWORDS, collapse_doc},
    {"_packed_strides", AS_METHOD(packed_py), FAST_KEYWORDS, packed_doc},
    {NULL, NULL, 0, NULL},
};

int axes_setup(PyObject *module, ModuleState *Py_UNUSED(state))
{
    if (add_table(module) < 0 || PyModule_AddStringConstant(module, "_BAD_INDEX", BAD_INDEX) < 0) return -1;
    if (PyModule_AddIntConstant(module, "_PARAMETER_SLOT", LAYOUT_SLOT) < 0) return -1;
    if (PyModule_AddIntConstant(module, "_WIDEST_ACCESS", WIDEST_ACCESS) < 0) return -1;
    return PyModule_AddIntConstant(module, "_LAYOUT_THREADS", LAYOUT_THREADS);
}
