/* See elementwise.h. In the order of a call: operands are read, dtypes found, shapes broadcast, results
 * allocated, the loop is planned and its parameters packed (core/layout/), the kernel found, the launch made.
 */
#include "ext/gpuarray/elementwise.h"

#include <string.h>

#include "core/layout/elementwise_layout.h"
#include "ext/base/errors.h"
#include "ext/base/numpy_api.h"
#include "ext/base/temporary.h"
#include "ext/convert/convert.h"
#include "ext/gpuarray/elementwise_kernels.h"
#include "ext/gpuarray/foreign_view.h"
#include "ext/gpuarray/shared_memory.h"
#include "ext/gpuarray/transfer.h"
#include "ext/launch/function.h"
#include "ext/memory/array_device.h"
#include "ext/memory/pooled_allocation.h"

enum { MAX_OPERANDS = ELEMENTWISE_MAX_INPUTS + ELEMENTWISE_MAX_OUTPUTS };

/* A call in progress. The loop's operands are the outputs, then the inputs: operand k is an output for
 * k < outputs. */
typedef struct ElementwiseRun {
    ModuleState *state;
    const ElementwiseCall *call;
    ContextObject *context; /* owned: the current one */
    ElementwiseLoop *loop; /* held: elementwise_drop() ends that */
    long changed;                /* ModuleState.arrays_changed when the operands were looked at */
    const GPUArrayObject *common_layout; /* borrowed, or NULL: the result of find_common_layout() */
    PyObject *dtypes[ELEMENTWISE_MAX_INPUTS]; /* owned: the dtypes of inputs that are NumPy's scalars */
    PyObject *views[ELEMENTWISE_MAX_INPUTS]; /* owned: views of inputs that are other libraries' arrays */
    GPUArrayObject *arrays[MAX_OPERANDS]; /* outputs owned, inputs borrowed; NULL for scalars */
    PyObject *final_out[ELEMENTWISE_MAX_OUTPUTS]; /* owned: the `out` whose place a temporary array takes */
    int inputs, outputs, ndim;
    TransferMode mode;
    /* The members below are not cleared at first: each is read only after it was set. */
    ElementwiseKey key;
    unsigned char scalars[MAX_OPERANDS][LAYOUT_SLOT];
    Py_ssize_t shape[STRIDES_MAX_DIMS];
} ElementwiseRun;

/* ---- Operands ---- */

/* int, float or complex for a Python number, whose dtype the other operands decide; borrowed. NULL, without
 * an exception, for other objects. */
static PyObject *weak_kind(PyObject *value)
{
    if (PyLong_CheckExact(value)) return (PyObject *)&PyLong_Type;
    if (PyFloat_CheckExact(value)) return (PyObject *)&PyFloat_Type;
    if (PyComplex_CheckExact(value)) return (PyObject *)&PyComplex_Type;
    return NULL;
}

/* Reads a scalar as input i. 1; 0 when the value is no scalar; -1 with an exception. */
static int read_scalar(ElementwiseRun *run, int i, PyObject *value)
{
    PyObject *kind = weak_kind(value);
    if (!kind && PyBool_Check(value))
        kind = run->dtypes[i] = (PyObject *)PyArray_DescrFromType(NPY_BOOL);
    else if (!kind && PyArray_CheckScalar(value))
        kind = run->dtypes[i] = PyArray_Check(value)
                                    ? Py_NewRef((PyObject *)PyArray_DESCR((PyArrayObject *)value))
                                    : (PyObject *)PyArray_DescrFromScalar(value);
    else if (!kind && PyLong_Check(value))
        kind = (PyObject *)&PyLong_Type;
    else if (!kind && PyFloat_Check(value))
        kind = (PyObject *)&PyFloat_Type;
    if (!kind) return PyErr_Occurred() ? -1 : 0;
    run->key.kinds[i] = kind;
    run->key.scalars |= UINT32_C(1) << i;
    return 1;
}

/* Reads an array of another library as input i. 1; 0 when the value is none; -1 with an exception. */
static int read_foreign(ElementwiseRun *run, int i, PyObject *value)
{
    int found = foreign_view(run->state, value, run->mode, &run->views[i]);
    if (found <= 0) return found;
    run->arrays[run->outputs + i] = gpuarray_cast(run->views[i]);
    run->key.kinds[i] = (PyObject *)run->arrays[run->outputs + i]->dtype;
    return 1;
}

/* Reads all inputs. 1; 0 when one is of a type that is not known here; -1 with an exception. */
static int read_operands(ElementwiseRun *run)
{
    const ElementwiseCall *call = run->call;
    for (int i = 0; i < call->count; i++) {
        PyObject *value = call->operands[i];
        if (gpuarray_check(run->state, value)) {
            run->arrays[run->outputs + i] = gpuarray_cast(value);
            run->key.kinds[i] = (PyObject *)gpuarray_cast(value)->dtype;
            continue;
        }
        int known = read_scalar(run, i, value);
        if (known == 0) known = read_foreign(run, i, value);
        if (known <= 0) return known;
    }
    run->key.inputs = (uint16_t)call->count;
    run->inputs = call->count;
    return 1;
}

/* Reads out=, one array or a tuple with an entry for each result; None: a new array is made. -1 with an
 * exception. */
static int read_out(ElementwiseRun *run)
{
    PyObject *out = run->call->out;
    bool many = out && PyTuple_Check(out);
    run->outputs = many ? (int)PyTuple_GET_SIZE(out) : 1;
    if (many && (run->outputs < 1 || run->outputs > ELEMENTWISE_MAX_OUTPUTS)) {
        PyErr_Format(PyExc_ValueError, "The 'out' tuple must have exactly one entry per ufunc output, not %d",
                     run->outputs);
        return -1;
    }
    for (int k = 0; k < run->outputs; k++) {
        PyObject *one = many ? PyTuple_GET_ITEM(out, k) : out;
        run->key.outs[k] = NULL;
        if (!one || one == Py_None) continue;
        PyObject *array = foreign_out(run->state, one, run->mode);
        if (!array) return -1;
        run->arrays[k] = gpuarray_cast(array);
        run->key.outs[k] = (PyObject *)run->arrays[k]->dtype;
    }
    run->key.outputs = (uint16_t)run->outputs;
    return 0;
}

/* -1 with ValueError when an array is on another device than the current context. */
static int check_devices(const ElementwiseRun *run)
{
    for (int k = 0; k < run->outputs + run->inputs; k++)
        if (run->arrays[k] && array_device_require(run->arrays[k], run->context) < 0) return -1;
    return 0;
}

/* Converts input i, a scalar, to the dtype that its loop takes. -1 with an exception: OverflowError for a
 * Python int that does not fit. */
static int pack_scalar(ElementwiseRun *run, int i)
{
    PyArray_Descr *dtype = run->loop->inputs[i];
    unsigned char *bytes = memset(run->scalars[run->outputs + i], 0, LAYOUT_SLOT);
    PyObject *value = run->call->operands[i];
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

/* -1 with ValueError if the operation is a power of integers and input i a negative exponent. Called for
 * scalars only: to check the exponents in an array the host would have to wait. */
static int refuse_negative_exponent(const ElementwiseRun *run, int i)
{
    if (i != 1 || !PyTypeNum_ISSIGNED(run->loop->inputs[i]->type_num)) return 0;
    if (!PyTypeNum_ISINTEGER(run->loop->inputs[i]->type_num)) return 0;
    if (PyUnicode_CompareWithASCIIString(run->call->name, "power") != 0) return 0;
    const GPUArrayObject *base = run->arrays[run->outputs];
    if (base && base->size == 0) return 0;
    PyObject *zero = PyLong_FromLong(0);
    int negative = zero ? PyObject_RichCompareBool(run->call->operands[i], zero, Py_LT) : -1;
    Py_XDECREF(zero);
    if (negative > 0)
        PyErr_SetString(PyExc_ValueError, "Integers to negative integer powers are not allowed: use a float");
    return negative ? -1 : 0;
}

static int pack_scalars(ElementwiseRun *run)
{
    for (int i = 0; i < run->inputs; i++) {
        if (run->arrays[run->outputs + i]) continue;
        if (pack_scalar(run, i) < 0 || refuse_negative_exponent(run, i) < 0) return -1;
    }
    return 0;
}

/* ---- Shapes and results ---- */

/* ValueError with the shapes of all operands, inputs first; that of a number is (). */
static int raise_shapes(const ElementwiseRun *run)
{
    PyObject *text = PyUnicode_FromString("operands could not be broadcast together with shapes");
    for (int i = 0; i < run->inputs + run->outputs; i++) {
        const GPUArrayObject *array = run->arrays[i < run->inputs ? run->outputs + i : i - run->inputs];
        if (!array && i >= run->inputs) continue;
        PyUnicode_AppendAndDel(&text, PyUnicode_FromString(" "));
        PyUnicode_AppendAndDel(&text,
                               convert_shape_text(array ? array->ndim : 0, array ? array->shape : NULL));
    }
    if (text) PyErr_SetObject(PyExc_ValueError, text);
    Py_XDECREF(text);
    return -1;
}

/* ValueError for an output that the result does not fit. */
static int raise_output(const ElementwiseRun *run, const GPUArrayObject *out)
{
    PyObject *own = convert_shape_text(out->ndim, out->shape);
    PyObject *all = convert_shape_text(run->ndim, run->shape);
    if (own && all)
        PyErr_Format(PyExc_ValueError,
                     "non-broadcastable output operand with shape %U doesn't match the broadcast shape %U",
                     own, all);
    Py_XDECREF(own);
    Py_XDECREF(all);
    return -1;
}

/* The first array if all arrays have the same shape, no gaps and the same order of elements, so that the loop
 * has one axis. NULL otherwise, or if they have no elements. */
static const GPUArrayObject *find_common_layout(const ElementwiseRun *run)
{
    const GPUArrayObject *first = NULL;
    int layout = GPUARRAY_C | GPUARRAY_F;
    for (int k = 0; k < run->outputs + run->inputs; k++) {
        const GPUArrayObject *array = run->arrays[k];
        if (!array) continue;
        layout &= array->layout;
        if (!layout || (first && !gpuarray_has_shape(array, first->ndim, first->shape))) return NULL;
        if (!first) first = array;
    }
    return first && first->size > 0 ? first : NULL;
}

/* Sets run->shape: the shape to which the inputs and the given outputs broadcast. -1 with ValueError when
 * there is none, or when an output would have to be broadcast. */
static int broadcast_shape(ElementwiseRun *run)
{
    if ((run->common_layout = find_common_layout(run))) {
        run->ndim = run->common_layout->ndim;
        for (int i = 0; i < run->ndim; i++) run->shape[i] = run->common_layout->shape[i];
        return 0;
    }
    for (int k = run->outputs; k < run->outputs + run->inputs; k++) {
        Py_ssize_t shape[STRIDES_MAX_DIMS];
        int ndim = run->ndim;
        const GPUArrayObject *array = run->arrays[k];
        if (!array) continue;
        memcpy(shape, run->shape, (size_t)ndim * sizeof *shape);
        if (!loop_broadcast(&ndim, shape, array->ndim, array->shape)) return raise_shapes(run);
        memcpy(run->shape, shape, (size_t)ndim * sizeof *shape);
        run->ndim = ndim;
    }
    for (int k = 0; k < run->outputs; k++) {
        const GPUArrayObject *out = run->arrays[k];
        if (!out) continue;
        if (!loop_broadcast(&run->ndim, run->shape, out->ndim, out->shape)) return raise_shapes(run);
        if (!gpuarray_has_shape(out, run->ndim, run->shape)) return raise_output(run, out);
    }
    return 0;
}

/* The input whose class, allocator and order of axes new results take: the first GPUArray of the result's
 * shape, else the first such view of another library's array, else the first array. NULL if all inputs are
 * scalars. */
static GPUArrayObject *prototype_operand(const ElementwiseRun *run)
{
    GPUArrayObject *first = NULL;
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < run->inputs; i++) {
            GPUArrayObject *array = run->arrays[run->outputs + i];
            if (!array || (run->views[i] != NULL) != (pass == 1)) continue;
            if (gpuarray_has_shape(array, run->ndim, run->shape)) return array;
            if (!first) first = array;
        }
    }
    return first;
}

/* A new array of a subclass of GPUArray, by its constructor. NULL with an exception. */
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

/* Whether a result has the order of axes of `like`, which is not order 'C', and then its strides. */
static bool follows_order(const ElementwiseRun *run, const GPUArrayObject *like, Py_ssize_t itemsize,
                          Py_ssize_t *strides)
{
    Py_ssize_t steps[STRIDES_MAX_DIMS];
    if (!like || !gpuarray_has_shape(like, run->ndim, run->shape) || like->layout & GPUARRAY_C) return false;
    strides_follow_neighbors(run->ndim, like->strides, steps);
    strides_pack_like(run->ndim, run->shape, steps, itemsize, strides);
    return true;
}

static PyObject *new_result(ElementwiseRun *run, PyArray_Descr *dtype)
{
    Py_ssize_t strides[STRIDES_MAX_DIMS], itemsize = PyDataType_ELSIZE(dtype);
    GPUArrayObject *like = prototype_operand(run);
    PyObject *given = run->call->allocator;
    PyObject *allocator = given && given != Py_None ? given : like ? like->allocator : NULL;
    bool plain = !like || Py_TYPE(like) == run->state->GPUArray_type;
    if (run->common_layout && plain && like && like->layout & GPUARRAY_C)
        return gpuarray_new_like(like, run->context, dtype, allocator, run->mode.stream_object);
    bool in_order = follows_order(run, like, itemsize, strides);
    if (!plain && !in_order) strides_fill('C', run->ndim, run->shape, itemsize, strides);
    if (!plain) run->common_layout = NULL; /* a subclass may give its array another layout */
    if (!plain) return new_of_class(Py_TYPE(like), dtype, run->ndim, run->shape, strides, allocator);
    Py_INCREF(dtype);
    return gpuarray_new_in(run->state, run->context, dtype, run->ndim, run->shape, in_order ? strides : NULL,
                           allocator, run->mode.stream_object);
}

/* Whether `out` may overlap `in` in another way than element by element: then elements of `in` could be
 * overwritten before they are read. */
static bool overlaps_differently(GPUArrayObject *out, GPUArrayObject *in, int ndim)
{
    if (!in || in->size == 0 || !shared_memory_is_possible(out, in)) return false;
    return !(out->pointer == in->pointer && out->itemsize == in->itemsize && in->ndim == ndim
             && gpuarray_has_shape(in, out->ndim, out->shape)
             && strides_equal(ndim, out->shape, out->strides, in->strides));
}

/* ---- Temporaries as results ---- */

/* Whether both operands are of types whose slots temporary_ends() may be asked after: arrays, numbers of
 * Python and NumPy. */
static bool operands_are_plain(const ElementwiseRun *run)
{
    for (int i = 0; i < 2; i++) {
        PyObject *value = run->call->operands[i];
        if (!value || Py_TYPE(value) == run->state->GPUArray_type || weak_kind(value) || PyBool_Check(value))
            continue;
        PyArray_Descr *dtype = (PyArray_Descr *)run->dtypes[i];
        if (!dtype || dtype->typeobj != Py_TYPE(value)) return false;
    }
    return true;
}

/* Whether the array alone uses its memory, all of it on this call's stream, and carries nothing that a new
 * result would not have. */
static bool is_alone(const ElementwiseRun *run, const GPUArrayObject *array)
{
    const DeviceAllocationObject *allocation = array->allocation;
    return Py_TYPE(array) == run->state->GPUArray_type && !array->base && !array->attributes
           && !array->weak_references && !array->read_only && !array->is_part && !array->is_interleaved
           && allocation && array->gpudata == (const PyObject *)allocation
           && array->pointer == allocation->pointer
           && pooled_is_used_by_one(allocation, 2, run->context, run->mode.stream);
}

/* Whether a new result would be described as the array is, and would get its memory from the same allocator.
 */
static bool is_like_result(const ElementwiseRun *run, const GPUArrayObject *array)
{
    Py_ssize_t strides[STRIDES_MAX_DIMS];
    const GPUArrayObject *like = prototype_operand(run);
    if (Py_TYPE(like) != run->state->GPUArray_type || like->allocator != array->allocator
        || !gpuarray_has_shape(array, run->ndim, run->shape))
        return false;
    if (!follows_order(run, like, array->itemsize, strides))
        strides_fill('C', run->ndim, run->shape, array->itemsize, strides);
    return memcmp(strides, array->strides, (size_t)run->ndim * sizeof *strides) == 0;
}

/* Whether the result of an operator, of this dtype, may take the place of input i. A graph keeps what its
 * work uses, so while one is captured nothing is reused. */
static bool takes_result(const ElementwiseRun *run, int i, const PyArray_Descr *dtype)
{
    PyObject *const *operands = run->call->operands;
    GPUArrayObject *array = run->arrays[run->outputs + i];
    if (!array || array->dtype != dtype || !temporary_ends(operands[i], operands[0], operands[1])
        || captured_some(run->state) || !is_alone(run, array) || !operands_are_plain(run)
        || !is_like_result(run, array))
        return false;
    for (int other = 0; other < run->inputs; other++)
        if (overlaps_differently(array, run->arrays[run->outputs + other], run->ndim)) return false;
    return true;
}

/* The operand that ends with this operator and whose memory takes the result, which is the same array then: a
 * new reference. NULL if there is none. */
static GPUArrayObject *reused_operand(const ElementwiseRun *run)
{
    for (int i = 0; run->call->is_operator && run->outputs == 1 && i < run->inputs; i++)
        if (takes_result(run, i, run->loop->results[0]))
            return gpuarray_cast(Py_NewRef((PyObject *)run->arrays[run->outputs + i]));
    return NULL;
}

/* Allocates the outputs that are not given, and temporary arrays for those that overlap an input. -1 with an
 * exception. */
static int make_results(ElementwiseRun *run)
{
    for (int k = 0; k < run->outputs; k++) {
        GPUArrayObject *out = run->arrays[k];
        if (out && !out->layout && strides_may_overlap(out->ndim, out->shape, out->strides, out->itemsize)) {
            PyErr_SetString(PyExc_ValueError,
                            "output array has internal overlap: several elements share memory");
            return -1;
        }
        bool blocked = false;
        for (int i = run->outputs; out && i < run->outputs + run->inputs; i++)
            blocked = blocked || overlaps_differently(out, run->arrays[i], run->ndim);
        if (out && !blocked) continue;
        if (out) run->final_out[k] = (PyObject *)out;
        run->arrays[k] = out ? NULL : reused_operand(run);
        if (!run->arrays[k]) run->arrays[k] = gpuarray_cast(new_result(run, run->loop->results[k]));
        if (!run->arrays[k]) return -1;
    }
    return 0;
}

/* ---- The launch ---- */

/* Notes that the launch uses the arrays' memory. -1 with an exception, as when memory was freed. */
static int use_arrays(ElementwiseRun *run)
{
    for (int k = 0; k < run->outputs + run->inputs; k++) {
        GPUArrayObject *array = run->arrays[k];
        if (!array) continue;
        DeviceAllocationObject *allocation = array->allocation;
        PyObject *object = (PyObject *)array;
        if (gpuarray_check_memory(array) < 0
            || (allocation ? pooled_note_allocation(allocation, run->mode.stream_object, run->mode.stream) < 0
                           : captured_keep(array->state, run->mode.stream, &object, 1) < 0))
            return -1;
    }
    return 0;
}

/* Plans the loop over all arrays: with a common layout, which new results have as well, along a single axis.
 */
static void plan_loop(const ElementwiseRun *run, LoopPlan *plan, LoopOperand *operands)
{
    const GPUArrayObject *alike = run->common_layout;
    loop_start(plan, operands, alike ? 1 : run->ndim, alike ? &alike->size : run->shape);
    for (int k = 0; k < run->outputs + run->inputs; k++) {
        const GPUArrayObject *array = run->arrays[k];
        if (!array) continue;
        if (alike)
            loop_add_dense(plan, k, array->pointer, array->itemsize);
        else
            loop_add(plan, k, array->pointer,
                     &(StridedForm){array->ndim, array->shape, array->strides, array->itemsize});
    }
    if (!alike) loop_collapse(plan, LOOP_REVERSE | LOOP_SORT);
}

/* Launches a kernel with its parameter block of so many bytes. -1 with an exception. */
static int launch_kernel(ElementwiseRun *run, const ElementwiseKernel *kernel, ptrdiff_t blocks,
                         unsigned char *block, size_t bytes)
{
    LaunchShape shape = {.grid = {(unsigned)blocks, 1, 1}, .block = {LAYOUT_THREADS, 1, 1}};
    if (use_arrays(run) < 0) return -1;
    return function_launch_buffer(function_cast(kernel->function), &shape, NULL, run->mode.stream, block,
                                  bytes);
}

static int launch_plan(ElementwiseRun *run)
{
    LoopOperand operands[MAX_OPERANDS];
    LoopPlan plan;
    uint64_t marked;
    _Alignas(LAYOUT_SLOT) unsigned char block[KERNEL_ARGS_STACK_BYTES];
    int count = run->outputs + run->inputs;
    ElementwiseKernel kernel;
    plan_loop(run, &plan, operands);
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
    for (int k = run->outputs; k < count; k++)
        if (!run->arrays[k]) memcpy(layout_slot(block, k), run->scalars[k], LAYOUT_SLOT);
    if (elementwise_kernel(run->state, run->loop, layout, &kernel) < 0) return -1;
    int failed = launch_kernel(run, &kernel, layout_blocks(&plan, layout, kernel.elements), block, bytes);
    Py_DECREF(kernel.function);
    return failed;
}

static bool has_changed(const ElementwiseRun *run, GPUArrayObject *array)
{
    return array && atomic_load_explicit(&array->changed, memory_order_relaxed) > run->changed;
}

/* -1 with an exception if an operand got another description since it was looked at: making the kernel and
 * the result may have run Python code. The operands are looked at only if some array did. */
static int check_unchanged(const ElementwiseRun *run)
{
    if (atomic_load_explicit(&run->state->arrays_changed, memory_order_relaxed) == run->changed) return 0;
    for (int k = 0; k < run->outputs + run->inputs; k++) {
        GPUArrayObject *final_out = k < run->outputs ? (GPUArrayObject *)run->final_out[k] : NULL;
        if (!has_changed(run, run->arrays[k]) && !has_changed(run, final_out)) continue;
        PyErr_SetString(PyExc_RuntimeError,
                        "the shape, the strides or the dtype of an array changed during a calculation");
        return -1;
    }
    return 0;
}

/* ---- The whole ---- */

/* The call's results, a new reference: copies temporary arrays to the outputs whose place they took. NULL
 * with an exception. */
static PyObject *take_results(ElementwiseRun *run)
{
    PyObject *results[ELEMENTWISE_MAX_OUTPUTS] = {NULL}, *out = run->call->out;
    TransferMode mode = run->mode;
    mode.async = false; /* the temporary's memory is freed after the copy in any case */
    for (int k = 0; k < run->outputs; k++) {
        if (run->final_out[k]
            && transfer_on_device(gpuarray_cast(run->final_out[k]), run->arrays[k], mode) < 0)
            return NULL;
        PyObject *given = out && PyTuple_Check(out) ? PyTuple_GET_ITEM(out, k) : out;
        results[k] = given && given != Py_None ? given : (PyObject *)run->arrays[k];
    }
    return run->outputs == 1 ? Py_NewRef(results[0]) : PyTuple_Pack(2, results[0], results[1]);
}

/* NotImplemented if an operand is of a type that is not known here; NULL with an exception. */
static PyObject *run_call(ElementwiseRun *run)
{
    run->key.name = run->call->name;
    run->key.dtype = run->call->dtype == Py_None ? NULL : run->call->dtype;
    run->key.casting = run->call->casting;
    run->key.scalars = 0;
    if (run->call->count > ELEMENTWISE_MAX_INPUTS)
        return PyErr_Format(PyExc_TypeError, "too many operands: at most %d are supported",
                            ELEMENTWISE_MAX_INPUTS);
    if (transfer_stream(run->state, run->call->stream, &run->mode) < 0 || read_out(run) < 0) return NULL;
    int known = read_operands(run);
    if (known <= 0) return known < 0 ? NULL : Py_NewRef(Py_NotImplemented);
    if (!(run->context = context_current(run->state)) || check_devices(run) < 0) return NULL;
    if (!(run->loop = elementwise_find(run->context, &run->key))) return NULL;
    if (broadcast_shape(run) < 0 || pack_scalars(run) < 0) return NULL;
    return make_results(run) < 0 || check_unchanged(run) < 0 || launch_plan(run) < 0 ? NULL
                                                                                     : take_results(run);
}

PyObject *elementwise_call(ModuleState *state, const ElementwiseCall *call)
{
    ElementwiseRun run;
    memset(&run, 0, offsetof(ElementwiseRun, key));
    run.state = state;
    run.call = call;
    run.changed = atomic_load_explicit(&state->arrays_changed, memory_order_relaxed);
    run.mode.async = true;
    PyObject *result = run_call(&run);
    for (int k = 0; k < ELEMENTWISE_MAX_OUTPUTS; k++) {
        if (k < run.outputs) Py_XDECREF((PyObject *)run.arrays[k]);
        Py_XDECREF(run.final_out[k]);
    }
    for (int i = 0; i < ELEMENTWISE_MAX_INPUTS; i++) {
        Py_XDECREF(run.dtypes[i]);
        Py_XDECREF(run.views[i]);
    }
    elementwise_drop(run.loop);
    Py_XDECREF((PyObject *)run.context);
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
