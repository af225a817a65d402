/* MipmappedArray: levels of one picture, each of half the size of the one before.
 *
 * A level is an Array whose memory the MipmappedArray lends: the level keeps the MipmappedArray alive, and
 * ends when that is freed.
 *
 * The driver links its mipmapped arrays in a list of the process. cuCtxDestroy frees those of the context but
 * leaves them in the list, and the next cuMipmappedArrayCreate in any context writes to freed memory (seen
 * with 580.159). So a context that ends destroys its mipmapped arrays first. */
#include "ext/texture/mipmapped_array.h"

#include "ext/base/driver_calls.h"
#include "ext/base/types.h"
#include "ext/convert/convert.h"
#include "ext/memory/device_memory.h"
#include "ext/texture/cuda_array.h"

int mipmapped_array_handle(ModuleState *state, PyObject *value, const char *what, CUmipmappedArray *out)
{
    if (!mipmapped_array_check(state, value)) {
        PyErr_Format(PyExc_TypeError, "%s must be a MipmappedArray, not %s", what, Py_TYPE(value)->tp_name);
        return -1;
    }
    const MipmappedArrayObject *array = mipmapped_array_cast(value);
    *out = array->handle;
    if (!atomic_load(&array->freed)) return context_check(array->context, what) ? 0 : -1;
    raise_logic(state, "%s: the MipmappedArray was freed", what);
    return -1;
}

/* ---- Which there are ---- */

static void link_array(MipmappedArrayObject *array)
{
    state_lock(array->state);
    array->next = array->state->mipmapped;
    array->state->mipmapped = array;
    state_unlock(array->state);
}

static void unlink_array(MipmappedArrayObject *array)
{
    state_lock(array->state);
    MipmappedArrayObject **link = &array->state->mipmapped;
    while (*link && *link != array) link = &(*link)->next;
    if (*link) *link = array->next;
    state_unlock(array->state);
}

/* Unlinks a mipmapped array of this context. Its handle, or NULL when there is none. */
static CUmipmappedArray take_one(const ContextObject *context)
{
    state_lock(context->state);
    MipmappedArrayObject **link = &context->state->mipmapped;
    while (*link && (*link)->context != context) link = &(*link)->next;
    CUmipmappedArray handle = *link ? (*link)->handle : NULL;
    if (*link) *link = (*link)->next;
    state_unlock(context->state);
    return handle;
}

/* ContextLastFn: destroys the context's mipmapped arrays. Their objects later find the context dead, and
 * release nothing. */
static void end_arrays(ContextObject *context)
{
    ContextScope scope;
    CUmipmappedArray handle = take_one(context);
    if (!handle || !context_enter_last(context, &scope)) return;
    for (; handle; handle = take_one(context)) {
        report_driver(context->state, end_cuMipmappedArrayDestroy(context->state, handle),
                      "cuMipmappedArrayDestroy");
    }
    context_leave_scope(&scope);
}

/* ---- Making one ---- */

/* The largest number of levels: the last one has one element in each layer and face. */
static unsigned max_levels(const CUDA_ARRAY3D_DESCRIPTOR *shape)
{
    size_t longest = shape->Width > shape->Height ? shape->Width : shape->Height;
    bool layers = shape->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP);
    unsigned levels = 1;
    if (!layers && shape->Depth > longest) longest = shape->Depth;
    while (longest >>= 1) levels++;
    return levels;
}

static int read_levels(PyObject *value, const CUDA_ARRAY3D_DESCRIPTOR *shape, unsigned *out)
{
    unsigned max = *out = max_levels(shape);
    if (!value || value == Py_None) return 0;
    if (convert_unsigned(value, "num_levels", out) < 0) return -1;
    if (*out >= 1 && *out <= max) return 0;
    PyErr_Format(PyExc_ValueError, "num_levels is %u, but an array of this size has 1 to %u levels", *out,
                 max);
    return -1;
}

/* Makes the array and links it. context_stay() prevents the context from ending between the two. */
static CUresult create(MipmappedArrayObject *array)
{
    if (!context_stay(array->context)) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    CUresult result = try_cuMipmappedArrayCreate(array->state, &array->handle, &array->shape, array->levels);
    if (result == CUDA_SUCCESS) link_array(array);
    context_go(array->context);
    return result;
}

PyDoc_STRVAR(mipmapped_array_doc,
             "MipmappedArray(descriptor, num_levels=None)\n--\n\n"
             "An array of several levels in the current context, each of half the size of the one\n"
             "before, for textures.\n\n"
             "get_level gives the levels, which are filled as any Array is.\n"
             "\nParameters\n----------\n"
             "descriptor : ArrayDescriptor or ArrayDescriptor3D\n    Of the first level.\n"
             "num_levels : int\n    At first as many as there can be: the last has one element.\n"
             "\nRaises\n------\n"
             "ValueError\n    There cannot be that many levels.\n"
             "LogicError\n    The driver refuses the description.\n"
             "MemoryError\n    There is too little memory.\n"
             "\nNotes\n-----\n"
             "Calls cuMipmappedArrayCreate.");

static PyObject *mipmapped_array_tp_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    ModuleState *state = state_of_type(type);
    PyObject *descriptor, *num_levels;
    CUDA_ARRAY3D_DESCRIPTOR shape;
    unsigned levels;
    if (READ_CALL(mipmapped_array_doc, INTO(&descriptor), INTO(&num_levels)) < 0
        || cuda_array_read_descriptor(state, descriptor, &shape) < 0
        || read_levels(num_levels, &shape, &levels) < 0)
        return NULL;
    PyObject *self = owner_new(state, type);
    if (!self) return NULL;
    MipmappedArrayObject *array = mipmapped_array_cast(self);
    array->shape = shape;
    array->levels = levels;
    CUresult result;
    ALLOCATE(state, result, create(array));
    if (result != CUDA_SUCCESS)
        raise_driver(state, result, "cuMipmappedArrayCreate",
                     "width %zu, height %zu, depth %zu, format %u, %u channels, flags 0x%x, %u levels",
                     shape.Width, shape.Height, shape.Depth, shape.Format, shape.NumChannels, shape.Flags,
                     levels);
    /* Also after an error, for which it drops self and leaves the exception. */
    return owner_finish(self, result, "cuMipmappedArrayCreate", &state->live_MipmappedArray);
}

/* ---- Its end ---- */

static void destroy_array(PyObject *self)
{
    MipmappedArrayObject *array = mipmapped_array_cast(self);
    ContextScope scope;
    CUresult result;
    LIVE_LESS(array->state, MipmappedArray);
    bool entered = context_enter_scope(array->context, &scope);
    unlink_array(
        array); /* in the scope, so that a context that is about to end either waits or destroys it */
    if (entered) {
        result = end_cuMipmappedArrayDestroy(array->state, array->handle);
        context_leave_scope(&scope);
        report_driver(array->state, result, "cuMipmappedArrayDestroy");
    }
}

static void mipmapped_array_dealloc(PyObject *self)
{
    owner_dealloc(self, mipmapped_array_dealloc, destroy_array);
}

PyDoc_STRVAR(free_doc, "free($self)\n--\n\n"
                       "Free the memory of all levels now; nothing happens the second time.\n"
                       "\nNotes\n-----\n"
                       "Calls cuMipmappedArrayDestroy.");

static PyObject *mipmapped_array_free(PyObject *self, PyObject *Py_UNUSED(none))
{
    owner_release(self, destroy_array);
    Py_RETURN_NONE;
}

/* ---- Its levels ---- */

PyDoc_STRVAR(get_level_doc, "get_level($self, level)\n--\n\n"
                            "One level, which keeps all of them alive.\n"
                            "\nParameters\n----------\n"
                            "level : int\n    0 is the largest.\n"
                            "\nReturns\n-------\n"
                            "Array\n"
                            "\nRaises\n------\n"
                            "IndexError\n    There is no such level.\n"
                            "LogicError\n    It was freed.\n"
                            "\nNotes\n-----\n"
                            "Calls cuMipmappedArrayGetLevel.");

static PyObject *mipmapped_array_get_level(PyObject *self, FAST_PARAMETERS)
{
    MipmappedArrayObject *array = mipmapped_array_cast(self);
    CUmipmappedArray handle;
    CUarray level;
    unsigned index;
    if (READ_ARGUMENTS(get_level_doc, INTO(&index)) < 0
        || mipmapped_array_handle(array->state, self, "get_level", &handle) < 0)
        return NULL;
    if (index >= array->levels)
        return PyErr_Format(PyExc_IndexError, "level %u: the MipmappedArray has %u levels", index,
                            array->levels);
    CUresult result = try_cuMipmappedArrayGetLevel(array->state, &level, handle, index);
    if (result != CUDA_SUCCESS)
        return raise_driver(array->state, result, "cuMipmappedArrayGetLevel", "level %u", index);
    return cuda_array_lent(array->context, level, self, &array->freed);
}

static PyObject *get_descriptor(PyObject *self, void *Py_UNUSED(closure))
{
    const MipmappedArrayObject *array = mipmapped_array_cast(self);
    return cuda_array_descriptor(array->state, &array->shape);
}

/* ---- The class ---- */

static PyMethodDef mipmapped_array_methods[] = {
    {"free", mipmapped_array_free, METH_NOARGS, free_doc},
    {"get_level", AS_METHOD(mipmapped_array_get_level), FAST_KEYWORDS, get_level_doc},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef mipmapped_array_properties[] = {
    {"descriptor", get_descriptor, NULL, "An ArrayDescriptor3D of the first level.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef mipmapped_array_members[] = {
    {"handle", T_ULONGLONG, offsetof(MipmappedArrayObject, handle), READONLY,
     "The CUmipmappedArray as an int."},
    {"num_levels", T_UINT, offsetof(MipmappedArrayObject, levels), READONLY, "How many levels there are."},
    {NULL, 0, 0, 0, NULL},
};

const TypeSpec MipmappedArray_spec = {
    TYPE_WITH_WEAK_REFERENCES("pycuda.driver.MipmappedArray", MipmappedArrayObject, 0, mipmapped_array_doc),
    .tp_new = mipmapped_array_tp_new,
    .tp_dealloc = mipmapped_array_dealloc,
    TYPE_TABLES(mipmapped_array_methods, mipmapped_array_properties, mipmapped_array_members),
};

int mipmapped_array_setup(PyObject *Py_UNUSED(module), ModuleState *state)
{
    return context_on_last(state, end_arrays);
}
