/* See deferred.h. */
#include "ext/base/deferred.h"

#include "ext/base/errors.h"
#include "ext/base/section.h"

/* The list is guarded by the state's lock. */
typedef struct Deferred {
    struct Deferred *next;      /* in ModuleState.deferred */
    destructor function;        /* called with the object; NULL: only the reference is released */
    PyObject *object;
    bool owned;                 /* `object` is a reference; if false, `function` deallocates the object */
    PyObject *type; /* set by deferred_new: a reference, which release_in_main_thread releases */
} Deferred;

/* ---- The thread that releases ---- */

/* Called by Python's main thread between two instructions. type: a reference to a type of this module, which
 * keeps the state alive. */
static int release_in_main_thread(void *type)
{
    ModuleState *state = state_of_type(type);
    SECTION_BEGIN();
    state->deferred_asked = false;
    deferred_release(state);
    SECTION_END();
    Py_DECREF((PyObject *)type);
    return 0;
}

/* Asks the main thread to release what is in the list. If Python's list of pending calls is full, the next
 * thread that calls deferred_release() does it. */
static void signal_main_thread(ModuleState *state)
{
    if (state->deferred_asked) return;
    PyObject *type = Py_NewRef((PyObject *)state->Context_type);
    state->deferred_asked = Py_AddPendingCall(release_in_main_thread, type) == 0;
    if (!state->deferred_asked) Py_DECREF(type);
}

/* Takes the first entry out of the list. NULL when it is empty. */
static Deferred *take_first(ModuleState *state)
{
    state_lock(state);
    Deferred *first = state->deferred;
    if (first) state->deferred = first->next;
    state_unlock(state);
    return first;
}

void deferred_release_all(ModuleState *state)
{
    if (captured_some(state) && captured_close_ended(state)) return;
    for (Deferred *first; !deferred_is_due(state) && (first = take_first(state));) {
        Deferred now = *first;
        PyMem_Free(first);
        if (now.function) now.function(now.object);
        if (now.owned) Py_DECREF(now.object);
    }
}

/* ---- Deferring ---- */

/* Puts an entry into the list. If there is no memory for it, that is reported, and the object leaks. */
static void defer(ModuleState *state, destructor function, PyObject *object, bool owned)
{
    Deferred *item = PyMem_Malloc(sizeof *item);
    if (!item) {
        PyObject *type, *value, *trace;
        PyErr_Fetch(&type, &value, &trace);
        PyErr_NoMemory();
        PyErr_WriteUnraisable((PyObject *)Py_TYPE(object));
        PyErr_Restore(type, value, trace);
        return;
    }
    state_lock(state);
    *item = (Deferred){state->deferred, function, object, owned, NULL};
    state->deferred = item;
    state_unlock(state);
    if (!captured_some(state)) signal_main_thread(state);
}

Deferred *deferred_new(ModuleState *state, PyObject *object)
{
    Deferred *item = PyMem_Malloc(sizeof *item);
    if (item)
        *item = (Deferred){NULL, NULL, object, true, Py_NewRef((PyObject *)state->Context_type)};
    else
        PyErr_NoMemory();
    return item;
}

/* The type is read first: another thread may take the entry as soon as it is in the list. If Python's list of
 * pending calls is full, the reference to the type is leaked: without the GIL it cannot be released here. */
void deferred_post(ModuleState *state, Deferred *entry)
{
    PyObject *type = entry->type;
    state_lock(state);
    entry->next = state->deferred;
    state->deferred = entry;
    state_unlock(state);
    (void)Py_AddPendingCall(release_in_main_thread, type);
}

bool deferred_dealloc_here(ModuleState *state, destructor dealloc, PyObject *self)
{
    defer(state, dealloc, self, false);
    return true;
}

void deferred_free(ModuleState *state, destructor release, PyObject *self)
{
    if (deferred_is_due(state))
        defer(state, release, Py_NewRef(self), true);
    else
        release(self);
}
