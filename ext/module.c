/* pycuda._driver: the module, its state and the list of what adds to it. */
#define EXT_IMPORTS_NUMPY
#include "ext/base/numpy_api.h"

#include "core/fault_injection.h"
#include "ext/base/deferred.h"
#include "ext/base/driver_calls.h"
#include "ext/base/section.h"
#include "ext/base/types.h"
#include "ext/convert/convert.h"

/* A count of living objects, for _live_objects(). */
typedef struct LiveRow {
    const char *name;
    size_t field; /* offset in ModuleState */
} LiveRow;

static const LiveRow live_rows[] = {
#define STATE_LIVE(name) {#name, offsetof(ModuleState, live_##name)},
#include "ext/base/state_fields.def"
};

PyDoc_STRVAR(get_version_doc, "get_version()\n--\n\n"
                              "The CUDA version whose driver interface this package speaks.\n\n"
                              "Drivers older and newer than that work as well.\n"
                              "\nReturns\n-------\n"
                              "(major, minor, revision) : tuple of int");

static PyObject *get_version(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none))
{
    enum { MAJOR = 13, MINOR = 0, REVISION = 0 }; /* of CUDA */
    return Py_BuildValue("(iii)", MAJOR, MINOR, REVISION);
}

PyDoc_STRVAR(get_driver_version_doc, "get_driver_version()\n--\n\n"
                                     "The newest CUDA version that the loaded driver serves.\n"
                                     "\nReturns\n-------\n"
                                     "int\n    12040 is CUDA 12.4.\n"
                                     "\nNotes\n-----\n"
                                     "Calls cuDriverGetVersion.");

static PyObject *get_driver_version(PyObject *module, PyObject *Py_UNUSED(none))
{
    int version = 0;
    ModuleState *state = module_state(module);
    if (gpu_cuDriverGetVersion(state, &version) < 0) return NULL;
    return errors_warn_of_notice() < 0 ? NULL : PyLong_FromLong(version);
}

PyDoc_STRVAR(live_objects_doc, "_live_objects()\n--\n\n"
                               "Count the objects of each type that own a resource of the driver now.\n"
                               "\nReturns\n-------\n"
                               "dict");

static PyObject *live_objects(PyObject *module, PyObject *Py_UNUSED(none))
{
    ModuleState *state = module_state(module);
    deferred_release(state);
    PyObject *counts = PyDict_New();
    for (size_t i = 0; counts && i < sizeof live_rows / sizeof live_rows[0]; i++) {
        atomic_long *count = (atomic_long *)((char *)state + live_rows[i].field);
        PyObject *number = PyLong_FromLong(atomic_load(count));
        if (!number || PyDict_SetItemString(counts, live_rows[i].name, number) < 0) Py_CLEAR(counts);
        Py_XDECREF(number);
    }
    return counts;
}

PyDoc_STRVAR(fault_arm_doc, "_fault_arm(n, code=2)\n--\n\n"
                            "Let the n-th driver call from now fail; 0 ends that.\n"
                            "\nParameters\n----------\n"
                            "n : int\n"
                            "code : int\n    The CUresult.\n"
                            "\nReturns\n-------\n"
                            "bool\n    False unless the process was started with PYCUDA_FAULT_CALL set.");

static PyObject *fault_arm_py(PyObject *Py_UNUSED(module), FAST_PARAMETERS)
{
    size_t n = 0;
    int code = CUDA_ERROR_OUT_OF_MEMORY;
    if (READ_ARGUMENTS(fault_arm_doc, INTO(&n), INTO(&code)) < 0) return NULL;
    return PyBool_FromLong(injection_arm((unsigned long)n, (CUresult)code));
}

PyDoc_STRVAR(fault_delay_doc, "_fault_delay(name, milliseconds)\n--\n\n"
                              "Let every call of a driver function take longer from now on.\n"
                              "\nParameters\n----------\n"
                              "name : str\n"
                              "milliseconds : int\n"
                              "\nReturns\n-------\n"
                              "bool\n    False as for _fault_arm, and when there is no such function.");

static PyObject *fault_delay_py(PyObject *Py_UNUSED(module), FAST_PARAMETERS)
{
    const char *name;
    unsigned milliseconds;
    if (READ_ARGUMENTS(fault_delay_doc, INTO(&name), INTO(&milliseconds)) < 0) return NULL;
    return PyBool_FromLong(injection_delay(name, milliseconds));
}

static PyObject *fault_calls_py(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none))
{
    return PyLong_FromUnsignedLong(injection_calls());
}

PyDoc_STRVAR(fault_count_doc, "_fault_count(name, /)\n--\n\n"
                              "Count the calls of a driver function that succeeded.\n"
                              "\nParameters\n----------\n"
                              "name : str\n"
                              "\nReturns\n-------\n"
                              "int\n    -1 where _fault_delay is False.");

static PyObject *fault_count_py(PyObject *Py_UNUSED(module), PyObject *name_object)
{
    const char *name = PyUnicode_AsUTF8(name_object);
    return name ? PyLong_FromLong(injection_count(name)) : NULL;
}

static PyObject *fault_failed_py(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none))
{
    const char *name = injection_failed();
    return name ? PyUnicode_FromString(name) : Py_NewRef(Py_None);
}

PyMethodDef module_functions[] = {
    {"get_version", get_version, METH_NOARGS, get_version_doc},
    {"get_driver_version", get_driver_version, METH_NOARGS, get_driver_version_doc},
    {"_live_objects", live_objects, METH_NOARGS, live_objects_doc},
    {"_fault_arm", AS_METHOD(fault_arm_py), FAST_KEYWORDS, fault_arm_doc},
    {"_fault_delay", AS_METHOD(fault_delay_py), FAST_KEYWORDS, fault_delay_doc},
    {"_fault_calls", fault_calls_py, METH_NOARGS,
     "_fault_calls()\n--\n\n"
     "Count the driver calls so far.\n"
     "\nReturns\n-------\n"
     "int"},
    {"_fault_count", fault_count_py, METH_O, fault_count_doc},
    {"_fault_failed", fault_failed_py, METH_NOARGS,
     "_fault_failed()\n--\n\n"
     "The function whose call failed since faults were last armed.\n"
     "\nReturns\n-------\n"
     "str or None"},
    {NULL, NULL, 0, NULL},
};

/* Gives an object of the module another name. -1 with an exception. */
static int add_alias(PyObject *module, const char *alias, const char *name)
{
    PyObject *value = PyObject_GetAttrString(module, name);
    int status = value ? PyModule_AddObjectRef(module, alias, value) : -1;
    Py_XDECREF(value);
    return status;
}

/* Adds the rows of module_setups.def to the module. -1 with an exception. */
static int add_everything(PyObject *module, ModuleState *state)
{
#define TYPE(name) \
    if (type_add(module, &state->name##_type, &name##_spec, NULL) < 0) return -1;
#define SUBTYPE(name, base) \
    if (type_add(module, &state->name##_type, &name##_spec, state->base##_type) < 0) return -1;
#define METHODS(type, table) \
    if (type_add_methods(state->type##_type, table) < 0) return -1;
#define FUNCTIONS(name) \
    if (!section_methods(name##_functions) || PyModule_AddFunctions(module, name##_functions) < 0) return -1;
#define ALIAS(alias, name) \
    if (add_alias(module, #alias, #name) < 0) return -1;
#define SETUP(name) \
    if (name##_setup(module, state) < 0) return -1;
#include "ext/base/module_setups.def"
    return 0;
}

/* Sets the module name of public functions to pycuda.driver. Private names begin with an underscore. */
static int name_public_module(PyObject *module)
{
    PyObject *name, *value, *home = PyUnicode_InternFromString("pycuda.driver");
    Py_ssize_t at = 0;
    int status = home ? 0 : -1;
    while (status == 0 && PyDict_Next(PyModule_GetDict(module), &at, &name, &value))
        if (PyCFunction_Check(value) && PyUnicode_ReadChar(name, 0) != '_')
            status = PyObject_SetAttrString(value, "__module__", home);
    Py_XDECREF(home);
    return status;
}

static int make_module(PyObject *module)
{
    ModuleState *state = module_state(module);
    import_array1(-1);
    if (!(state->has_lock = pthread_mutex_init(&state->lock, NULL) == 0)) {
        PyErr_NoMemory();
        return -1;
    }
    return state_intern_names(state) < 0 || add_everything(module, state) < 0 ? -1
                                                                              : name_public_module(module);
}

static int module_exec(PyObject *module)
{
    int status;
    SECTION_BEGIN();
    status = make_module(module);
    SECTION_END();
    return status;
}

/* A free-threaded CPython leaves the GIL off: the section (section.h) takes its place. CPython 3.13, where
 * free threads are an experiment, enables the GIL when this module is imported (docs/design/threads.md). */
#if PY_VERSION_HEX >= 0x030E0000
#define USE_OF_GIL Py_MOD_GIL_NOT_USED
#else
#define USE_OF_GIL Py_MOD_GIL_USED
#endif
static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, AS_SLOT(module_exec)},
#ifdef Py_mod_gil
    {Py_mod_gil, USE_OF_GIL},
#endif
    {0, NULL},
};

static struct PyModuleDef driver_module = {
    PyModuleDef_HEAD_INIT,         .m_name = "pycuda._driver", .m_doc = "The CUDA driver interface, in C.",
    .m_size = sizeof(ModuleState), .m_slots = module_slots,    .m_traverse = state_traverse,
    .m_clear = state_clear,        .m_free = state_free,
};

PyMODINIT_FUNC PyInit__driver(void);
PyMODINIT_FUNC PyInit__driver(void) { return PyModuleDef_Init(&driver_module); }
