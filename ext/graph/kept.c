/* The objects that a graph keeps for one of its nodes: a list under the node's handle in the graph's dict. */
#include "ext/graph/graph.h"

/* What is kept for args[i], borrowed: the argument, or None for a kernel's argument whose value was copied.
 * function: the kernel's, NULL for other nodes. */
static inline PyObject *kept_of(FunctionObject *function, PyObject *const *args, Py_ssize_t i)
{
    return function && launch_args_is_value(function, i, args[i]) ? Py_None : args[i];
}

/* Whether replacing the list, or NULL if nothing is kept, with `args` would change nothing. */
static bool is_kept(PyObject *list, FunctionObject *function, PyObject *const *args, Py_ssize_t count)
{
    bool same = !list || PyList_GET_SIZE(list) == count;
    for (Py_ssize_t i = 0; same && i < count; i++) {
        const PyObject *old = list ? PyList_GET_ITEM(list, i) : Py_None;
        same = old == args[i] || (function && old == Py_None && launch_args_is_value(function, i, args[i]));
    }
    return same;
}

/* Replaces the objects in a list that is not shared. */
static void exchange_objects(PyObject *list, FunctionObject *function, PyObject *const *args,
                             Py_ssize_t count)
{
    Py_INCREF(list);
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *old = PyList_GET_ITEM(list, i);
        PyList_SET_ITEM(list, i, Py_NewRef(kept_of(function, args, i)));
        Py_DECREF(old);
    }
    Py_DECREF(list);
}

/* Stores a new list for the node. -1 with an exception. */
static int put_list(KeptObjects *kept, GraphNodeObject *node, FunctionObject *function, PyObject *const *args,
                    Py_ssize_t count)
{
    PyObject *list = PyList_New(count);
    for (Py_ssize_t i = 0; list && i < count; i++)
        PyList_SET_ITEM(list, i, Py_NewRef(kept_of(function, args, i)));
    kept->version = captured_new_version();
    int failed = list ? PyDict_SetItem(kept->dict, node->key, list) : -1;
    Py_XDECREF(list);
    return failed;
}

static int make_key(GraphNodeObject *node)
{
    if (!node->key) node->key = PyLong_FromVoidPtr(node->handle);
    return node->key ? 0 : -1;
}

/* Sets node->list to the node's list in this dict, or to NULL if there is none. -1 with an exception. */
static int find_list(const KeptObjects *kept, GraphNodeObject *node)
{
    if (node->key && node->version == kept->version) return 0;
    if (make_key(node) < 0) return -1;
    node->list = PyDict_GetItemWithError(kept->dict, node->key);
    node->version = kept->version;
    return node->list || !PyErr_Occurred() ? 0 : -1;
}

int graph_keep_args(KeptObjects *kept, GraphNodeObject *node, FunctionObject *function, PyObject *const *args,
                    Py_ssize_t count)
{
    if (find_list(kept, node) < 0) return -1;
    if (is_kept(node->list, function, args, count)) return 0;
    if (captured_own(kept) < 0 || find_list(kept, node) < 0) return -1;
    PyObject *list = node->list;
    bool own = list && Py_REFCNT(list) == 1 && PyList_GET_SIZE(list) == count;
    if (!own) return put_list(kept, node, function, args, count) < 0 ? -1 : 1;
    exchange_objects(list, function, args, count);
    return 1;
}

int graph_keep_bodies(GraphNodeObject *node, PyObject *handles)
{
    KeptObjects *kept = graph_kept(node->graph);
    if (make_key(node) < 0 || captured_own(kept) < 0) return -1;
    return PyDict_SetItem(kept->dict, node->key, handles);
}

PyObject *graph_find_bodies(GraphNodeObject *node)
{
    if (make_key(node) < 0) return NULL;
    PyObject *found = PyDict_GetItemWithError(graph_kept(node->graph)->dict, node->key);
    return found && PyTuple_CheckExact(found) ? found : NULL;
}

/* The driver may give the node's handle to another node. */
int graph_forget_node(GraphNodeObject *node)
{
    KeptObjects *kept = graph_kept(node->graph);
    if (make_key(node) < 0 || captured_own(kept) < 0) return -1;
    kept->version = captured_new_version();
    if (PyDict_DelItem(kept->dict, node->key) == 0) return 0;
    if (!PyErr_ExceptionMatches(PyExc_KeyError)) return -1;
    PyErr_Clear();
    return 0;
}
