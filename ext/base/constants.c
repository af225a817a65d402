/* Each class of constants is a subclass of int whose members know their name, made of abi/cuda_enums.def.
 * Combinations of members are plain ints, as they have no name. Some classes are mere namespaces of ints. */
#include "ext/base/constants.h"
#include "ext/base/types.h"

#include <string.h>

typedef struct EnumRow {
    const char *name;       /* of a class or a member; NULL in the row after a class's last member */
    const char *doc;        /* of a class; NULL in the rows of its members */
    long long value;        /* of a member */
} EnumRow;

static const EnumRow enum_rows[] = {
#define CU_ENUM(cls, doc) {#cls, doc, 0},
#define CU_VALUE(py, name, value) {#py, NULL, value},
#define CU_ALIAS(py, name, value) {#py, NULL, value},
#define CU_GONE(py, name, value) {#py, NULL, value},
#define CU_ENUM_END(cls) {NULL, NULL, 0},
#include "abi/cuda_enums.def"
#undef CU_ENUM
#undef CU_VALUE
#undef CU_ALIAS
#undef CU_GONE
#undef CU_ENUM_END
};

/* Classes that only hold plain ints: their members have no name, and the class has no `names` and `values`.
 */
static const char *const namespaces[] = {"host_alloc_flags", "mem_host_register_flags", "array3d_flags"};

/* A class that the module's state refers to. */
typedef struct KeptClass {
    const char *name;
    size_t field; /* in ModuleState */
} KeptClass;

#define KEPT(cls) {#cls, offsetof(ModuleState, cls)}
static const KeptClass kept_classes[] = {
    KEPT(device_attribute),   KEPT(compute_mode),    KEPT(func_cache),       KEPT(shared_config),
    KEPT(function_attribute), KEPT(array_format),    KEPT(memory_type),      KEPT(address_mode),
    KEPT(filter_mode),        KEPT(graph_node_type), KEPT(mem_access_flags), KEPT(mem_handle_type),
};
#undef KEPT

static bool is_namespace(const char *name)
{
    for (size_t i = 0; i < sizeof namespaces / sizeof namespaces[0]; i++)
        if (strcmp(namespaces[i], name) == 0) return true;
    return false;
}

/* A name that begins with a digit has an underscore before it in the table. */
static const char *python_name(const char *name)
{
    return name[0] == '_' && name[1] >= '0' && name[1] <= '9' ? name + 1 : name;
}

static PyObject *constant_str(PyObject *self)
{
    PyObject *name = PyObject_GetAttrString(self, "name");
    if (!name || name != Py_None) return name;
    Py_DECREF(name);
    return PyLong_Type.tp_repr(self);
}

static PyObject *constant_repr(PyObject *self)
{
    PyObject *name = PyObject_GetAttrString(self, "name"), *text = NULL;
    PyObject *cls = name ? PyObject_GetAttrString((PyObject *)Py_TYPE(self), "__name__") : NULL;
    PyObject *number = cls ? PyLong_Type.tp_repr(self) : NULL;
    if (number)
        text = name == Py_None ? PyUnicode_FromFormat("pycuda.driver.%U(%U)", cls, number)
                               : PyUnicode_FromFormat("pycuda.driver.%U.%U", cls, name);
    Py_XDECREF(name);
    Py_XDECREF(cls);
    Py_XDECREF(number);
    return text;
}

static const TypeSpec constant_spec = {
    .tp_name = "pycuda.driver.Constant",
    .tp_doc = "Constant(value, /)\n--\n\n"
              "An int with a name. The class lists its members in the dicts `names` and `values`.\n"
              "\nAttributes\n----------\n"
              "name : str or None\n    None where no member has the value.",
    .tp_flags = Py_TPFLAGS_BASETYPE,
    .tp_repr = constant_repr,
    .tp_str = constant_str,
};

static PyObject *make_class(PyObject *base, const EnumRow *row)
{
    return PyObject_CallFunction((PyObject *)&PyType_Type, "s(O){s:s,s:s}", row->name, base, "__module__",
                                 "pycuda.driver", "__doc__", row->doc);
}

/* A new reference: the plain int in a namespace, else an instance that has its name. */
static PyObject *make_value(ModuleState *state, PyObject *cls, const char *name, long long value, bool plain)
{
    if (plain) return PyLong_FromLongLong(value);
    PyObject *member = PyObject_CallFunction(cls, "L", value);
    PyObject *text = member ? PyUnicode_FromString(name) : NULL;
    if (!text || PyObject_SetAttr(member, state->str_name, text) < 0) Py_CLEAR(member);
    Py_XDECREF(text);
    return member;
}

/* Adds a member to the dicts by name and by value. Of several names for one value, `values` has the first. */
static int add_to_dicts(PyObject *cls, PyObject *names, PyObject *values, const char *name, PyObject *member)
{
    if (PyObject_SetAttrString(cls, name, member) < 0 || PyDict_SetItemString(names, name, member) < 0)
        return -1;
    PyObject *number = PyLong_FromLongLong(PyLong_AsLongLong(member));
    int status = number && PyDict_SetDefault(values, number, member) ? 0 : -1;
    Py_XDECREF(number);
    return status;
}

/* Adds the rows from `row` to the end of their class. plain: the class is a namespace. */
static int add_members(ModuleState *state, PyObject *cls, PyObject *names, PyObject *values,
                       const EnumRow *row, bool plain)
{
    for (; row->name; row++) {
        const char *name = python_name(row->name);
        PyObject *member = make_value(state, cls, name, row->value, plain);
        int status = member ? add_to_dicts(cls, names, values, name, member) : -1;
        Py_XDECREF(member);
        if (status < 0) return -1;
    }
    if (plain) return 0;
    if (PyObject_SetAttr(cls, state->str_names, names) < 0) return -1;
    return PyObject_SetAttr(cls, state->str_values, values);
}

static void keep_class(ModuleState *state, const char *name, PyObject *cls)
{
    for (size_t i = 0; i < sizeof kept_classes / sizeof kept_classes[0]; i++)
        if (strcmp(kept_classes[i].name, name) == 0)
            *(PyObject **)((char *)state + kept_classes[i].field) = Py_NewRef(cls);
}

/* row: the class's own; the rows of its members follow it. */
static int add_class(PyObject *module, ModuleState *state, const EnumRow *row)
{
    bool plain = is_namespace(row->name);
    PyObject *base = plain ? (PyObject *)&PyBaseObject_Type : (PyObject *)state->Constant_type;
    PyObject *cls = make_class(base, row), *names = PyDict_New(), *values = PyDict_New();
    int status = -1;
    if (cls && names && values && add_members(state, cls, names, values, row + 1, plain) == 0)
        status = PyModule_AddObjectRef(module, row->name, cls);
    if (status == 0) keep_class(state, row->name, cls);
    Py_XDECREF(cls);
    Py_XDECREF(names);
    Py_XDECREF(values);
    return status;
}

PyObject *constants_member(ModuleState *state, PyObject *cls, long value)
{
    PyObject *values = PyObject_GetAttr(cls, state->str_values), *number = PyLong_FromLong(value),
             *found = NULL;
    if (values && number) {
        found = Py_XNewRef(PyDict_GetItemWithError(values, number));
        if (!found && !PyErr_Occurred()) found = Py_NewRef(number);
    }
    Py_XDECREF(values);
    Py_XDECREF(number);
    return found;
}

int constants_setup(PyObject *module, ModuleState *state)
{
    if (type_add(module, &state->Constant_type, &constant_spec, &PyLong_Type) < 0
        || PyObject_SetAttr((PyObject *)state->Constant_type, state->str_name, Py_None) < 0)
        return -1;
    for (size_t i = 0; i < sizeof enum_rows / sizeof enum_rows[0]; i++)
        if (enum_rows[i].doc && add_class(module, state, &enum_rows[i]) < 0) return -1;
    return 0;
}
