/* Objects of one type that have died, to be made again without the allocator. Programs make and drop arrays
 * by the million, mostly a few at a time.
 *
 * Disabled on free-threaded CPython, whose threads look at the memory of objects that have died, and under
 * AddressSanitizer, which is to see every object end. What is in a list has no type, no references and
 * nothing of its own.
 */
#ifndef EXT_BASE_FREE_LIST_H
#define EXT_BASE_FREE_LIST_H

#include <stdbool.h>

enum { FREE_LIST_CAPACITY = 64 };

typedef struct FreeList {
    int count;
    bool collected; /* the garbage collector tracks objects of this type */
    PyObject *objects[FREE_LIST_CAPACITY];
} FreeList;

/* type->tp_alloc(type, 0), for the one type that the list is for and not its subclasses. */
PyObject *free_list_new(FreeList *list, PyTypeObject *type);

/* The end of tp_dealloc: puts the object into the list or frees it, and drops its reference to the type.
 * `own` is the type that the list is for. The garbage collector must not track the object anymore. */
void free_list_end(FreeList *list, PyTypeObject *own, PyObject *object);

/* Called when the module is freed: no object is left. */
void free_list_clear(FreeList *list);

#endif
