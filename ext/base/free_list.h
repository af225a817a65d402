/* Objects of one type that have died, to be made again without the allocator. Programs make and drop arrays
 * by the million, mostly a few at a time.
 *
 * Guarded by the GIL, so free lists are disabled on free-threaded CPython; and under AddressSanitizer, which
 * is to see every object end. What is in a list has no type, no references and nothing of its own.
 */
#ifndef EXT_BASE_FREE_LIST_H
#define EXT_BASE_FREE_LIST_H

#include <stdbool.h>

enum { FREE_LIST_CAPACITY = 64 };

typedef struct FreeList {
    int count;
    bool collected; /* by the garbage collector: as the type says */
    PyObject *objects[FREE_LIST_CAPACITY];
} FreeList;

/* type->tp_alloc(type, 0), for the one type that the list is for and not its subclasses. */
PyObject *free_list_new(FreeList *list, PyTypeObject *type);

/* type->tp_free(object) and the type's reference dropped: the end of tp_dealloc. `own` is the type that the
 * list is for. The collector does not track the object anymore. */
void free_list_end(FreeList *list, PyTypeObject *own, PyObject *object);

/* Called when the module is freed: no object is left. */
void free_list_clear(FreeList *list);

#endif
