/* See elementwise.h. In the order of a call: operands are read, dtypes found, shapes broadcast, results
 * allocated, the loop is planned and its parameters packed (core/layout/), the kernel found, the launch made.
 */
#include "ext/gpuarray/elementwise.h"

#include <string.h>

#include "core/layout/elementwise_layout.h"
#include "ext/base/errors.h"
#include "ext/base/numpy_api.h"
#include "ext/convert/convert.h"
#include "ext/gpuarray/elementwise_kernels.h"
#include "ext/gpuarray/foreign_view.h"
#include "ext/gpuarray/shared_memory.h"
#include "ext/gpuarray/transfer.h"
#include "ext/launch/function.h"
#include "ext/memory/pooled_allocation.h"

enum { MAX_OPERANDS = ELEMENTWISE_MAX_INPUTS + ELEMENTWISE_MAX_OUTPUTS };

/* A call in progress. Operand k of the loop is an output for k < outputs. */
typedef struct Work {
    ModuleState *state;
    const ElementwiseCall *call;
    ContextObject *context; /* owned: the current one */
    ElementwiseLoop *loop; /* to be dropped */
    long changed;                /* ModuleState.arrays_changed when the operands were looked at */
    const GPUArrayObject *common_layout; /* borrowed; NULL: see find_common_layout */
    PyObject *dtypes[ELEMENTWISE_MAX_INPUTS]; /* owned: of NumPy's scalars */
    PyObject *views[ELEMENTWISE_MAX_INPUTS]; /* owned: of other libraries' arrays */
    GPUArrayObject *arrays[MAX_OPERANDS]; /* outputs owned, inputs borrowed; NULL for scalars */
    PyObject *final_out[ELEMENTWISE_MAX_OUTPUTS]; /* owned: the `out` that a temporary stands for */
    int inputs, outputs, ndim;
    TransferMode mode;
    /* From here on nothing is set before it is known. */
    ElementwiseKey key;
    unsigned char scalars[MAX_OPERANDS][LAYOUT_SLOT];
    Py_ssize_t shape[STRIDES_MAX_DIMS];
} Work;

/* ---- Operands ---- */

/* int, float, complex: Python's numbers, whose dtype the others decide. NULL for anything else. */
static PyObject *weak_kind(PyObject *value)
{
    if (PyLong_CheckExact(value)) return (PyObject *)&PyLong_Type;
    if (PyFloat_CheckExact(value)) return (PyObject *)&PyFloat_Type;
    if (PyComplex_CheckExact(value)) return (PyObject *)&PyComplex_Type;
    return NULL;
}

/* 1 when it is one, 0 when it is none of ours, -1 with an exception. */
static int read_scalar(Work *work, int i, PyObject *value)
{
    PyObject *kind = weak_kind(value);
    if (!kind && PyBool_Check(value))
        kind = work->dtypes[i] = (PyObject *)PyArray_DescrFromType(NPY_BOOL);
    else if (!kind && PyArray_CheckScalar(value))
        kind = work->dtypes[i] = PyArray_Check(value)
                                     ? Py_NewRef((PyObject *)PyArray_DESCR((PyArrayObject *)value))
                                     : (PyObject *)PyArray_DescrFromScalar(value);
    else if (!kind && PyLong_Check(value))
        kind = (PyObject *)&PyLong_Type;
    else if (!kind && PyFloat_Check(value))
        kind = (PyObject *)&PyFloat_Type;
    if (!kind) return PyErr_Occurred() ? -1 : 0;
    work->key.kinds[i] = kind;
    work->key.scalars |= UINT32_C(1) << i;
    return 1;
}

/* Reads an array of another library as operand i. */
static int read_foreign(Work *work, int i, PyObject *value)
{
    int found = foreign_view(work->state, value, work->mode, &work->views[i]);
    if (found <= 0) return found;
    work->arrays[work->outputs + i] = gpuarray_cast(work->views[i]);
    work->key.kinds[i] = (PyObject *)work->arrays[work->outputs + i]->dtype;
    return 1;
}

static int read_operands(Work *work)
{
    const ElementwiseCall *call = work->call;
    for (int i = 0; i < call->count; i++) {
        PyObject *value = call->operands[i];
        if (gpuarray_check(work->state, value)) {
            work->arrays[work->outputs + i] = gpuarray_cast(value);
            work->key.kinds[i] = (PyObject *)gpuarray_cast(value)->dtype;
            continue;
        }
        int known = read_scalar(work, i, value);
        if (known == 0) known = read_foreign(work, i, value);
        if (known <= 0) return known;
    }
    work->key.inputs = (uint16_t)call->count;
    work->inputs = call->count;
    return 1;
}

/* out= is one array, or a tuple with an entry (None: make one) for each result. */
static int read_out(Work *work)
{
    PyObject *out = work->call->out;
    bool many = out && PyTuple_Check(out);
    work->outputs = many ? (int)PyTuple_GET_SIZE(out) : 1;
    if (many && (work->outputs < 1 || work->outputs > ELEMENTWISE_MAX_OUTPUTS)) {
        PyErr_Format(PyExc_ValueError, "The 'out' tuple must have exactly one entry per ufunc output, not %d",
                     work->outputs);
        return -1;
    }
    for (int k = 0; k < work->outputs; k++) {
        PyObject *one = many ? PyTuple_GET_ITEM(out, k) : out;
        work->key.outs[k] = NULL;
        if (!one || one == Py_None) continue;
        PyObject *array = foreign_out(work->state, one, work->mode);
        if (!array) return -1;
        work->arrays[k] = gpuarray_cast(array);
        work->key.outs[k] = (PyObject *)work->arrays[k]->dtype;
    }
    work->key.outputs = (uint16_t)work->outputs;
    return 0;
}

/* The value of a scalar in the dtype of its loop. OverflowError when it is a Python int that does not fit. */
static int pack_scalar(Work *work, int i)
{
    PyArray_Descr *dtype = work->loop->inputs[i];
    unsigned char *bytes = memset(work->scalars[work->outputs + i], 0, LAYOUT_SLOT);
    PyObject *value = work->call->operands[i];
    if (PyFloat_CheckExact(value) && dtype->type_num == NPY_FLOAT) {
        float number = (float)PyFloat_AS_DOUBLE(value);
        memcpy(bytes, &number, sizeof number);
        return 0;
    }
    if (PyDataType_ELSIZE(dtype) > LAYOUT_SLOT) {
        PyErr_Format(PyExc_TypeError, "a scalar of %zd bytes: put it on the device first (to_gpu)",
                     (Py_ssize_t)PyDataType_ELSIZE(dtype));
        return -1;
    }
    Py_INCREF(dtype);
    PyObject *array = PyArray_FromAny(value, dtype, 0, 0, NPY_ARRAY_FORCECAST, NULL);
    if (!array) return -1;
    memcpy(bytes, PyArray_DATA((PyArrayObject *)array), (size_t)PyArray_ITEMSIZE((PyArrayObject *)array));
    Py_DECREF(array);
    return 0;
}

/* Whole numbers have no such powers. Exponents in an array are not looked at, as that would be a wait. */
static int refuse_negative_exponent(const Work *work, int i)
{
    if (i != 1 || !PyTypeNum_ISSIGNED(work->loop->inputs[i]->type_num)) return 0;
    if (!PyTypeNum_ISINTEGER(work->loop->inputs[i]->type_num)) return 0;
    if (PyUnicode_CompareWithASCIIString(work->call->name, "power") != 0) return 0;
    const GPUArrayObject *base = work->arrays[work->outputs];
    if (base && base->size == 0) return 0;
    PyObject *zero = PyLong_FromLong(0);
    int negative = zero ? PyObject_RichCompareBool(work->call->operands[i], zero, Py_LT) : -1;
    Py_XDECREF(zero);
    if (negative > 0)
        PyErr_SetString(PyExc_ValueError, "Integers to negative integer powers are not allowed: use a float");
    return negative ? -1 : 0;
}

static int pack_scalars(Work *work)
{
    for (int i = 0; i < work->inputs; i++) {
        if (work->arrays[work->outputs + i]) continue;
        if (pack_scalar(work, i) < 0 || refuse_negative_exponent(work, i) < 0) return -1;
    }
    return 0;
}

/* ---- Shapes and results ---- */

/* ValueError with the shapes of all operands, inputs first; that of a number is (). */
static int raise_shapes(const Work *work)
{
    PyObject *text = PyUnicode_FromString("operands could not be broadcast together with shapes");
    for (int i = 0; i < work->inputs + work->outputs; i++) {
        const GPUArrayObject *array = work->arrays[i < work->inputs ? work->outputs + i : i - work->inputs];
        if (!array && i >= work->inputs) continue;
        PyUnicode_AppendAndDel(&text, PyUnicode_FromString(" "));
        PyUnicode_AppendAndDel(&text,
                               convert_shape_text(array ? array->ndim : 0, array ? array->shape : NULL));
    }
    if (text) PyErr_SetObject(PyExc_ValueError, text);
    Py_XDECREF(text);
    return -1;
}

/* ValueError for an output that the result does not fit. */
static int raise_output(const Work *work, const GPUArrayObject *out)
{
    PyObject *own = convert_shape_text(out->ndim, out->shape);
    PyObject *all = convert_shape_text(work->ndim, work->shape);
    if (own && all)
        PyErr_Format(PyExc_ValueError,
                     "non-broadcastable output operand with shape %U doesn't match the broadcast shape %U",
                     own, all);
    Py_XDECREF(own);
    Py_XDECREF(all);
    return -1;
}

/* The first of arrays that all have one shape and whose elements lie without gaps in the same order: the loop
 * has one axis. NULL when there are others, or no elements. */
static const GPUArrayObject *find_common_layout(const Work *work)
{
    const GPUArrayObject *first = NULL;
    int layout = GPUARRAY_C | GPUARRAY_F;
    for (int k = 0; k < work->outputs + work->inputs; k++) {
        const GPUArrayObject *array = work->arrays[k];
        if (!array) continue;
        layout &= array->layout;
        if (!layout || (first && !gpuarray_has_shape(array, first->ndim, first->shape))) return NULL;
        if (!first) first = array;
    }
    return first && first->size > 0 ? first : NULL;
}

/* The shape of the result: what the operands give, which `out` may widen but not be widened to. */
static int broadcast_shape(Work *work)
{
    if ((work->common_layout = find_common_layout(work))) {
        work->ndim = work->common_layout->ndim;
        for (int i = 0; i < work->ndim; i++) work->shape[i] = work->common_layout->shape[i];
        return 0;
    }
    for (int k = work->outputs; k < work->outputs + work->inputs; k++) {
        Py_ssize_t shape[STRIDES_MAX_DIMS];
        int ndim = work->ndim;
        const GPUArrayObject *array = work->arrays[k];
        if (!array) continue;
        memcpy(shape, work->shape, (size_t)ndim * sizeof *shape);
        if (!loop_broadcast(&ndim, shape, array->ndim, array->shape)) return raise_shapes(work);
        memcpy(work->shape, shape, (size_t)ndim * sizeof *shape);
        work->ndim = ndim;
    }
    for (int k = 0; k < work->outputs; k++) {
        const GPUArrayObject *out = work->arrays[k];
        if (!out) continue;
        if (!loop_broadcast(&work->ndim, work->shape, out->ndim, out->shape)) return raise_shapes(work);
        if (!gpuarray_has_shape(out, work->ndim, work->shape)) return raise_output(work, out);
    }
    return 0;
}

/* The operand whose class, allocator and order of axes results take: the first of the result's shape, else
 * the first; our own before views of others. */
static GPUArrayObject *prototype_operand(const Work *work)
{
    GPUArrayObject *first = NULL;
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < work->inputs; i++) {
            GPUArrayObject *array = work->arrays[work->outputs + i];
            if (!array || (work->views[i] != NULL) != (pass == 1)) continue;
            if (gpuarray_has_shape(array, work->ndim, work->shape)) return array;
            if (!first) first = array;
        }
    }
    return first;
}

static PyObject *new_of_class(PyTypeObject *type, PyArray_Descr *dtype, int ndim, const Py_ssize_t *shape,
                              const Py_ssize_t *strides, PyObject *allocator)
{
    PyObject *lengths = PyTuple_New(ndim), *steps = PyTuple_New(ndim), *keywords = NULL, *array = NULL;
    for (int i = 0; lengths && steps && i < ndim; i++) {
        PyTuple_SET_ITEM(lengths, i, PyLong_FromSsize_t(shape[i]));
        PyTuple_SET_ITEM(steps, i, PyLong_FromSsize_t(strides[i]));
    }
    PyObject *arguments = lengths && steps ? PyTuple_Pack(2, lengths, (PyObject *)dtype) : NULL;
    if (arguments)
        keywords = Py_BuildValue("{sOsO}", "allocator", allocator ? allocator : Py_None, "strides", steps);
    if (keywords) array = PyObject_Call((PyObject *)type, arguments, keywords);
    Py_XDECREF(arguments);
    Py_XDECREF(keywords);
    Py_XDECREF(lengths);
    Py_XDECREF(steps);
    return array;
}

static PyObject *new_result(Work *work, PyArray_Descr *dtype)
{
    Py_ssize_t strides[STRIDES_MAX_DIMS], itemsize = PyDataType_ELSIZE(dtype);
    GPUArrayObject *like = prototype_operand(work);
    PyObject *given = work->call->allocator;
    PyObject *allocator = given && given != Py_None ? given : like ? like->allocator : NULL;
    bool plain = !like || Py_TYPE(like) == work->state->GPUArray_type;
    if (work->common_layout && plain && like && like->layout & GPUARRAY_C)
        return gpuarray_new_like(like, work->context, dtype, allocator, work->mode.stream_object);
    bool in_order = like && gpuarray_has_shape(like, work->ndim, work->shape) && !(like->layout & GPUARRAY_C);
    if (in_order) {
        Py_ssize_t steps[STRIDES_MAX_DIMS];
        strides_follow_neighbors(work->ndim, like->strides, steps);
        strides_pack_like(work->ndim, work->shape, steps, itemsize, strides);
    } else if (!plain)
        strides_fill('C', work->ndim, work->shape, itemsize, strides);
    if (!plain) work->common_layout = NULL; /* a class of users' may make something else */
    if (!plain) return new_of_class(Py_TYPE(like), dtype, work->ndim, work->shape, strides, allocator);
    Py_INCREF(dtype);
    return gpuarray_new_in(work->state, work->context, dtype, work->ndim, work->shape,
                           in_order ? strides : NULL, allocator, work->mode.stream_object);
}

/* Whether writing one while reading the other can go wrong. The same elements in the same places cannot. */
static bool overlaps_differently(GPUArrayObject *out, GPUArrayObject *in, int ndim)
{
    if (!in || in->size == 0 || !shared_memory_is_possible(out, in)) return false;
    return !(out->pointer == in->pointer && out->itemsize == in->itemsize && in->ndim == ndim
             && gpuarray_has_shape(in, out->ndim, out->shape)
             && strides_equal(ndim, out->shape, out->strides, in->strides));
}

static int make_results(Work *work)
{
    for (int k = 0; k < work->outputs; k++) {
        GPUArrayObject *out = work->arrays[k];
        if (out && !out->layout && strides_may_overlap(out->ndim, out->shape, out->strides, out->itemsize)) {
            PyErr_SetString(PyExc_ValueError,
                            "output array has internal overlap: several elements share memory");
            return -1;
        }
        bool blocked = false;
        for (int i = work->outputs; out && i < work->outputs + work->inputs; i++)
            blocked = blocked || overlaps_differently(out, work->arrays[i], work->ndim);
        if (out && !blocked) continue;
        if (out) work->final_out[k] = (PyObject *)out;
        work->arrays[k] = gpuarray_cast(new_result(work, work->loop->results[k]));
        if (!work->arrays[k]) return -1;
    }
    return 0;
}

/* ---- The launch ---- */

static int use_arrays(Work *work)
{
    for (int k = 0; k < work->outputs + work->inputs; k++) {
        GPUArrayObject *array = work->arrays[k];
        if (!array) continue;
        DeviceAllocationObject *allocation = array->allocation;
        PyObject *object = (PyObject *)array;
        if (gpuarray_check_memory(array) < 0
            || (allocation
                    ? pooled_note_allocation(allocation, work->mode.stream_object, work->mode.stream) < 0
                    : captured_keep(array->state, work->mode.stream, &object, 1) < 0))
            return -1;
    }
    return 0;
}

/* The loop over all arrays. Where they are alike, new results too, it is one along a single axis. */
static void plan_loop(const Work *work, LoopPlan *plan, LoopOperand *operands)
{
    const GPUArrayObject *alike = work->common_layout;
    loop_start(plan, operands, alike ? 1 : work->ndim, alike ? &alike->size : work->shape);
    for (int k = 0; k < work->outputs + work->inputs; k++) {
        const GPUArrayObject *array = work->arrays[k];
        if (!array) continue;
        if (alike)
            loop_add_dense(plan, k, array->pointer, array->itemsize);
        else
            loop_add(plan, k, array->pointer,
                     &(StridedForm){array->ndim, array->shape, array->strides, array->itemsize});
    }
    if (!alike) loop_collapse(plan, LOOP_REVERSE | LOOP_SORT);
}

/* A kernel's launch with its parameter block. */
static int launch_kernel(Work *work, const ElementwiseKernel *kernel, ptrdiff_t blocks, unsigned char *block,
                         size_t bytes)
{
    LaunchShape shape = {.grid = {(unsigned)blocks, 1, 1}, .block = {LAYOUT_THREADS, 1, 1}};
    if (use_arrays(work) < 0) return -1;
    return function_launch_buffer(function_cast(kernel->function), &shape, NULL, work->mode.stream, block,
                                  bytes);
}

static int launch_plan(Work *work)
{
    LoopOperand operands[MAX_OPERANDS];
    LoopPlan plan;
    uint64_t marked;
    _Alignas(LAYOUT_SLOT) unsigned char block[KERNEL_ARGS_STACK_BYTES];
    int count = work->outputs + work->inputs;
    ElementwiseKernel kernel;
    plan_loop(work, &plan, operands);
    if (plan.size == 0) return 0;
    int layout = layout_choose(&plan, &marked);
    size_t bytes = layout_size(count, layout);
    if (bytes > KERNEL_ARGS_STACK_BYTES) {
        PyErr_SetString(
            PyExc_ValueError,
            "operands with this many axes of different strides do not fit into a kernel's parameters");
        return -1;
    }
    layout_pack(&plan, count, layout, marked, block);
    for (int k = work->outputs; k < count; k++)
        if (!work->arrays[k]) memcpy(layout_slot(block, k), work->scalars[k], LAYOUT_SLOT);
    if (elementwise_kernel(work->state, work->loop, layout, &kernel) < 0) return -1;
    int failed = launch_kernel(work, &kernel, layout_blocks(&plan, layout, kernel.elements), block, bytes);
    Py_DECREF(kernel.function);
    return failed;
}

/* Making the kernel and the result may have run other code than ours. */
static int launch_loop(Work *work)
{
    if (atomic_load_explicit(&work->state->arrays_changed, memory_order_relaxed) != work->changed) {
        PyErr_SetString(PyExc_RuntimeError,
                        "the shape, the strides or the dtype of an array changed during a calculation");
        return -1;
    }
    return launch_plan(work);
}

/* ---- The whole ---- */

/* The results, or the arrays that temporaries stood for, which get them now. */
static PyObject *take_results(Work *work)
{
    PyObject *results[ELEMENTWISE_MAX_OUTPUTS] = {NULL}, *out = work->call->out;
    TransferMode mode = work->mode;
    mode.async = false; /* the temporary's memory is freed after the copy in any case */
    for (int k = 0; k < work->outputs; k++) {
        if (work->final_out[k]
            && transfer_on_device(gpuarray_cast(work->final_out[k]), work->arrays[k], mode) < 0)
            return NULL;
        PyObject *given = out && PyTuple_Check(out) ? PyTuple_GET_ITEM(out, k) : out;
        results[k] = given && given != Py_None ? given : (PyObject *)work->arrays[k];
    }
    return work->outputs == 1 ? Py_NewRef(results[0]) : PyTuple_Pack(2, results[0], results[1]);
}

/* NotImplemented if an operand is of a type that is not known here; NULL with an exception. */
static PyObject *run_call(Work *work)
{
    work->key.name = work->call->name;
    work->key.dtype = work->call->dtype == Py_None ? NULL : work->call->dtype;
    work->key.casting = work->call->casting;
    work->key.scalars = 0;
    if (work->call->count > ELEMENTWISE_MAX_INPUTS)
        return PyErr_Format(PyExc_TypeError, "too many operands: at most %d are supported",
                            ELEMENTWISE_MAX_INPUTS);
    if (transfer_stream(work->state, work->call->stream, &work->mode) < 0 || read_out(work) < 0) return NULL;
    int known = read_operands(work);
    if (known <= 0) return known < 0 ? NULL : Py_NewRef(Py_NotImplemented);
    if (!(work->context = context_current(work->state))) return NULL;
    if (!(work->loop = elementwise_find(work->context, &work->key))) return NULL;
    if (broadcast_shape(work) < 0 || pack_scalars(work) < 0) return NULL;
    return make_results(work) < 0 || launch_loop(work) < 0 ? NULL : take_results(work);
}

PyObject *elementwise_call(ModuleState *state, const ElementwiseCall *call)
{
    Work work;
    memset(&work, 0, offsetof(Work, key));
    work.state = state;
    work.call = call;
    work.changed = atomic_load_explicit(&state->arrays_changed, memory_order_relaxed);
    work.mode.async = true;
    PyObject *result = run_call(&work);
    for (int k = 0; k < ELEMENTWISE_MAX_OUTPUTS; k++) {
        if (k < work.outputs) Py_XDECREF((PyObject *)work.arrays[k]);
        Py_XDECREF(work.final_out[k]);
    }
    for (int i = 0; i < ELEMENTWISE_MAX_INPUTS; i++) {
        Py_XDECREF(work.dtypes[i]);
        Py_XDECREF(work.views[i]);
    }
    elementwise_drop(work.loop);
    Py_XDECREF((PyObject *)work.context);
    return result;
}

/* ---- For Python ---- */

PyDoc_STRVAR(
    elementwise_doc,
    "_elementwise(name, operands, out=None, dtype=None, stream=None, allocator=None, casting=None)\n--\n\n"
    "See pycuda._array.core.elementwise.apply.");

static PyObject *elementwise_py(PyObject *module, FAST_PARAMETERS)
{
    PyObject *given[7];
    if (convert_arguments(elementwise_doc, args, arg_count, keywords, GIVEN(given)) < 0) return NULL;
    if (!PyUnicode_Check(given[0]) || !PyTuple_Check(given[1]))
        return PyErr_Format(PyExc_TypeError, "_elementwise takes a name and a tuple of operands");
    PyObject *name = Py_NewRef(given[0]), *casting = given[6] == Py_None ? NULL : Py_XNewRef(given[6]);
    PyUnicode_InternInPlace(&name);
    if (casting && PyUnicode_Check(casting)) PyUnicode_InternInPlace(&casting);
    ElementwiseCall call = {
        .name = name,
        .operands = &PyTuple_GET_ITEM(given[1], 0),
        .count = (int)PyTuple_GET_SIZE(given[1]),
        .out = given[2] == Py_None ? NULL : given[2],
        .dtype = given[3],
        .stream = given[4],
        .allocator = given[5],
        .casting = casting,
    };
    PyObject *result = elementwise_call(module_state(module), &call);
    Py_DECREF(name);
    Py_XDECREF(casting);
    return result;
}

static PyObject *forget_py(PyObject *module, PyObject *Py_UNUSED(none))
{
    for (ContextObject *context; (context = context_first(module_state(module), elementwise_is_kept));) {
        elementwise_forget(context);
        Py_DECREF((PyObject *)context);
    }
    Py_RETURN_NONE;
}

PyMethodDef elementwise_functions[] = {
    {"_elementwise", AS_METHOD(elementwise_py), FAST_KEYWORDS, elementwise_doc},
    {"_forget_kernels", forget_py, METH_NOARGS,
     "_forget_kernels()\n--\n\nLet go of the kernels of elementwise operations, of all contexts."},
    {NULL, NULL, 0, NULL},
};

int elementwise_setup(PyObject *Py_UNUSED(module), ModuleState *state)
{
    return context_on_end(state, elementwise_forget);
}
