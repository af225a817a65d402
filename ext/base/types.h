/* The Python types of the module, each said in one TypeSpec. */
#ifndef EXT_BASE_TYPES_H
#define EXT_BASE_TYPES_H

#include "ext/base/section.h"

/* The fields have the names and meanings of CPython's static PyTypeObject. Instances are tracked by the
 * garbage collector when there is a tp_traverse. Without a tp_new, its own or one to inherit, Python makes
 * no instances. */
typedef struct TypeSpec {
    const char *tp_name; /* with the module that users know: "pycuda.driver.Event" */
    size_t tp_basicsize;
    unsigned long tp_flags; /* besides those that follow from the rest */
    size_t tp_weaklistoffset; /* 0: no weak references, or those of the base */
#define SLOT(name, type) type name;
#include "ext/base/type_slots.def"
#undef SLOT
    const PyType_Slot *more_slots; /* the end is a row of zeros; NULL: none */
} TypeSpec;

/* What a spec begins with: the name, the C struct of an instance, the flags and the docstring.
 * TYPE_WITH_WEAK_REFERENCES is for structs with a member `weak_references`. */
#define TYPE_OF(name, object, flags, doc) \
    .tp_name = (name), .tp_basicsize = sizeof(object), .tp_flags = (flags), .tp_doc = (doc)
#define TYPE_WITH_WEAK_REFERENCES(name, object, flags, doc) \
    TYPE_OF(name, object, flags, doc), .tp_weaklistoffset = offsetof(object, weak_references)

/* What a spec ends with: its tables, each of which may be NULL. */
#define TYPE_TABLES(methods, properties, members) \
    .tp_methods = (methods), .tp_getset = (properties), .tp_members = (members)

/* Makes the type and adds it to the module under its short name. *type gets a reference of its own. bases: a
 * type or a tuple of types, NULL is object. -1 with an exception on failure. */
int type_add_with_bases(PyObject *module, PyTypeObject **type, const TypeSpec *spec, PyObject *bases);
static inline int type_add(PyObject *module, PyTypeObject **type, const TypeSpec *spec, PyTypeObject *base)
{
    return type_add_with_bases(module, type, spec, (PyObject *)base);
}

/* The result of a tp_richcompare for == and != alone. of_type: whether the other object is of the type.
 * NotImplemented if it is not, and for other comparisons. */
static inline PyObject *type_compare(bool of_type, bool same, int operation)
{
    if (!of_type || (operation != Py_EQ && operation != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
    return PyBool_FromLong(same == (operation == Py_EQ));
}

/* Adds methods to a type that was made. -1 with an exception. */
int type_add_methods(PyTypeObject *type, PyMethodDef *methods);

#endif
