/* See free_list.h. */
#include "ext/base/ext.h"

#include <string.h>

#if defined(Py_GIL_DISABLED) || defined(__SANITIZE_ADDRESS__)
enum { MAX = 0 };
#else
enum { MAX = FREE_LIST_CAPACITY };
#endif

PyObject *free_list_new(FreeList *list, PyTypeObject *type)
{
    if (list->count == 0) return type->tp_alloc(type, 0);
    PyObject *object = list->objects[--list->count];
    memset((char *)object + sizeof *object, 0, (size_t)type->tp_basicsize - sizeof *object);
    PyObject_Init(object, type); /* a reference to the type */
    if (list->collected) PyObject_GC_Track(object);
    return object;
}

void free_list_end(FreeList *list, PyTypeObject *own, PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    if (type == own && list->count < MAX) {
        list->collected = PyType_HasFeature(type, Py_TPFLAGS_HAVE_GC);
        list->objects[list->count++] = object;
    } else {
        type->tp_free(object);
    }
    Py_DECREF((PyObject *)type); /* and with it, perhaps, the module and the list */
}

void free_list_clear(FreeList *list)
{
    while (list->count > 0) {
        PyObject *object = list->objects[--list->count];
        Py_SET_TYPE(object, &PyTuple_Type); /* its own is gone, and freeing reads the type's flags */
        if (list->collected)
            PyObject_GC_Del(object);
        else
            PyObject_Free(object);
    }
}
