/* See state.h. */
#include "ext/base/ext.h"

#include "ext/base/launch_site.h"
#include "ext/base/lost.h"
#include "ext/base/peer_access.h"

int state_intern_names(ModuleState *state)
{
#define STATE_STRING(name) \
    if (!(state->str_##name = PyUnicode_InternFromString(#name))) return -1;
#include "ext/base/state_fields.def"
    return 0;
}

int state_traverse(PyObject *module, visitproc visit, void *arg)
{
    ModuleState *state = module_state(module);
#define STATE_TYPE(name) Py_VISIT(state->name##_type);
#define STATE_OBJECT(name) Py_VISIT(state->name);
#include "ext/base/state_fields.def"
    return 0;
}

int state_clear(PyObject *module)
{
    ModuleState *state = module_state(module);
#define STATE_TYPE(name) Py_CLEAR(state->name##_type);
#define STATE_OBJECT(name) Py_CLEAR(state->name);
#define STATE_STRING(name) Py_CLEAR(state->str_##name);
#include "ext/base/state_fields.def"
    return 0;
}

/* Every object holds its type and every type the module: when the state goes, no object is left to use it. */
void state_free(void *module)
{
    ModuleState *state = module_state((PyObject *)module);
    state_clear((PyObject *)module);
    for (int i = 0; i < STATE_DTYPES; i++) Py_CLEAR(state->dtypes[i].dtype);
    word_map_clear(&state->functions_by_literal);
    free_list_clear(&state->free_arrays);
    free_list_clear(&state->free_pooled);
    PyMem_RawFree(state->queues.list);
    PyMem_RawFree(state->kept_fault.log);
    lost_clear(state);
    peer_access_clear(state);
    launch_sites_close(state);
    if (state->has_lock) pthread_mutex_destroy(&state->lock);
}

ModuleState *state_of_module(PyObject *module)
{
    const PyModuleDef *definition = PyModule_Check(module) ? PyModule_GetDef(module) : NULL;
    return definition && definition->m_free == state_free ? module_state(module) : NULL;
}

ModuleState *state_of_type(PyTypeObject *type)
{
    PyObject *bases = type->tp_mro;
    for (Py_ssize_t i = 0; bases && i < PyTuple_GET_SIZE(bases); i++) {
        PyTypeObject *base = (PyTypeObject *)PyTuple_GET_ITEM(bases, i);
        PyObject *module =
            PyType_HasFeature(base, Py_TPFLAGS_HEAPTYPE) ? ((PyHeapTypeObject *)base)->ht_module : NULL;
        ModuleState *state = module ? state_of_module(module) : NULL;
        if (state) return state;
    }
    return NULL;
}
