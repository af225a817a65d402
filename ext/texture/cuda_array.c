/* Array, the memory that textures and surfaces read, and the two classes that describe one. */
#include "ext/texture/cuda_array.h"

#include "ext/base/constants.h"
#include "ext/base/driver_calls.h"
#include "ext/base/types.h"
#include "ext/convert/convert.h"
#include "ext/memory/device_memory.h"

size_t cuda_array_element_size(CUarray_format format, unsigned channels)
{
    switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8: return channels;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF: return 2 * (size_t)channels;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT: return 4 * (size_t)channels;
    default: return 0;
    }
}

/* ---- Descriptions ---- */

static ArrayDescriptorObject *new_descriptor(ModuleState *state, PyTypeObject *type)
{
    ArrayDescriptorObject *descriptor = cuda_array_descriptor_cast(type->tp_alloc(type, 0));
    if (descriptor) descriptor->state = state;
    return descriptor;
}

PyDoc_STRVAR(descriptor_doc,
             "ArrayDescriptor()\n--\n\n"
             "The shape and format of an Array of one or two dimensions. All fields are 0 at first\n"
             "and can be set.");

PyDoc_STRVAR(descriptor_3d_doc,
             "ArrayDescriptor3D()\n--\n\n"
             "The shape, format and flags of any Array. All fields are 0 at first and can be set.");

static PyObject *descriptor_tp_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    ModuleState *state = state_of_type(type);
    bool deep = PyType_IsSubtype(type, state->ArrayDescriptor3D_type);
    if (convert_call(deep ? descriptor_3d_doc : descriptor_doc, args, kwargs, NOTHING_GIVEN) < 0) return NULL;
    return (PyObject *)new_descriptor(state, type);
}

typedef enum FieldKind { FIELD_SIZE, FIELD_UNSIGNED, FIELD_FORMAT } FieldKind;

enum { WIDTH, HEIGHT, DEPTH, FORMAT, CHANNELS, FLAGS };

typedef struct DescriptorField {
    const char *name;
    size_t offset;          /* in CUDA_ARRAY3D_DESCRIPTOR */
    FieldKind kind;
} DescriptorField;

#define FIELD(name, member, kind) {name, offsetof(CUDA_ARRAY3D_DESCRIPTOR, member), kind}
static DescriptorField descriptor_fields[] = {
    [WIDTH] = FIELD("width", Width, FIELD_SIZE),
    [HEIGHT] = FIELD("height", Height, FIELD_SIZE),
    [DEPTH] = FIELD("depth", Depth, FIELD_SIZE),
    [FORMAT] = FIELD("format", Format, FIELD_FORMAT),
    [CHANNELS] = FIELD("num_channels", NumChannels, FIELD_UNSIGNED),
    [FLAGS] = FIELD("flags", Flags, FIELD_UNSIGNED),
};
#undef FIELD

static PyObject *field_get(PyObject *self, void *closure)
{
    const DescriptorField *field = closure;
    ModuleState *state = cuda_array_descriptor_cast(self)->state;
    const char *where = (const char *)&cuda_array_descriptor_cast(self)->value + field->offset;
    if (field->kind == FIELD_SIZE) return PyLong_FromSize_t(*(const size_t *)(const void *)where);
    unsigned value = *(const unsigned *)(const void *)where;
    return field->kind == FIELD_FORMAT ? constants_member(state, state->array_format, (long)value)
                                       : PyLong_FromUnsignedLong(value);
}

static int field_set(PyObject *self, PyObject *value, void *closure)
{
    const DescriptorField *field = closure;
    char *where = (char *)&cuda_array_descriptor_cast(self)->value + field->offset;
    if (!value) {
        PyErr_Format(PyExc_AttributeError, "%s cannot be deleted", field->name);
        return -1;
    }
    return field->kind == FIELD_SIZE ? convert_size(value, field->name, (size_t *)(void *)where)
                                     : convert_unsigned(value, field->name, (unsigned *)(void *)where);
}

static PyObject *descriptor_repr(PyObject *self)
{
    const CUDA_ARRAY3D_DESCRIPTOR *value = &cuda_array_descriptor_cast(self)->value;
    PyObject *format = field_get(self, &descriptor_fields[FORMAT]);
    PyObject *text =
        !format ? NULL
                : PyUnicode_FromFormat("<%s: %zu x %zu x %zu of %u %S>", Py_TYPE(self)->tp_name, value->Width,
                                       value->Height, value->Depth, value->NumChannels, format);
    Py_XDECREF(format);
    return text;
}

#define ROW(name, index, doc) {name, field_get, field_set, doc, &descriptor_fields[index]}
static PyGetSetDef descriptor_properties[] = {
    ROW("width", WIDTH, "Elements in a row."),
    ROW("height", HEIGHT, "Rows; 0 in an array of one dimension."),
    ROW("format", FORMAT, "The type of a channel, an array_format."),
    ROW("num_channels", CHANNELS, "Numbers in an element: 1, 2 or 4."),
    {NULL, NULL, NULL, NULL, NULL},
};

static PyGetSetDef descriptor_3d_properties[] = {
    ROW("width", WIDTH, "Elements in a row."),
    ROW("height", HEIGHT, "Rows in a plane; 0 in an array of one dimension."),
    ROW("depth", DEPTH, "Planes, or layers of a layered array; 0 in an array of one or two dimensions."),
    ROW("format", FORMAT, "The type of a channel, an array_format."),
    ROW("num_channels", CHANNELS, "Numbers in an element: 1, 2 or 4."),
    ROW("flags", FLAGS, "Values of array3d_flags, combined by bitwise or."),
    {NULL, NULL, NULL, NULL, NULL},
};
#undef ROW

const TypeSpec ArrayDescriptor_spec = {
    TYPE_OF("pycuda.driver.ArrayDescriptor", ArrayDescriptorObject, Py_TPFLAGS_BASETYPE, descriptor_doc),
    .tp_new = descriptor_tp_new,
    .tp_repr = descriptor_repr,
    TYPE_TABLES(NULL, descriptor_properties, NULL),
};

const TypeSpec ArrayDescriptor3D_spec = {
    TYPE_OF("pycuda.driver.ArrayDescriptor3D", ArrayDescriptorObject, Py_TPFLAGS_BASETYPE, descriptor_3d_doc),
    .tp_new = descriptor_tp_new,
    .tp_repr = descriptor_repr,
    TYPE_TABLES(NULL, descriptor_3d_properties, NULL),
};

/* ---- Array ---- */

int cuda_array_handle(ModuleState *state, PyObject *value, const char *what, CUarray *out)
{
    if (!convert_check_type(value, state->Array_type, what)) return -1;
    const CudaArrayObject *array = cuda_array_cast(value);
    *out = array->handle;
    if (atomic_load(&array->freed))
        raise_logic(state, "%s: the Array was freed", what);
    else if (array->over && atomic_load(array->over))
        raise_logic(state,
                    Py_TYPE(array->owner) == state->MipmappedArray_type
                        ? "%s: the MipmappedArray that the Array is a level of was freed"
                        : "%s: the Array was valid until its graphics resource was unmapped",
                    what);
    else
        return context_check(array->context, what) ? 0 : -1;
    return -1;
}

bool cuda_array_is_over(const CudaArrayObject *array)
{
    return atomic_load(&array->freed) || (array->over && atomic_load(array->over));
}

static CUresult create_array(ModuleState *state, const CUDA_ARRAY3D_DESCRIPTOR *shape, bool deep,
                             CUarray *out)
{
    CUDA_ARRAY_DESCRIPTOR flat = {shape->Width, shape->Height, shape->Format, shape->NumChannels};
    CUresult result;
    if (deep)
        result = try_cuArray3DCreate(state, out, shape);
    else
        result = try_cuArrayCreate(state, out, &flat);
    return result;
}

int cuda_array_read_descriptor(ModuleState *state, PyObject *value, CUDA_ARRAY3D_DESCRIPTOR *out)
{
    if (PyObject_TypeCheck(value, state->ArrayDescriptor_type)
        || PyObject_TypeCheck(value, state->ArrayDescriptor3D_type)) {
        *out = cuda_array_descriptor_cast(value)->value;
        return 0;
    }
    PyErr_Format(PyExc_TypeError, "descriptor must be an ArrayDescriptor or ArrayDescriptor3D, not %s",
                 Py_TYPE(value)->tp_name);
    return -1;
}

PyObject *cuda_array_descriptor(ModuleState *state, const CUDA_ARRAY3D_DESCRIPTOR *shape)
{
    ArrayDescriptorObject *descriptor = new_descriptor(state, state->ArrayDescriptor3D_type);
    if (descriptor) descriptor->value = *shape;
    return (PyObject *)descriptor;
}

static PyObject *raise_create(ModuleState *state, CUresult result, const CUDA_ARRAY3D_DESCRIPTOR *shape,
                              bool deep)
{
    return raise_driver(state, result, deep ? "cuArray3DCreate" : "cuArrayCreate",
                        "width %zu, height %zu, depth %zu, format %u, %u channels, flags 0x%x", shape->Width,
                        shape->Height, shape->Depth, shape->Format, shape->NumChannels, shape->Flags);
}

PyDoc_STRVAR(cuda_array_doc,
             "Array(descriptor)\n--\n\n"
             "Memory of one to three dimensions in the layout of textures, in the current context.\n\n"
             "It is filled and read with Memcpy2D, Memcpy3D and the memcpy functions that have an\n"
             "\"a\" in their name, and by kernels through textures and surfaces.\n"
             "\nParameters\n----------\n"
             "descriptor : ArrayDescriptor or ArrayDescriptor3D\n"
             "\nRaises\n------\n"
             "LogicError\n    The driver refuses the description.\n"
             "MemoryError\n    There is too little memory.\n"
             "\nNotes\n-----\n"
             "Calls cuArrayCreate, cuArray3DCreate.");

static PyObject *cuda_array_tp_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    ModuleState *state = state_of_type(type);
    PyObject *descriptor;
    CUDA_ARRAY3D_DESCRIPTOR shape;
    if (READ_CALL(cuda_array_doc, INTO(&descriptor)) < 0
        || cuda_array_read_descriptor(state, descriptor, &shape) < 0)
        return NULL;
    bool deep = PyObject_TypeCheck(descriptor, state->ArrayDescriptor3D_type);
    PyObject *self = owner_new(state, type);
    if (!self) return NULL;
    CUarray *handle = &cuda_array_cast(self)->handle;
    CUresult result;
    ALLOCATE(state, result, create_array(state, &shape, deep, handle));
    if (result != CUDA_SUCCESS) raise_create(state, result, &shape, deep);
    return owner_finish(self, result, "cuArrayCreate", &state->live_Array);
}

PyObject *cuda_array_lent(ContextObject *context, CUarray handle, PyObject *owner, const atomic_bool *over)
{
    PyObject *self = owner_new_in(context, context->state->Array_type);
    if (!self) return NULL;
    CudaArrayObject *array = cuda_array_cast(self);
    array->handle = handle;
    array->owner = Py_NewRef(owner);
    array->over = over;
    atomic_store(&array->freed, false);
    return self;
}

static void destroy_array(PyObject *self)
{
    CudaArrayObject *array = cuda_array_cast(self);
    if (array->owner) return;
    LIVE_LESS(array->state, Array);
    RELEASE_IN_CONTEXT(array->context, end, cuArrayDestroy, array->handle);
}

static void cuda_array_dealloc(PyObject *self)
{
    if (!owner_dealloc_begin(self, cuda_array_dealloc, destroy_array)) return;
    Py_XDECREF(cuda_array_cast(self)->owner);
    owner_dealloc_end(self);
}

PyDoc_STRVAR(free_doc,
             "free($self)\n--\n\n"
             "Free the memory now and not with the last reference; nothing happens the second time.\n"
             "\nNotes\n-----\n"
             "Calls cuArrayDestroy.");

static PyObject *cuda_array_free(PyObject *self, PyObject *Py_UNUSED(none))
{
    owner_release(self, destroy_array);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(get_descriptor_doc, "get_descriptor($self)\n--\n\n"
                                 "Read width, height, format and channels.\n"
                                 "\nReturns\n-------\n"
                                 "ArrayDescriptor\n"
                                 "\nRaises\n------\n"
                                 "LogicError\n    It was freed.\n"
                                 "\nNotes\n-----\n"
                                 "Calls cuArrayGetDescriptor.");

static PyObject *cuda_array_get_descriptor(PyObject *self, PyObject *Py_UNUSED(none))
{
    ModuleState *state = cuda_array_cast(self)->state;
    CUDA_ARRAY_DESCRIPTOR flat;
    CUarray handle;
    if (cuda_array_handle(state, self, "get_descriptor", &handle) < 0) return NULL;
    if (gpu_cuArrayGetDescriptor(state, &flat, handle) < 0) return NULL;
    ArrayDescriptorObject *descriptor = new_descriptor(state, state->ArrayDescriptor_type);
    if (descriptor)
        descriptor->value =
            (CUDA_ARRAY3D_DESCRIPTOR){flat.Width, flat.Height, 0, flat.Format, flat.NumChannels, 0};
    return (PyObject *)descriptor;
}

int cuda_array_describe(ModuleState *state, CUarray handle, CUDA_ARRAY3D_DESCRIPTOR *out)
{
    return gpu_cuArray3DGetDescriptor(state, out, handle);
}

PyDoc_STRVAR(get_descriptor_3d_doc, "get_descriptor_3d($self)\n--\n\n"
                                    "Read shape, format, channels and flags.\n"
                                    "\nReturns\n-------\n"
                                    "ArrayDescriptor3D\n"
                                    "\nRaises\n------\n"
                                    "LogicError\n    It was freed.\n"
                                    "\nNotes\n-----\n"
                                    "Calls cuArray3DGetDescriptor.");

static PyObject *cuda_array_get_descriptor_3d(PyObject *self, PyObject *Py_UNUSED(none))
{
    ModuleState *state = cuda_array_cast(self)->state;
    CUDA_ARRAY3D_DESCRIPTOR value;
    CUarray handle;
    if (cuda_array_handle(state, self, "get_descriptor_3d", &handle) < 0
        || cuda_array_describe(state, handle, &value) < 0)
        return NULL;
    return cuda_array_descriptor(state, &value);
}

static PyObject *cuda_array_compare(PyObject *self, PyObject *other, int operation)
{
    if ((operation != Py_EQ && operation != Py_NE)
        || !PyObject_TypeCheck(other, cuda_array_cast(self)->state->Array_type))
        Py_RETURN_NOTIMPLEMENTED;
    bool same = cuda_array_cast(self)->handle == cuda_array_cast(other)->handle;
    return PyBool_FromLong(same == (operation == Py_EQ));
}

static Py_hash_t cuda_array_hash(PyObject *self)
{
    return (Py_hash_t)((uintptr_t)cuda_array_cast(self)->handle >> 4);
}

static PyMethodDef cuda_array_methods[] = {
    {"free", cuda_array_free, METH_NOARGS, free_doc},
    {"get_descriptor", cuda_array_get_descriptor, METH_NOARGS, get_descriptor_doc},
    {"get_descriptor_3d", cuda_array_get_descriptor_3d, METH_NOARGS, get_descriptor_3d_doc},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef cuda_array_members[] = {
    {"handle", T_ULONGLONG, offsetof(CudaArrayObject, handle), READONLY, "The CUarray as an int."},
    {NULL, 0, 0, 0, NULL},
};

const TypeSpec Array_spec = {
    TYPE_WITH_WEAK_REFERENCES("pycuda.driver.Array", CudaArrayObject, Py_TPFLAGS_BASETYPE, cuda_array_doc),
    .tp_new = cuda_array_tp_new,
    .tp_dealloc = cuda_array_dealloc,
    .tp_hash = cuda_array_hash,
    .tp_richcompare = cuda_array_compare,
    TYPE_TABLES(cuda_array_methods, NULL, cuda_array_members),
};
