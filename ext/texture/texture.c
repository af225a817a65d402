/* TextureObject: an Array, a MipmappedArray or linear memory that kernels read by coordinates, with
 * filtering, and with address modes for coordinates outside of it. */
#include "ext/texture/texture.h"

#include <string.h>

#include "ext/base/driver_calls.h"
#include "ext/base/types.h"
#include "ext/convert/convert.h"
#include "ext/memory/device_pointer.h"
#include "ext/texture/cuda_array.h"
#include "ext/texture/mipmapped_array.h"

/* ---- Shared with SurfaceObject ---- */

int texture_argument(ModuleState *state, PyObject *value, unsigned long long *out)
{
    bool surface = Py_TYPE(value) == state->SurfaceObject_type;
    if (!surface && Py_TYPE(value) != state->TextureObject_type) return 0;
    *out = texture_cast(value)->handle;
    if (!atomic_load(&texture_cast(value)->freed))
        return context_check(texture_cast(value)->context, surface ? "SurfaceObject" : "TextureObject") ? 1
                                                                                                        : -1;
    raise_logic(state, "the %s was freed", surface ? "SurfaceObject" : "TextureObject");
    return -1;
}

PyObject *texture_empty(ModuleState *state, PyTypeObject *type, PyObject *source)
{
    PyObject *self = owner_new(state, type);
    if (self) texture_cast(self)->source = Py_NewRef(source);
    return self;
}

static void destroy_object(PyObject *self)
{
    TextureHandleObject *texture = texture_cast(self);
    ModuleState *state = texture->state;
    if (PyObject_TypeCheck(self, state->SurfaceObject_type)) {
        LIVE_LESS(state, SurfaceObject);
        RELEASE_IN_CONTEXT(texture->context, once, cuSurfObjectDestroy, texture->handle);
    } else {
        LIVE_LESS(state, TextureObject);
        RELEASE_IN_CONTEXT(texture->context, once, cuTexObjectDestroy, texture->handle);
    }
}

void texture_dealloc(PyObject *self)
{
    if (!owner_dealloc_begin(self, texture_dealloc, destroy_object)) return;
    Py_XDECREF(texture_cast(self)->source);
    owner_dealloc_end(self);
}

PyObject *texture_free(PyObject *self, PyObject *Py_UNUSED(none))
{
    owner_release(self, destroy_object);
    Py_RETURN_NONE;
}

/* There is no tp_clear, as the source must outlive the texture: other objects of a cycle through it have one.
 */
int texture_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(texture_cast(self)->source);
    return 0;
}

PyObject *texture_int(PyObject *self)
{
    unsigned long long handle = 0;
    return texture_argument(texture_cast(self)->state, self, &handle) < 0
               ? NULL
               : PyLong_FromUnsignedLongLong(handle);
}

/* ---- The source ---- */

int texture_read_memory(ModuleState *state, PyObject *source, const CUDA_ARRAY3D_DESCRIPTOR *shape,
                        size_t pitch, CUDA_RESOURCE_DESC *out)
{
    size_t element = cuda_array_element_size(shape->Format, shape->NumChannels), row, bytes;
    if (element == 0 || shape->Width == 0) {
        PyErr_SetString(PyExc_ValueError,
                        "descr needs a width, num_channels and a format without compression");
        return -1;
    }
    if (__builtin_mul_overflow(shape->Width, element, &row)) row = SIZE_MAX;
    if (!shape->Height) {
        out->resType = CU_RESOURCE_TYPE_LINEAR;
        out->res.linear.format = shape->Format;
        out->res.linear.numChannels = shape->NumChannels;
        out->res.linear.sizeInBytes = row;
        return convert_range(state, source, "source", row, &out->res.linear.devPtr);
    }
    if (pitch < row) {
        PyErr_Format(PyExc_ValueError, "pitch is %zu, but a row has %zu bytes", pitch, row);
        return -1;
    }
    if (__builtin_mul_overflow(pitch, shape->Height - 1, &bytes)
        || __builtin_add_overflow(bytes, row, &bytes))
        bytes = SIZE_MAX;
    out->resType = CU_RESOURCE_TYPE_PITCH2D;
    out->res.pitch2D.format = shape->Format;
    out->res.pitch2D.numChannels = shape->NumChannels;
    out->res.pitch2D.width = shape->Width;
    out->res.pitch2D.height = shape->Height;
    out->res.pitch2D.pitchInBytes = pitch;
    return convert_range(state, source, "source", bytes, &out->res.pitch2D.devPtr);
}

/* *out: the resource that the arguments source, descr and pitch mean. -1 with an exception. */
static int read_resource(ModuleState *state, PyObject *source, PyObject *descr, PyObject *pitch_object,
                         CUDA_RESOURCE_DESC *out)
{
    size_t pitch = 0;
    bool is_array = PyObject_TypeCheck(source, state->Array_type);
    *out = (CUDA_RESOURCE_DESC){.resType = CU_RESOURCE_TYPE_ARRAY};
    if (descr == Py_None) descr = NULL;
    if ((is_array || mipmapped_array_check(state, source)) && (descr || pitch_object)) {
        PyErr_SetString(PyExc_TypeError, "an Array has its own shape: descr and pitch are for linear memory");
        return -1;
    }
    if (!is_array && mipmapped_array_check(state, source)) {
        out->resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
        return mipmapped_array_handle(state, source, "source", &out->res.mipmap.hMipmappedArray);
    }
    if (is_array) return cuda_array_handle(state, source, "source", &out->res.array.hArray);
    if (!descr || !PyObject_TypeCheck(descr, state->ArrayDescriptor_type)) {
        PyErr_SetString(PyExc_TypeError, "linear memory needs an ArrayDescriptor of its elements");
        return -1;
    }
    if (convert_size(pitch_object, "pitch", &pitch) < 0) return -1;
    return texture_read_memory(state, source, &cuda_array_descriptor_cast(descr)->value, pitch, out);
}

/* ---- How it is read ---- */

/* Reads one address mode for all dimensions, or a sequence with one for each. -1 with an exception. */
static int read_address_modes(PyObject *value, CUaddress_mode out[3])
{
    out[0] = out[1] = out[2] = CU_TR_ADDRESS_MODE_CLAMP;
    if (!value || value == Py_None) return 0;
    if (PyIndex_Check(value)) {
        if (convert_unsigned(value, "address_mode", &out[0]) < 0) return -1;
        out[1] = out[2] = out[0];
        return 0;
    }
    PyObject *modes = convert_items(value, "address_mode must be an address_mode or a sequence of them");
    Py_ssize_t count = modes ? PySequence_Fast_GET_SIZE(modes) : -1;
    int status = count < 0 ? -1 : 0;
    if (count > 3) {
        PyErr_Format(PyExc_ValueError, "address_mode: a texture has at most 3 dimensions, not %zd", count);
        status = -1;
    }
    for (Py_ssize_t i = 0; i < count && status == 0; i++)
        status = convert_unsigned(PySequence_Fast_GET_ITEM(modes, i), "address_mode", &out[i]);
    Py_XDECREF(modes);
    return status;
}

/* out[]: up to four numbers; those that are not given stay as they are. -1 with an exception. */
static int read_border(PyObject *value, float out[4])
{
    if (!value || value == Py_None) return 0;
    PyObject *items = convert_items(value, "border_color must be a sequence of numbers");
    Py_ssize_t count = items ? PySequence_Fast_GET_SIZE(items) : -1;
    int status = count < 0 ? -1 : 0;
    if (count > 4) {
        PyErr_Format(PyExc_ValueError, "border_color has at most 4 numbers, not %zd", count);
        status = -1;
    }
    for (Py_ssize_t i = 0; i < count && status == 0; i++) {
        out[i] = (float)PyFloat_AsDouble(PySequence_Fast_GET_ITEM(items, i));
        if (PyErr_Occurred()) status = -1;
    }
    Py_XDECREF(items);
    return status;
}

/* given: address_mode, filter_mode, flags, border_color, max_anisotropy */
static int read_sampling(PyObject *const *given, CUDA_TEXTURE_DESC *out)
{
    *out = (CUDA_TEXTURE_DESC){.filterMode = CU_TR_FILTER_MODE_POINT};
    if (read_address_modes(given[0], out->addressMode) < 0
        || convert_unsigned(given[1], "filter_mode", &out->filterMode) < 0
        || convert_unsigned(given[2], "flags", &out->flags) < 0
        || read_border(given[3], out->borderColor) < 0)
        return -1;
    return convert_unsigned(given[4], "max_anisotropy", &out->maxAnisotropy);
}

static int read_float(PyObject *value, float *out)
{
    if (!value || value == Py_None) return 0;
    *out = (float)PyFloat_AsDouble(value);
    return PyErr_Occurred() ? -1 : 0;
}

/* The format of a view that does not reinterpret the elements. Drivers refuse a view without a format. */
static CUresourceViewFormat view_format(const CUDA_ARRAY3D_DESCRIPTOR *shape)
{
    static const struct {
        CUarray_format format;
        CUresourceViewFormat one_channel;
    } kinds[] = {
        {CU_AD_FORMAT_UNSIGNED_INT8, CU_RES_VIEW_FORMAT_UINT_1X8},
        {CU_AD_FORMAT_SIGNED_INT8, CU_RES_VIEW_FORMAT_SINT_1X8},
        {CU_AD_FORMAT_UNSIGNED_INT16, CU_RES_VIEW_FORMAT_UINT_1X16},
        {CU_AD_FORMAT_SIGNED_INT16, CU_RES_VIEW_FORMAT_SINT_1X16},
        {CU_AD_FORMAT_UNSIGNED_INT32, CU_RES_VIEW_FORMAT_UINT_1X32},
        {CU_AD_FORMAT_SIGNED_INT32, CU_RES_VIEW_FORMAT_SINT_1X32},
        {CU_AD_FORMAT_HALF, CU_RES_VIEW_FORMAT_FLOAT_1X16},
        {CU_AD_FORMAT_FLOAT, CU_RES_VIEW_FORMAT_FLOAT_1X32},
    };
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        if (kinds[k].format == shape->Format)
            return kinds[k].one_channel + shape->NumChannels / 2; /* formats of 1, 2, 4 channels follow */
    return CU_RES_VIEW_FORMAT_NONE;
}

/* Reads the range of levels, by default all. The sizes in the view are those of the first level. */
static int read_levels(const MipmappedArrayObject *array, PyObject *first, PyObject *last,
                       CUDA_RESOURCE_VIEW_DESC *view)
{
    const CUDA_ARRAY3D_DESCRIPTOR *shape = &array->shape;
    unsigned end = array->levels - 1;
    bool layers = shape->Flags & CUDA_ARRAY3D_LAYERED;
    *view = (CUDA_RESOURCE_VIEW_DESC){.format = view_format(shape),
                                      .width = shape->Width,
                                      .height = shape->Height,
                                      .depth = shape->Depth,
                                      .lastMipmapLevel = end,
                                      .lastLayer = layers ? (unsigned)shape->Depth - 1 : 0};
    if (convert_unsigned(first, "first_mipmap_level", &view->firstMipmapLevel) < 0) return -1;
    if (last && last != Py_None && convert_unsigned(last, "last_mipmap_level", &view->lastMipmapLevel) < 0)
        return -1;
    if (view->firstMipmapLevel <= view->lastMipmapLevel && view->lastMipmapLevel <= end) return 0;
    PyErr_Format(PyExc_ValueError, "levels %u to %u: the MipmappedArray has levels 0 to %u",
                 view->firstMipmapLevel, view->lastMipmapLevel, end);
    return -1;
}

/* given: mipmap_filter_mode, mipmap_level_bias, min_mipmap_level_clamp, max_mipmap_level_clamp,
 * first_mipmap_level, last_mipmap_level */
static int read_detail(ModuleState *state, PyObject *source, PyObject *const *given, CUDA_TEXTURE_DESC *out,
                       CUDA_RESOURCE_VIEW_DESC *view)
{
    enum { SETTINGS = 6 };
    bool any = false;
    for (int k = 0; k < SETTINGS; k++) any = any || given[k];
    if (!mipmapped_array_check(state, source)) {
        if (any) PyErr_SetString(PyExc_TypeError, "settings of mipmap levels need a MipmappedArray");
        return any ? -1 : 0;
    }
    if (read_levels(mipmapped_array_cast(source), given[4], given[5], view) < 0) return -1;
    out->maxMipmapLevelClamp = (float)(view->lastMipmapLevel - view->firstMipmapLevel);
    if (convert_unsigned(given[0], "mipmap_filter_mode", &out->mipmapFilterMode) < 0
        || read_float(given[1], &out->mipmapLevelBias) < 0
        || read_float(given[2], &out->minMipmapLevelClamp) < 0)
        return -1;
    return read_float(given[3], &out->maxMipmapLevelClamp);
}

/* ---- The class ---- */

/* *out: the format of the resource's elements. -1 with an exception. */
static int read_format(ModuleState *state, PyObject *source, const CUDA_RESOURCE_DESC *resource,
                       CUarray_format *out)
{
    CUDA_ARRAY3D_DESCRIPTOR array = {.Format = resource->res.linear.format};
    if (resource->resType == CU_RESOURCE_TYPE_PITCH2D) array.Format = resource->res.pitch2D.format;
    if (resource->resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY) array = mipmapped_array_cast(source)->shape;
    if (resource->resType == CU_RESOURCE_TYPE_ARRAY
        && cuda_array_describe(state, resource->res.array.hArray, &array) < 0)
        return -1;
    *out = array.Format;
    return 0;
}

/* -1 with LogicError for sampling that drivers accept but do not define: a linear filter for elements that
 * are read as integers, and coordinates in texels for a MipmappedArray, whose levels differ in size. */
static int check_sampling(ModuleState *state, PyObject *source, const CUDA_RESOURCE_DESC *resource,
                          const CUDA_TEXTURE_DESC *sampling, const char *what, const char *name)
{
    CUarray_format format;
    bool levels = resource->resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    if (levels && !(sampling->flags & CU_TRSF_NORMALIZED_COORDINATES)) {
        raise_logic(state, "%s%s: a MipmappedArray is read with TRSF_NORMALIZED_COORDINATES", what, name);
        return -1;
    }
    if (sampling->filterMode != CU_TR_FILTER_MODE_LINEAR
        && !(levels && sampling->mipmapFilterMode == CU_TR_FILTER_MODE_LINEAR))
        return 0;
    if (read_format(state, source, resource, &format) < 0) return -1;
    bool words = format == CU_AD_FORMAT_UNSIGNED_INT32 || format == CU_AD_FORMAT_SIGNED_INT32;
    if (!words && (format >= CU_AD_FORMAT_HALF || !(sampling->flags & CU_TRSF_READ_AS_INTEGER))) return 0;
    raise_logic(state, "%s%s: linear filtering is not supported for elements that are read as integers", what,
                name);
    return -1;
}

/* The likely reason why the driver refused a texture, for messages; "" if none is known. */
static const char *explain_refusal(CUresult result, const CUDA_RESOURCE_DESC *resource)
{
    bool memory =
        resource->resType == CU_RESOURCE_TYPE_LINEAR || resource->resType == CU_RESOURCE_TYPE_PITCH2D;
    return result == CUDA_ERROR_INVALID_VALUE && memory
               ? ": address and pitch must be multiples of TEXTURE_ALIGNMENT and TEXTURE_PITCH_ALIGNMENT"
               : "";
}

PyObject *texture_create(ModuleState *state, PyTypeObject *type, PyObject *source,
                         const CUDA_RESOURCE_DESC *resource, const CUDA_TEXTURE_DESC *sampling,
                         const CUDA_RESOURCE_VIEW_DESC *view, const char *reference)
{
    const char *what = reference ? "texture reference " : "the texture", *name = reference ? reference : "";
    if (check_sampling(state, source, resource, sampling, what, name) < 0) return NULL;
    PyObject *self = texture_empty(state, type, source);
    if (!self) return NULL;
    CUresult result = try_cuTexObjectCreate(state, &texture_cast(self)->handle, resource, sampling, view);
    if (result != CUDA_SUCCESS)
        raise_driver(state, result, "cuTexObjectCreate", "%s%s%s", what, name,
                     explain_refusal(result, resource));
    return owner_finish(self, result, "cuTexObjectCreate", &state->live_TextureObject);
}

PyDoc_STRVAR(texture_doc,
             "TextureObject(source, descr=None, pitch=0, address_mode=1, filter_mode=0, flags=0, "
             "border_color=(0, 0, 0, 0), max_anisotropy=0, mipmap_filter_mode=0, mipmap_level_bias=0.0, "
             "min_mipmap_level_clamp=0.0, max_mipmap_level_clamp=None, first_mipmap_level=0, "
             "last_mipmap_level=None)\n--\n\n"
             "A texture over an Array or device memory. Kernels take it as a cudaTextureObject_t.\n"
             "\nParameters\n----------\n"
             "source : Array, MipmappedArray or device address\n"
             "descr : ArrayDescriptor\n    Of device memory: one row where its height is 0.\n"
             "pitch : int\n    Bytes from row to row of device memory.\n"
             "address_mode : address_mode or sequence of it\n"
             "    One for all dimensions or for each; 1 is CLAMP.\n"
             "filter_mode : filter_mode\n    0 is POINT.\n"
             "flags : int\n    TRSF_READ_AS_INTEGER, TRSF_NORMALIZED_COORDINATES and TRSF_SRGB.\n"
             "border_color : sequence of float\n    Four numbers.\n"
             "max_anisotropy : int\n"
             "mipmap_filter_mode : filter_mode\n"
             "    Of a MipmappedArray: the nearest level, or LINEAR between two.\n"
             "mipmap_level_bias : float\n    Added to every level of detail.\n"
             "min_mipmap_level_clamp, max_mipmap_level_clamp : float\n"
             "    Bounds of the level of detail, at first those of the levels.\n"
             "first_mipmap_level, last_mipmap_level : int\n"
             "    The levels that are read; the first one is level of detail 0.\n"
             "\nRaises\n------\n"
             "LogicError\n    The driver refuses the combination.\n"
             "\nNotes\n-----\n"
             "Calls cuTexObjectCreate.");

static PyObject *texture_tp_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    ModuleState *state = state_of_type(type);
    PyObject *given[14];
    CUDA_RESOURCE_DESC resource;
    CUDA_TEXTURE_DESC sampling;
    CUDA_RESOURCE_VIEW_DESC view;
    if (convert_call(texture_doc, args, kwargs, GIVEN(given)) < 0
        || read_resource(state, given[0], given[1], given[2], &resource) < 0
        || read_sampling(given + 3, &sampling) < 0
        || read_detail(state, given[0], given + 8, &sampling, &view) < 0)
        return NULL;
    bool has_levels = given[12] || given[13]; /* first_mipmap_level, last_mipmap_level */
    return texture_create(state, type, given[0], &resource, &sampling, has_levels ? &view : NULL, NULL);
}

static PyMethodDef texture_methods[] = {
    {"free", texture_free, METH_NOARGS,
     "free($self)\n--\n\n"
     "Destroy the texture now; its memory stays. Nothing happens the second time.\n"
     "\nNotes\n-----\n"
     "Calls cuTexObjectDestroy."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef texture_members[] = {
    {"source", T_OBJECT_EX, offsetof(TextureHandleObject, source), READONLY, "What is read, kept alive."},
    {"handle", T_ULONGLONG, offsetof(TextureHandleObject, handle), READONLY, "The CUtexObject as an int."},
    {NULL, 0, 0, 0, NULL},
};

const TypeSpec TextureObject_spec = {
    TYPE_WITH_WEAK_REFERENCES("pycuda.driver.TextureObject", TextureHandleObject, 0, texture_doc),
    .tp_new = texture_tp_new,
    .tp_dealloc = texture_dealloc,
    .tp_traverse = texture_traverse,
    .nb_int = texture_int,
    .nb_index = texture_int,
    TYPE_TABLES(texture_methods, NULL, texture_members),
};

typedef struct Flag {
    const char *name;
    int value;
} Flag;

static const Flag flags[] = {
    {"TRSA_OVERRIDE_FORMAT", CU_TRSA_OVERRIDE_FORMAT},
    {"TRSF_READ_AS_INTEGER", CU_TRSF_READ_AS_INTEGER},
    {"TRSF_NORMALIZED_COORDINATES", CU_TRSF_NORMALIZED_COORDINATES},
    {"TRSF_SRGB", CU_TRSF_SRGB},
    {"TR_DEFAULT", -1},
};

int texture_setup(PyObject *module, ModuleState *Py_UNUSED(state))
{
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        if (PyModule_AddIntConstant(module, flags[i].name, flags[i].value) < 0) return -1;
    return 0;
}
