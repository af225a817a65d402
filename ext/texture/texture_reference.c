/* TextureReference: a texture<> of a module, and what is common to it and SurfaceReference. */
#include "ext/texture/reference.h"

#include "ext/texture/cuda_array.h"
#include "ext/constants.h"
#include "ext/convert/convert.h"
#include "ext/errors.h"

/* ---- Shared with SurfaceReference ---- */

/* Takes over a reference that belongs to no module. */
PyObject *reference_wrap(ModuleState *state, PyTypeObject *type, CodeModuleObject *module, Reference *reference)
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

static bool is_bound_to(const Binding *binding, CUresourcetype kind)
{
    return binding->source && binding->resource.resType == kind;
}

PyObject *reference_get_array(PyObject *self, PyObject *Py_UNUSED(none))
{
    const ReferenceObject *object = reference_cast(self);
    const Binding *binding = object->reference->binding;
    if (is_bound_to(binding, CU_RESOURCE_TYPE_ARRAY)) return Py_NewRef(binding->source);
    return raise_driver(object->state, CUDA_ERROR_INVALID_VALUE,
                        object->reference->surface ? "cuSurfRefGetArray" : "cuTexRefGetArray",
                        "'%s' is bound to no Array", object->reference->name);
}

/* ---- What it is bound to ---- */

PyObject *texture_reference_new(CodeModuleObject *module, const char *name)
{
    Reference *reference = reference_find(module, name, false);
    return reference ? reference_wrap(module->state, module->state->TextureReference_type, module, reference)
                     : NULL;
}

static PyObject *texture_reference_tp_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static const char *const names[] = {NULL};
    if (convert_call("TextureReference", names, 0, args, kwargs, NULL) < 0) return NULL;
    Reference *reference = reference_new("", false);
    return reference ? reference_wrap(state_of_type(type), type, NULL, reference) : NULL;
}

static PyObject *set_array(PyObject *self, FAST_PARAMETERS)
{
    static const char *const names[] = {"array", NULL};
    PyObject *given[1];
    if (convert_arguments("set_array", names, 1, args, arg_count, keywords, given) < 0
        || reference_set_array(reference_cast(self), given[0]) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *set_address(PyObject *self, FAST_PARAMETERS)
{
    static const char *const names[] = {"devptr", "bytes", "allow_offset", NULL};
    PyObject *given[3];
    size_t bytes = 0, offset = 0;
    int allow_offset = 0;
    if (convert_arguments("set_address", names, 2, args, arg_count, keywords, given) < 0
        || convert_size(given[1], "bytes", &bytes) < 0
        || (given[2] && (allow_offset = PyObject_IsTrue(given[2])) < 0)
        || reference_set_linear(reference_cast(self), given[0], bytes, allow_offset, &offset) < 0)
        return NULL;
    return PyLong_FromSize_t(offset);
}

static PyObject *set_address_2d(PyObject *self, FAST_PARAMETERS)
{
    static const char *const names[] = {"devptr", "descr", "pitch", NULL};
    PyObject *given[3];
    size_t pitch = 0;
    if (convert_arguments("set_address_2d", names, 3, args, arg_count, keywords, given) < 0
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
    return raise_driver(object->state, CUDA_ERROR_INVALID_VALUE, "cuTexRefGetAddress",
                        "'%s' is bound to no memory", object->reference->name);
}

/* ---- How it is read ---- */

/* Puts a setting into a new binding: `field` is a member of Binding. */
#define SET(reference, field, value) \
    do { \
        Binding *former_, *binding_ = reference_renew(reference, &former_); \
        if (!binding_) return NULL; \
        binding_->field = (value); \
        binding_drop(former_); \
    } while (0)

static PyObject *refuse(PyObject *self, const char *routine, const char *why)
{
    return raise_driver(reference_cast(self)->state, CUDA_ERROR_INVALID_VALUE, routine, "%s", why);
}

static PyObject *set_format(PyObject *self, FAST_PARAMETERS)
{
    static const char *const names[] = {"fmt", "num_components", NULL};
    Reference *reference = reference_cast(self)->reference;
    PyObject *given[2];
    unsigned format, channels;
    if (convert_arguments("set_format", names, 2, args, arg_count, keywords, given) < 0
        || convert_unsigned(given[0], "fmt", &format) < 0
        || convert_unsigned(given[1], "num_components", &channels) < 0)
        return NULL;
    if (!cuda_array_element_size(format, 1)) return refuse(self, "cuTexRefSetFormat", "fmt is no array_format");
    if (channels != 1 && channels != 2 && channels != 4)
        return refuse(self, "cuTexRefSetFormat", "num_components is 1, 2 or 4");
    const Binding *now = reference->binding;
    bool same = format == now->format && channels == now->channels;
    if (!same && now->source && now->resource.resType != CU_RESOURCE_TYPE_LINEAR)
        return refuse(self, "cuTexRefSetFormat", "an Array and 2D memory have the format of their descriptor");
    Binding *former, *binding = reference_renew(reference, &former);
    if (!binding) return NULL;
    binding->format = format;
    binding->channels = channels;
    binding_drop(former);
    Py_RETURN_NONE;
}

static int read_axis(PyObject *self, PyObject *value, const char *routine, int *out)
{
    if (convert_int(value, "dim", out) < 0) return -1;
    if (*out >= 0 && *out < 3) return 0;
    refuse(self, routine, "dim is 0, 1 or 2");
    return -1;
}

static PyObject *set_address_mode(PyObject *self, FAST_PARAMETERS)
{
    static const char *const names[] = {"dim", "am", NULL};
    Reference *reference = reference_cast(self)->reference;
    PyObject *given[2];
    unsigned mode;
    int axis;
    if (convert_arguments("set_address_mode", names, 2, args, arg_count, keywords, given) < 0
        || read_axis(self, given[0], "cuTexRefSetAddressMode", &axis) < 0
        || convert_unsigned(given[1], "am", &mode) < 0)
        return NULL;
    if (mode > CU_TR_ADDRESS_MODE_BORDER)
        return refuse(self, "cuTexRefSetAddressMode", "am is no address_mode");
    SET(reference, sampling.addressMode[axis], mode);
    Py_RETURN_NONE;
}

static PyObject *set_filter_mode(PyObject *self, FAST_PARAMETERS)
{
    static const char *const names[] = {"fm", NULL};
    Reference *reference = reference_cast(self)->reference;
    PyObject *given[1];
    unsigned mode;
    if (convert_arguments("set_filter_mode", names, 1, args, arg_count, keywords, given) < 0
        || convert_unsigned(given[0], "fm", &mode) < 0)
        return NULL;
    if (mode > CU_TR_FILTER_MODE_LINEAR) return refuse(self, "cuTexRefSetFilterMode", "fm is no filter_mode");
    SET(reference, sampling.filterMode, mode);
    Py_RETURN_NONE;
}

static PyObject *set_flags(PyObject *self, FAST_PARAMETERS)
{
    static const char *const names[] = {"flags", NULL};
    enum { KNOWN = CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_SRGB };
    Reference *reference = reference_cast(self)->reference;
    PyObject *given[1];
    unsigned flags;
    if (convert_arguments("set_flags", names, 1, args, arg_count, keywords, given) < 0
        || convert_unsigned(given[0], "flags", &flags) < 0)
        return NULL;
    if (flags & ~(unsigned)KNOWN)
        return refuse(self, "cuTexRefSetFlags", "flags is a combination of TRSF_ values");
    SET(reference, sampling.flags, flags);
    Py_RETURN_NONE;
}

static PyObject *get_address_mode(PyObject *self, FAST_PARAMETERS)
{
    static const char *const names[] = {"dim", NULL};
    const ReferenceObject *object = reference_cast(self);
    PyObject *given[1];
    int axis;
    if (convert_arguments("get_address_mode", names, 1, args, arg_count, keywords, given) < 0
        || read_axis(self, given[0], "cuTexRefGetAddressMode", &axis) < 0)
        return NULL;
    return constants_member(object->state, object->state->address_mode,
                            (long)object->reference->binding->sampling.addressMode[axis]);
}

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
    PyObject *format =
        constants_member(object->state, object->state->array_format, (long)object->reference->binding->format);
    return format ? Py_BuildValue("(NI)", format, channels) : NULL;
}

static PyObject *get_flags(PyObject *self, PyObject *Py_UNUSED(none))
{
    return PyLong_FromUnsignedLong(reference_cast(self)->reference->binding->sampling.flags);
}

/* ---- The class ---- */

PyDoc_STRVAR(
    set_array_doc,
    "set_array(array)\n--\n\n"
    "Binds it to an Array, whose format it takes, and which stays alive while it is bound. LogicError when "
    "the\nArray has other dimensions than the texture<> (cuTexRefSetArray).");

PyDoc_STRVAR(
    set_address_doc,
    "set_address(devptr, bytes, allow_offset=False) -> int\n--\n\n"
    "Binds it to linear memory of the format set by set_format, which at first is that of the texture<>; "
    "kernels read it\nwith tex1Dfetch. Textures begin at multiples of TEXTURE_ALIGNMENT: the result is the "
    "number of bytes from there to\ndevptr, to be added in the kernel. LogicError when that is not 0 and "
    "allow_offset is false. An object given as\ndevptr stays alive while it is bound (cuTexRefSetAddress).");

PyDoc_STRVAR(
    set_address_2d_doc,
    "set_address_2d(devptr, descr, pitch)\n--\n\n"
    "Binds it to rows of memory that are `pitch` bytes apart, as an ArrayDescriptor says. LogicError when "
    "address or\npitch are not aligned (cuTexRefSetAddress2D).");

PyDoc_STRVAR(set_format_doc, "set_format(fmt, num_components)\n--\n\n"
                             "An array_format and 1, 2 or 4 channels, of linear memory (cuTexRefSetFormat).");

PyDoc_STRVAR(set_address_mode_doc, "set_address_mode(dim, am)\n--\n\n"
                                   "The address_mode on axis 0, 1 or 2 (cuTexRefSetAddressMode).");

PyDoc_STRVAR(
    set_flags_doc,
    "set_flags(flags)\n--\n\n"
    "TRSF_NORMALIZED_COORDINATES, TRSF_SRGB and TRSF_READ_AS_INTEGER, combined with |. Of a texture<> of "
    "integers\nthe declaration has the last word on how these are read (cuTexRefSetFlags).");

static PyMethodDef texture_reference_methods[] = {
    {"set_array", AS_METHOD(set_array), FAST_KEYWORDS, set_array_doc},
    {"set_address", AS_METHOD(set_address), FAST_KEYWORDS, set_address_doc},
    {"set_address_2d", AS_METHOD(set_address_2d), FAST_KEYWORDS, set_address_2d_doc},
    {"set_format", AS_METHOD(set_format), FAST_KEYWORDS, set_format_doc},
    {"set_address_mode", AS_METHOD(set_address_mode), FAST_KEYWORDS, set_address_mode_doc},
    {"set_filter_mode", AS_METHOD(set_filter_mode), FAST_KEYWORDS,
     "set_filter_mode(fm)\n--\n\nA filter_mode (cuTexRefSetFilterMode)."},
    {"set_flags", AS_METHOD(set_flags), FAST_KEYWORDS, set_flags_doc},
    {"get_array", reference_get_array, METH_NOARGS,
     "get_array() -> Array\n--\n\nThe Array that it is bound to; LogicError when there is none "
     "(cuTexRefGetArray)."},
    {"get_address", get_address, METH_NOARGS,
     "get_address() -> int\n--\n\nThe address at which the texture begins; LogicError when it is bound to no "
     "memory\n(cuTexRefGetAddress)."},
    {"get_address_mode", AS_METHOD(get_address_mode), FAST_KEYWORDS,
     "get_address_mode(dim) -> address_mode\n--\n\nOf axis 0, 1 or 2 (cuTexRefGetAddressMode)."},
    {"get_filter_mode", get_filter_mode, METH_NOARGS,
     "get_filter_mode() -> filter_mode\n--\n\n(cuTexRefGetFilterMode)."},
    {"get_format", get_format, METH_NOARGS,
     "get_format() -> (array_format, channels)\n--\n\n(cuTexRefGetFormat)."},
    {"get_flags", get_flags, METH_NOARGS,
     "get_flags() -> int\n--\n\nTRSF_ values combined with | (cuTexRefGetFlags)."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef texture_reference_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(ReferenceObject, weak_references), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

PyDoc_STRVAR(texture_reference_doc,
             "TextureReference()\n--\n\n"
             "What a texture<> variable of a module reads; made by Module.get_texref. Launches of the module's "
             "kernels read what\nit is bound to when they are made. One made by this constructor belongs to no "
             "module.");

static PyType_Slot texture_reference_slots[] = {
    {Py_tp_doc, (void *)texture_reference_doc},
    {Py_tp_new, AS_SLOT(texture_reference_tp_new)},
    {Py_tp_dealloc, AS_SLOT(reference_dealloc)},
    {Py_tp_traverse, AS_SLOT(reference_traverse)},
    {Py_tp_methods, texture_reference_methods},
    {Py_tp_members, texture_reference_members},
    {0, NULL},
};

static PyType_Spec texture_reference_spec = {
    .name = "pycuda._driver.TextureReference",
    .basicsize = sizeof(ReferenceObject),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = texture_reference_slots,
};

int texture_reference_setup(PyObject *module, ModuleState *state)
{
    return state_add_type(module, &state->TextureReference_type, &texture_reference_spec, NULL);
}
