/* TextureReference: a texture<> of a module, and the code that SurfaceReference shares. */
#include "ext/texture/reference.h"

#include "ext/base/constants.h"
#include "ext/base/errors.h"
#include "ext/base/types.h"
#include "ext/convert/driver_method.h"
#include "ext/texture/cuda_array.h"

/* ---- Shared with SurfaceReference ---- */

/* A new object for the reference. If module is NULL the object owns the reference, which is freed on failure.
 */
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

/* There is no tp_clear: other objects of a cycle through the bound memory have one. */
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
    PyObject *devptr;
    size_t bytes = 0, offset = 0;
    bool allow_offset = false;
    if (READ_ARGUMENTS(set_address_doc, INTO(&devptr), INTO(&bytes), INTO(&allow_offset)) < 0
        || reference_set_linear(reference_cast(self), devptr, bytes, allow_offset, &offset) < 0)
        return NULL;
    return PyLong_FromSize_t(offset);
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

enum { KNOWN_FLAGS = CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_SRGB };

static const char not_an_axis[] = "dim must be 0, 1 or 2";

static bool is_axis(int dim) { return dim >= 0 && dim < 3; }

static const char *filter_problem(unsigned filter)
{
    return filter > CU_TR_FILTER_MODE_LINEAR ? "fm must be a filter_mode" : NULL;
}

/* Why set_format() is refused, or NULL. */
static const char *format_problem(const Binding *now, unsigned format, unsigned channels)
{
    if (!cuda_array_element_size(format, 1)) return "fmt must be an array_format";
    if (channels != 1 && channels != 2 && channels != 4) return "num_components must be 1, 2 or 4";
    bool same = format == now->format && channels == now->channels;
    return same || !now->source || now->resource.resType == CU_RESOURCE_TYPE_LINEAR
               ? NULL
               : "the format of an Array or 2D memory is that of its descriptor";
}

static PyObject *format_and_channels(PyObject *self, const Binding *of)
{
    ModuleState *state = reference_cast(self)->state;
    PyObject *format = constants_member(state, state->array_format, (long)of->format);
    return format ? Py_BuildValue("(NI)", format, of->channels) : NULL;
}

static PyObject *filter_member(PyObject *self, unsigned filter)
{
    ModuleState *state = reference_cast(self)->state;
    return constants_member(state, state->filter_mode, (long)filter);
}

static PyObject *refuse(PyObject *self, const char *routine, const char *why)
{
    return raise_driver(reference_cast(self)->state, CUDA_ERROR_INVALID_VALUE, routine, "%s", why);
}

#define DOC(name, routine, parameters, doc) \
    PyDoc_STRVAR(name##_doc, DRIVER_METHOD_DOC(name, routine, "$self, " parameters, doc))
#define BINDING(name, routine, parameters, doc, call, variables, ...) \
    DOC(name, routine, parameters, doc); \
    static PyObject *name(PyObject *self, FAST_PARAMETERS) \
    { \
        ReferenceObject *object = reference_cast(self); \
        variables; \
        return none_unless(READ_ARGUMENTS(name##_doc, __VA_ARGS__) < 0 || (call) < 0); \
    }
#define SETTING(name, routine, parameters, doc, problem, assignments, variables, ...) \
    DOC(name, routine, parameters, doc); \
    static PyObject *name(PyObject *self, FAST_PARAMETERS) \
    { \
        Reference *reference = reference_cast(self)->reference; \
        variables; \
        if (READ_ARGUMENTS(name##_doc, __VA_ARGS__) < 0) return NULL; \
        const char *why = (problem); \
        Binding *to = why ? NULL : binding_copy(reference); \
        if (!to) return why ? refuse(self, #routine, why) : NULL; \
        assignments; \
        binding_put(reference, to, NULL); \
        Py_RETURN_NONE; \
    }
#define GETTER(name, routine, doc, value) \
    static PyObject *name(PyObject *self, PyObject *Py_UNUSED(none)) \
    { \
        const Binding *of = reference_cast(self)->reference->binding; \
        return value; \
    }
#include "ext/texture/texture_reference.def"

PyDoc_STRVAR(get_address_mode_doc, "get_address_mode($self, dim)\n--\n\n"
                                   "How coordinates outside are treated.\n"
                                   "\nParameters\n----------\n"
                                   "dim : {0, 1, 2}\n"
                                   "\nReturns\n-------\n"
                                   "address_mode\n"
                                   "\nNotes\n-----\n"
                                   "Calls cuTexRefGetAddressMode.");

static PyObject *get_address_mode(PyObject *self, FAST_PARAMETERS)
{
    const ReferenceObject *object = reference_cast(self);
    int dim;
    if (READ_ARGUMENTS(get_address_mode_doc, INTO(&dim)) < 0) return NULL;
    if (!is_axis(dim)) return refuse(self, "cuTexRefGetAddressMode", not_an_axis);
    return constants_member(object->state, object->state->address_mode,
                            (long)object->reference->binding->sampling.addressMode[dim]);
}

/* ---- The class ---- */

static PyMethodDef texture_reference_methods[] = {
    {"set_address", AS_METHOD(set_address), FAST_KEYWORDS, set_address_doc},
#define BINDING SETTING
#define SETTING(name, ...) {#name, AS_METHOD(name), FAST_KEYWORDS, name##_doc},
#define GETTER(name, routine, doc, value) \
    {#name, name, METH_NOARGS, DRIVER_METHOD_DOC(name, routine, "$self", doc)},
#include "ext/texture/texture_reference.def"
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
    {"get_address_mode", AS_METHOD(get_address_mode), FAST_KEYWORDS, get_address_mode_doc},
    {NULL, NULL, 0, NULL},
};

const TypeSpec TextureReference_spec = {
    TYPE_WITH_WEAK_REFERENCES("pycuda.driver.TextureReference", ReferenceObject, 0, texture_reference_doc),
    .tp_new = texture_reference_tp_new,
    .tp_dealloc = reference_dealloc,
    .tp_traverse = reference_traverse,
    TYPE_TABLES(texture_reference_methods, NULL, NULL),
};
