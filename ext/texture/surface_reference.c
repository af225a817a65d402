/* SurfaceReference: a surface<> of a module. */
#include "ext/base/errors.h"
#include "ext/base/types.h"
#include "ext/convert/convert.h"
#include "ext/texture/reference.h"

PyObject *surface_reference_new(CodeModuleObject *module, const char *name)
{
    Reference *reference = reference_find(module, name, true);
    return reference ? reference_wrap(module->state, module->state->SurfaceReference_type, module, reference)
                     : NULL;
}

PyDoc_STRVAR(set_array_doc, "set_array($self, array, flags=0)\n--\n\n"
                            "Bind it to an Array, which stays alive while it is bound.\n"
                            "\nParameters\n----------\n"
                            "array : Array\n    Made with array3d_flags.SURFACE_LDST.\n"
                            "flags : int\n    Must be 0.\n"
                            "\nRaises\n------\n"
                            "LogicError\n"
                            "    The Array has no such flag or other dimensions than the ``surface<>``.\n"
                            "\nNotes\n-----\n"
                            "Calls cuSurfRefSetArray.");

static PyObject *set_array(PyObject *self, FAST_PARAMETERS)
{
    ReferenceObject *object = reference_cast(self);
    PyObject *array;
    unsigned flags = 0;
    if (READ_ARGUMENTS(set_array_doc, INTO(&array), INTO(&flags)) < 0) return NULL;
    if (flags)
        return raise_driver(object->state, CUDA_ERROR_INVALID_VALUE, "cuSurfRefSetArray",
                            "flags is %u: it must be 0", flags);
    if (reference_set_array(object, array) < 0) return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef surface_reference_methods[] = {
    {"set_array", AS_METHOD(set_array), FAST_KEYWORDS, set_array_doc},
    {"get_array", reference_get_array, METH_NOARGS,
     "get_array($self)\n--\n\n"
     "The Array that it is bound to.\n"
     "\nReturns\n-------\n"
     "Array\n"
     "\nRaises\n------\n"
     "LogicError\n    It is not bound.\n"
     "\nNotes\n-----\n"
     "Calls cuSurfRefGetArray."},
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(surface_reference_doc,
             "What a ``surface<>`` variable of a module reads and writes; made by\n"
             "Module.get_surfref.\n\n"
             "Launches of the module's kernels use what it is bound to when they are made.");

const TypeSpec SurfaceReference_spec = {
    TYPE_WITH_WEAK_REFERENCES("pycuda.driver.SurfaceReference", ReferenceObject, 0, surface_reference_doc),
    .tp_dealloc = reference_dealloc,
    .tp_traverse = reference_traverse,
    TYPE_TABLES(surface_reference_methods, NULL, NULL),
};
