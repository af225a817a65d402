/* TextureReference: a texture<> of a module, and what is common to it and SurfaceReference. */
#include "ext/texture/reference.h"

#include "ext/base/constants.h"
#include "ext/base/errors.h"
#include "ext/base/types.h"
#include "ext/convert/convert.h"
#include "ext/texture/cuda_array.h"

/* ---- Shared with SurfaceReference ---- */

/* Takes over a reference that belongs to no module. */
PyObject *reference_wrap(ModuleState *state, PyTypeObject *type, CodeModuleObject *module,
                         Reference *reference)
{
    ReferenceObject *self = reference_cast(type->tp_alloc(type, 0));
    if (!self) {
        if (!module) reference_free(reference);
        return NULL;
    }
    self->state = state;
    self->module = (CodeModuleObject *)Py_XNewRef((PyObject *)module);
    self->reference = reference;
    return (PyObject *)self;
}

/* No tp_clear: a cycle through what it is bound to is broken elsewhere. */
int reference_traverse(PyObject *self, visitproc visit, void *arg)
{
    ReferenceObject *object = reference_cast(self);
    Py_VISIT(Py_TYPE(self));
    Py_VISIT((PyObject *)object->module);
    return object->module || !object->reference ? 0 : reference_visit(object->reference, visit, arg);
}

void reference_dealloc(PyObject *self)
{
    ReferenceObject *object = reference_cast(self);
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (object->weak_references) PyObject_ClearWeakRefs(self);
    if (!object->module && object->reference) reference_free(object->reference);
    Py_XDECREF((PyObject *)object->module);
    type->tp_free(self);
    Py_DECREF((PyObject *)type);
}

static PyObject *raise_unbound(const ReferenceObject *object, const char *routine, const char *what)
{
    return raise_driver(object->state, CUDA_ERROR_INVALID_VALUE, routine, "'%s' is not bound to %s",
                        object->reference->name, what);
}

static bool is_bound_to(const Binding *binding, CUresourcetype kind)
{
    return binding->source && binding->resource.resType == kind;
}

PyObject *reference_get_array(PyObject *self, PyObject *Py_UNUSED(none))
{
    const ReferenceObject *object = reference_cast(self);
    const Binding *binding = object->reference->binding;
    if (is_bound_to(binding, CU_RESOURCE_TYPE_ARRAY)) return Py_NewRef(binding->source);
    return raise_unbound(object, object->reference->surface ? "cuSurfRefGetArray" : "cuTexRefGetArray",
                         "an Array");
}

/* ---- What it is bound to ---- */

PyObject *texture_reference_new(CodeModuleObject *module, const char *name)
{
    Reference *reference = reference_find(module, name, false);
    return reference ? reference_wrap(module->state, module->state->TextureReference_type, module, reference)
                     : NULL;
}

PyDoc_STRVAR(texture_reference_doc,
             "TextureReference()\n--\n\n"
             "What a ``texture<>`` variable of a module reads; made by Module.get_texref.\n\n"
             "Launches of the module's kernels read what it is bound to when they are made. One made\n"
             "by this constructor belongs to no module.");

static PyObject *texture_reference_tp_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    if (convert_call(texture_reference_doc, args, kwargs, NOTHING_GIVEN) < 0) return NULL;
    Reference *reference = reference_new("", false);
    return reference ? reference_wrap(state_of_type(type), type, NULL, reference) : NULL;
}

PyDoc_STRVAR(set_array_doc, "set_array($self, array)\n--\n\n"
                            "Bind it to an Array, which stays alive while it is bound.\n"
                            "\nParameters\n----------\n"
                            "array : Array\n    Its format is taken.\n"
                            "\nRaises\n------\n"
                            "LogicError\n    The Array has other dimensions than the ``texture<>``.\n"
                            "\nNotes\n-----\n"
                            "Calls cuTexRefSetArray.");

static PyObject *set_array(PyObject *self, PyObject *array)
{
    return none_unless(reference_set_array(reference_cast(self), array) < 0);
}
ARGUMENT_BY_NAME(set_array, set_array_doc)

PyDoc_STRVAR(set_mipmapped_array_doc, "set_mipmapped_array($self, mipmapped_array)\n--\n\n"
                                      "Bind it to a MipmappedArray, which stays alive while it is bound.\n"
                                      "\nParameters\n----------\n"
                                      "mipmapped_array : MipmappedArray\n    Its format is taken.\n"
                                      "\nRaises\n------\n"
                                      "LogicError\n    It has other dimensions than the ``texture<>``.\n"
                                      "\nNotes\n-----\n"
                                      "Calls cuTexRefSetMipmappedArray.");

static PyObject *set_mipmapped_array(PyObject *self, PyObject *array)
{
    return none_unless(reference_set_mipmapped_array(reference_cast(self), array) < 0);
}
ARGUMENT_BY_NAME(set_mipmapped_array, set_mipmapped_array_doc)

static PyObject *get_mipmapped_array(PyObject *self, PyObject *Py_UNUSED(none))
{
    const ReferenceObject *object = reference_cast(self);
    const Binding *binding = object->reference->binding;
    if (is_bound_to(binding, CU_RESOURCE_TYPE_MIPMAPPED_ARRAY)) return Py_NewRef(binding->source);
    return raise_unbound(object, "cuTexRefGetMipmappedArray", "a MipmappedArray");
}

PyDoc_STRVAR(set_address_doc,
             "set_address($self, devptr, bytes, allow_offset=False)\n--\n\n"
             "Bind it to linear memory, which kernels read with tex1Dfetch.\n\n"
             "The format is that of set_format, at first that of the ``texture<>``.\n"
             "\nParameters\n----------\n"
             "devptr : device address\n    An object stays alive while it is bound.\n"
             "bytes : int\n"
             "allow_offset : bool\n    Take an address that is not a multiple of TEXTURE_ALIGNMENT.\n"
             "\nReturns\n-------\n"
             "int\n"
             "    Bytes from the multiple of TEXTURE_ALIGNMENT before devptr, to be added in the\n"
             "    kernel.\n"
             "\nRaises\n------\n"
             "LogicError\n    That is not 0 and allow_offset is false.\n"
             "\nNotes\n-----\n"
             "Calls cuTexRefSetAddress.");

static PyObject *set_address(PyObject *self, FAST_PARAMETERS)
{
    PyObject *given[3];
    size_t bytes = 0, offset = 0;
    int allow_offset = 0;
    if (convert_arguments(set_address_doc, args, arg_count, keywords, GIVEN(given)) < 0
        || convert_size(given[1], "bytes", &bytes) < 0
        || (given[2] && (allow_offset = PyObject_IsTrue(given[2])) < 0)
        || reference_set_linear(reference_cast(self), given[0], bytes, allow_offset, &offset) < 0)
        return NULL;
    return PyLong_FromSize_t(offset);
}

PyDoc_STRVAR(set_address_2d_doc, "set_address_2d($self, devptr, descr, pitch)\n--\n\n"
                                 "Bind it to rows of device memory.\n"
                                 "\nParameters\n----------\n"
                                 "devptr : device address\n"
                                 "descr : ArrayDescriptor\n"
                                 "pitch : int\n    Bytes from row to row.\n"
                                 "\nRaises\n------\n"
                                 "LogicError\n    The address or the pitch is not aligned.\n"
                                 "\nNotes\n-----\n"
                                 "Calls cuTexRefSetAddress2D.");

static PyObject *set_address_2d(PyObject *self, FAST_PARAMETERS)
{
    PyObject *given[3];
    size_t pitch = 0;
    if (convert_arguments(set_address_2d_doc, args, arg_count, keywords, GIVEN(given)) < 0
        || convert_size(given[2], "pitch", &pitch) < 0
        || reference_set_pitched(reference_cast(self), given[0], given[1], pitch) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *get_address(PyObject *self, PyObject *Py_UNUSED(none))
{
    const ReferenceObject *object = reference_cast(self);
    const Binding *binding = object->reference->binding;
    if (is_bound_to(binding, CU_RESOURCE_TYPE_LINEAR))
        return PyLong_FromUnsignedLongLong(binding->resource.res.linear.devPtr);
    if (is_bound_to(binding, CU_RESOURCE_TYPE_PITCH2D))
        return PyLong_FromUnsignedLongLong(binding->resource.res.pitch2D.devPtr);
    return raise_unbound(object, "cuTexRefGetAddress", "memory");
}

/* ---- How it is read ---- */

/* Puts a setting into a new binding: `field` is a member of Binding. */
#define SET(reference, field, value) \
    do { \
        Binding *binding_ = binding_copy(reference); \
        if (!binding_) return NULL; \
        binding_->field = (value); \
        binding_put(reference, binding_, NULL); \
    } while (0)

static PyObject *refuse(PyObject *self, const char *routine, const char *why)
{
    return raise_driver(reference_cast(self)->state, CUDA_ERROR_INVALID_VALUE, routine, "%s", why);
}

PyDoc_STRVAR(set_format_doc, "set_format($self, fmt, num_components)\n--\n\n"
                             "Set the format of linear memory.\n"
                             "\nParameters\n----------\n"
                             "fmt : array_format\n"
                             "num_components : {1, 2, 4}\n    Channels.\n"
                             "\nNotes\n-----\n"
                             "Calls cuTexRefSetFormat.");

static PyObject *set_format(PyObject *self, FAST_PARAMETERS)
{
    Reference *reference = reference_cast(self)->reference;
    PyObject *given[2];
    unsigned format, channels;
    if (convert_arguments(set_format_doc, args, arg_count, keywords, GIVEN(given)) < 0
        || convert_unsigned(given[0], "fmt", &format) < 0
        || convert_unsigned(given[1], "num_components", &channels) < 0)
        return NULL;
    if (!cuda_array_element_size(format, 1))
        return refuse(self, "cuTexRefSetFormat", "fmt must be an array_format");
    if (channels != 1 && channels != 2 && channels != 4)
        return refuse(self, "cuTexRefSetFormat", "num_components must be 1, 2 or 4");
    const Binding *now = reference->binding;
    bool same = format == now->format && channels == now->channels;
    if (!same && now->source && now->resource.resType != CU_RESOURCE_TYPE_LINEAR)
        return refuse(self, "cuTexRefSetFormat",
                      "the format of an Array or 2D memory is that of its descriptor");
    Binding *binding = binding_copy(reference);
    if (!binding) return NULL;
    binding->format = format;
    binding->channels = channels;
    binding_put(reference, binding, NULL);
    Py_RETURN_NONE;
}

static int read_axis(PyObject *self, PyObject *value, const char *routine, int *out)
{
    if (convert_int(value, "dim", out) < 0) return -1;
    if (*out >= 0 && *out < 3) return 0;
    refuse(self, routine, "dim must be 0, 1 or 2");
    return -1;
}

PyDoc_STRVAR(set_address_mode_doc, "set_address_mode($self, dim, am)\n--\n\n"
                                   "Set how coordinates outside are treated.\n"
                                   "\nParameters\n----------\n"
                                   "dim : {0, 1, 2}\n"
                                   "am : address_mode\n"
                                   "\nNotes\n-----\n"
                                   "Calls cuTexRefSetAddressMode.");

static PyObject *set_address_mode(PyObject *self, FAST_PARAMETERS)
{
    Reference *reference = reference_cast(self)->reference;
    PyObject *given[2];
    unsigned mode;
    int axis;
    if (convert_arguments(set_address_mode_doc, args, arg_count, keywords, GIVEN(given)) < 0
        || read_axis(self, given[0], "cuTexRefSetAddressMode", &axis) < 0
        || convert_unsigned(given[1], "am", &mode) < 0)
        return NULL;
    if (mode > CU_TR_ADDRESS_MODE_BORDER)
        return refuse(self, "cuTexRefSetAddressMode", "am must be an address_mode");
    SET(reference, sampling.addressMode[axis], mode);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(set_filter_mode_doc, "set_filter_mode($self, fm)\n--\n\n"
                                  "Set the filter.\n"
                                  "\nParameters\n----------\n"
                                  "fm : filter_mode\n"
                                  "\nNotes\n-----\n"
                                  "Calls cuTexRefSetFilterMode.");

static int read_filter(PyObject *self, PyObject *value, const char *routine, unsigned *out)
{
    if (convert_unsigned(value, "fm", out) < 0) return -1;
    if (*out <= CU_TR_FILTER_MODE_LINEAR) return 0;
    refuse(self, routine, "fm must be a filter_mode");
    return -1;
}

static PyObject *set_filter_mode(PyObject *self, PyObject *value)
{
    unsigned mode;
    if (read_filter(self, value, "cuTexRefSetFilterMode", &mode) < 0) return NULL;
    SET(reference_cast(self)->reference, sampling.filterMode, mode);
    Py_RETURN_NONE;
}
ARGUMENT_BY_NAME(set_filter_mode, set_filter_mode_doc)

PyDoc_STRVAR(set_mipmap_filter_mode_doc,
             "set_mipmap_filter_mode($self, fm)\n--\n\n"
             "Set whether levels of a MipmappedArray are blended.\n"
             "\nParameters\n----------\n"
             "fm : filter_mode\n    POINT: the nearest level; LINEAR: between two.\n"
             "\nNotes\n-----\n"
             "Calls cuTexRefSetMipmapFilterMode.");

static PyObject *set_mipmap_filter_mode(PyObject *self, PyObject *value)
{
    unsigned mode;
    if (read_filter(self, value, "cuTexRefSetMipmapFilterMode", &mode) < 0) return NULL;
    SET(reference_cast(self)->reference, sampling.mipmapFilterMode, mode);
    Py_RETURN_NONE;
}
ARGUMENT_BY_NAME(set_mipmap_filter_mode, set_mipmap_filter_mode_doc)

PyDoc_STRVAR(set_mipmap_level_bias_doc, "set_mipmap_level_bias($self, bias)\n--\n\n"
                                        "Set what is added to every level of detail.\n"
                                        "\nParameters\n----------\n"
                                        "bias : float\n"
                                        "\nNotes\n-----\n"
                                        "Calls cuTexRefSetMipmapLevelBias.");

static PyObject *set_mipmap_level_bias(PyObject *self, PyObject *value)
{
    double bias = PyFloat_AsDouble(value);
    if (PyErr_Occurred()) return NULL;
    SET(reference_cast(self)->reference, sampling.mipmapLevelBias, (float)bias);
    Py_RETURN_NONE;
}
ARGUMENT_BY_NAME(set_mipmap_level_bias, set_mipmap_level_bias_doc)

PyDoc_STRVAR(set_mipmap_level_clamp_doc,
             "set_mipmap_level_clamp($self, minimum, maximum)\n--\n\n"
             "Set the bounds of the level of detail, at first those of the levels.\n"
             "\nParameters\n----------\n"
             "minimum, maximum : float\n"
             "\nNotes\n-----\n"
             "Calls cuTexRefSetMipmapLevelClamp.");

static PyObject *set_mipmap_level_clamp(PyObject *self, FAST_PARAMETERS)
{
    Reference *reference = reference_cast(self)->reference;
    PyObject *given[2];
    if (convert_arguments(set_mipmap_level_clamp_doc, args, arg_count, keywords, GIVEN(given)) < 0)
        return NULL;
    double least = PyFloat_AsDouble(given[0]), most = PyErr_Occurred() ? 0 : PyFloat_AsDouble(given[1]);
    if (PyErr_Occurred()) return NULL;
    Binding *binding = binding_copy(reference);
    if (!binding) return NULL;
    binding->sampling.minMipmapLevelClamp = (float)least;
    binding->sampling.maxMipmapLevelClamp = (float)most;
    binding_put(reference, binding, NULL);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(set_flags_doc,
             "set_flags($self, flags)\n--\n\n"
             "Set the flags.\n"
             "\nParameters\n----------\n"
             "flags : int\n"
             "    TRSF_NORMALIZED_COORDINATES, TRSF_SRGB and TRSF_READ_AS_INTEGER, combined with\n"
             "    ``|``. How a ``texture<>`` of integers is read, its declaration decides.\n"
             "\nNotes\n-----\n"
             "Calls cuTexRefSetFlags.");

static PyObject *set_flags(PyObject *self, PyObject *value)
{
    enum { KNOWN = CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_SRGB };
    unsigned flags;
    if (convert_unsigned(value, "flags", &flags) < 0) return NULL;
    if (flags & ~(unsigned)KNOWN)
        return refuse(self, "cuTexRefSetFlags", "flags must be a combination of TRSF_ values");
    SET(reference_cast(self)->reference, sampling.flags, flags);
    Py_RETURN_NONE;
}
ARGUMENT_BY_NAME(set_flags, set_flags_doc)

PyDoc_STRVAR(get_address_mode_doc, "get_address_mode($self, dim)\n--\n\n"
                                   "How coordinates outside are treated.\n"
                                   "\nParameters\n----------\n"
                                   "dim : {0, 1, 2}\n"
                                   "\nReturns\n-------\n"
                                   "address_mode\n"
                                   "\nNotes\n-----\n"
                                   "Calls cuTexRefGetAddressMode.");

static PyObject *get_address_mode(PyObject *self, PyObject *dim)
{
    const ReferenceObject *object = reference_cast(self);
    int axis;
    if (read_axis(self, dim, "cuTexRefGetAddressMode", &axis) < 0) return NULL;
    return constants_member(object->state, object->state->address_mode,
                            (long)object->reference->binding->sampling.addressMode[axis]);
}
ARGUMENT_BY_NAME(get_address_mode, get_address_mode_doc)

static PyObject *get_filter_mode(PyObject *self, PyObject *Py_UNUSED(none))
{
    const ReferenceObject *object = reference_cast(self);
    return constants_member(object->state, object->state->filter_mode,
                            (long)object->reference->binding->sampling.filterMode);
}

static PyObject *get_format(PyObject *self, PyObject *Py_UNUSED(none))
{
    const ReferenceObject *object = reference_cast(self);
    unsigned channels = object->reference->binding->channels;
    PyObject *format = constants_member(object->state, object->state->array_format,
                                        (long)object->reference->binding->format);
    return format ? Py_BuildValue("(NI)", format, channels) : NULL;
}

static PyObject *get_flags(PyObject *self, PyObject *Py_UNUSED(none))
{
    return PyLong_FromUnsignedLong(reference_cast(self)->reference->binding->sampling.flags);
}

static PyObject *get_mipmap_filter_mode(PyObject *self, PyObject *Py_UNUSED(none))
{
    const ReferenceObject *object = reference_cast(self);
    return constants_member(object->state, object->state->filter_mode,
                            (long)object->reference->binding->sampling.mipmapFilterMode);
}

static PyObject *get_mipmap_level_bias(PyObject *self, PyObject *Py_UNUSED(none))
{
    return PyFloat_FromDouble((double)reference_cast(self)->reference->binding->sampling.mipmapLevelBias);
}

static PyObject *get_mipmap_level_clamp(PyObject *self, PyObject *Py_UNUSED(none))
{
    const CUDA_TEXTURE_DESC *sampling = &reference_cast(self)->reference->binding->sampling;
    return Py_BuildValue("(dd)", (double)sampling->minMipmapLevelClamp,
                         (double)sampling->maxMipmapLevelClamp);
}

/* ---- The class ---- */

static PyMethodDef texture_reference_methods[] = {
    {"set_array", AS_METHOD(set_array_named), FAST_KEYWORDS, set_array_doc},
    {"set_mipmapped_array", AS_METHOD(set_mipmapped_array_named), FAST_KEYWORDS, set_mipmapped_array_doc},
    {"set_address", AS_METHOD(set_address), FAST_KEYWORDS, set_address_doc},
    {"set_address_2d", AS_METHOD(set_address_2d), FAST_KEYWORDS, set_address_2d_doc},
    {"set_format", AS_METHOD(set_format), FAST_KEYWORDS, set_format_doc},
    {"set_address_mode", AS_METHOD(set_address_mode), FAST_KEYWORDS, set_address_mode_doc},
    {"set_filter_mode", AS_METHOD(set_filter_mode_named), FAST_KEYWORDS, set_filter_mode_doc},
    {"set_mipmap_filter_mode", AS_METHOD(set_mipmap_filter_mode_named), FAST_KEYWORDS,
     set_mipmap_filter_mode_doc},
    {"set_mipmap_level_bias", AS_METHOD(set_mipmap_level_bias_named), FAST_KEYWORDS,
     set_mipmap_level_bias_doc},
    {"set_mipmap_level_clamp", AS_METHOD(set_mipmap_level_clamp), FAST_KEYWORDS, set_mipmap_level_clamp_doc},
    {"set_flags", AS_METHOD(set_flags_named), FAST_KEYWORDS, set_flags_doc},
    {"get_array", reference_get_array, METH_NOARGS,
     "get_array($self)\n--\n\n"
     "The Array that it is bound to.\n"
     "\nReturns\n-------\n"
     "Array\n"
     "\nRaises\n------\n"
     "LogicError\n    It is not bound to one.\n"
     "\nNotes\n-----\n"
     "Calls cuTexRefGetArray."},
    {"get_mipmapped_array", get_mipmapped_array, METH_NOARGS,
     "get_mipmapped_array($self)\n--\n\n"
     "The MipmappedArray that it is bound to.\n"
     "\nReturns\n-------\n"
     "MipmappedArray\n"
     "\nRaises\n------\n"
     "LogicError\n    It is not bound to one.\n"
     "\nNotes\n-----\n"
     "Calls cuTexRefGetMipmappedArray."},
    {"get_address", get_address, METH_NOARGS,
     "get_address($self)\n--\n\n"
     "The address at which the texture begins.\n"
     "\nReturns\n-------\n"
     "int\n"
     "\nRaises\n------\n"
     "LogicError\n    It is bound to no memory.\n"
     "\nNotes\n-----\n"
     "Calls cuTexRefGetAddress."},
    {"get_address_mode", AS_METHOD(get_address_mode_named), FAST_KEYWORDS, get_address_mode_doc},
    {"get_filter_mode", get_filter_mode, METH_NOARGS,
     "get_filter_mode($self)\n--\n\n"
     "The filter.\n"
     "\nReturns\n-------\n"
     "filter_mode\n"
     "\nNotes\n-----\n"
     "Calls cuTexRefGetFilterMode."},
    {"get_mipmap_filter_mode", get_mipmap_filter_mode, METH_NOARGS,
     "get_mipmap_filter_mode($self)\n--\n\n"
     "Whether levels are blended.\n"
     "\nReturns\n-------\n"
     "filter_mode\n"
     "\nNotes\n-----\n"
     "Calls cuTexRefGetMipmapFilterMode."},
    {"get_mipmap_level_bias", get_mipmap_level_bias, METH_NOARGS,
     "get_mipmap_level_bias($self)\n--\n\n"
     "What is added to every level of detail.\n"
     "\nReturns\n-------\n"
     "float\n"
     "\nNotes\n-----\n"
     "Calls cuTexRefGetMipmapLevelBias."},
    {"get_mipmap_level_clamp", get_mipmap_level_clamp, METH_NOARGS,
     "get_mipmap_level_clamp($self)\n--\n\n"
     "The bounds of the level of detail, infinite where none was set.\n"
     "\nReturns\n-------\n"
     "(minimum, maximum) : tuple\n"
     "\nNotes\n-----\n"
     "Calls cuTexRefGetMipmapLevelClamp."},
    {"get_format", get_format, METH_NOARGS,
     "get_format($self)\n--\n\n"
     "The format of linear memory.\n"
     "\nReturns\n-------\n"
     "(array_format, channels) : tuple\n"
     "\nNotes\n-----\n"
     "Calls cuTexRefGetFormat."},
    {"get_flags", get_flags, METH_NOARGS,
     "get_flags($self)\n--\n\n"
     "The flags.\n"
     "\nReturns\n-------\n"
     "int\n    ``TRSF_`` values combined with ``|``.\n"
     "\nNotes\n-----\n"
     "Calls cuTexRefGetFlags."},
    {NULL, NULL, 0, NULL},
};

static const TypeSpec texture_reference_spec = {
    .tp_name = "pycuda.driver.TextureReference",
    .tp_doc = texture_reference_doc,
    .tp_basicsize = sizeof(ReferenceObject),
    .tp_weaklistoffset = offsetof(ReferenceObject, weak_references),
    .tp_new = texture_reference_tp_new,
    .tp_dealloc = reference_dealloc,
    .tp_traverse = reference_traverse,
    .tp_methods = texture_reference_methods,
};

int texture_reference_setup(PyObject *module, ModuleState *state)
{
    return type_add(module, &state->TextureReference_type, &texture_reference_spec, NULL);
}
