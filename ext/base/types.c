/* See types.h. */
#include "ext/base/types.h"

#include <string.h>

/* The number of slots in type_slots.def, and room for those of `more_slots`. */
enum {
#define SLOT(name, type) SLOT_##name,
#include "ext/base/type_slots.def"
#undef SLOT
    SLOTS_MAX,
    MORE_SLOTS_MAX = 64
};

/* -1 with an exception. */
static int list_slots(const TypeSpec *spec, PyType_Slot *out)
{
    PyType_Slot *slots = out;
#define SLOT(name, type) \
    if (spec->name) *out++ = (PyType_Slot){Py_##name, (void *)spec->name};
#include "ext/base/type_slots.def"
#undef SLOT
    for (const PyType_Slot *slot = spec->more_slots; slot && slot->slot; slot++) *out++ = *slot;
    *out = (PyType_Slot){0, NULL};
    for (; slots < out; slots++)
        if (!(slots->pfunc = section_slot(slots->slot, slots->pfunc))) return -1;
    return 0;
}

int type_add_with_bases(PyObject *module, PyTypeObject **type, const TypeSpec *spec, PyObject *bases)
{
    PyType_Slot slots[SLOTS_MAX + MORE_SLOTS_MAX + 1];
    unsigned long flags = Py_TPFLAGS_DEFAULT | spec->tp_flags;
    if (spec->tp_traverse) flags |= Py_TPFLAGS_HAVE_GC;
    if (!spec->tp_new && !bases) flags |= Py_TPFLAGS_DISALLOW_INSTANTIATION;
    if (list_slots(spec, slots) < 0) return -1;
    PyType_Spec made = {spec->tp_name, (int)spec->tp_basicsize, 0, (unsigned)flags, slots};
    *type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &made, bases);
    if (!*type) return -1;
    if (spec->tp_weaklistoffset) (*type)->tp_weaklistoffset = (Py_ssize_t)spec->tp_weaklistoffset;
    return PyModule_AddObjectRef(module, strrchr(spec->tp_name, '.') + 1, (PyObject *)*type);
}

int type_add_methods(PyTypeObject *type, PyMethodDef *methods)
{
    if (!section_methods(methods)) return -1;
    for (PyMethodDef *method = methods; method->ml_name; method++) {
        PyObject *descriptor = PyDescr_NewMethod(type, method);
        int failed = descriptor ? PyDict_SetItemString(type->tp_dict, method->ml_name, descriptor) : -1;
        Py_XDECREF(descriptor);
        if (failed) return -1;
    }
    PyType_Modified(type);
    return 0;
}
