/* See section.h. */
#include "ext/base/section.h"

#ifdef Py_GIL_DISABLED

/* ---- The lock ---- */

enum { INACTIVE = 1, TWO_MUTEXES = 2 }; /* tags of PyThreadState.critical_section */

#if PY_VERSION_HEX < 0x030E0000
/* CPython 3.13 has critical sections of objects only. Of this one nothing but its mutex is used. */
static PyObject locked_object;
#define locked locked_object.ob_mutex

/* Whether the innermost critical section of the thread is active and this one: entering it again would make
 * the thread wait for itself, for which CPython 3.13 suspends it. */
static bool is_in_section(void)
{
    uintptr_t innermost = PyThreadState_GetUnchecked()->critical_section;
    if (!innermost || innermost & (INACTIVE | TWO_MUTEXES)) return false;
    return ((PyCriticalSection *)innermost)->_cs_mutex == &locked;
}

static void begin(PyCriticalSection *own) { PyCriticalSection_Begin(own, &locked_object); }
#else
static PyMutex locked;

static bool is_in_section(void) { return false; } /* CPython looks itself */

static void begin(PyCriticalSection *own) { PyCriticalSection_BeginMutex(own, &locked); }
#endif

/* At the end of the interpreter the thread that ends it is the only one left. Threads that waited for the
 * lock do so forever, and one of them may have been made its owner. */
void section_enter(Section *section)
{
    section->entered = !is_in_section() && !ext_is_finalizing();
    if (section->entered) begin(&section->own);
}

void section_leave(Section *section)
{
    if (section->entered) PyCriticalSection_End(&section->own);
}

/* Whether the thread has the lock, be it of a section further out. */
static bool holds_lock(void)
{
    const PyThreadState *thread = PyThreadState_GetUnchecked();
    uintptr_t at = thread ? thread->critical_section : 0;
    while (at && !(at & INACTIVE)) {
        const PyCriticalSection *one = (const PyCriticalSection *)(at & ~(uintptr_t)TWO_MUTEXES);
        if (one->_cs_mutex == &locked) return true;
        at = one->_cs_prev;
    }
    return false;
}

/* A thread that waits for the lock for long is made its owner while it is detached: CPython stops all threads
 * for a fork, and in the child no thread would unlock it. */
void section_after_fork(void)
{
    enum { UNLOCKED, LOCKED }; /* without waiting threads */
    locked._bits = holds_lock() ? LOCKED : UNLOCKED;
}

/* ---- Objects in tables that own no reference ---- */

#if PY_VERSION_HEX < 0x030E0000
/* As PyUnstable_EnableTryIncRef: a count of other threads' references that is not 0 makes the owner of an
 * object merge both counts before it ends, so that there is one word which says whether it has ended. */
void section_enable_find(PyObject *object)
{
    Py_ssize_t none = 0;
    _Py_atomic_compare_exchange_ssize(&object->ob_ref_shared, &none, _Py_REF_MAYBE_WEAKREF);
}

/* As PyUnstable_TryIncRef. */
bool section_find(PyObject *object)
{
    if (_Py_IsOwnedByCurrentThread(object)) {
        Py_INCREF(object);
        return true;
    }
    Py_ssize_t shared = _Py_atomic_load_ssize_relaxed(&object->ob_ref_shared);
    do {
        if (shared == 0 || shared == _Py_REF_MERGED) return false;
    } while (!_Py_atomic_compare_exchange_ssize(&object->ob_ref_shared, &shared,
                                                shared + (1 << _Py_REF_SHARED_SHIFT)));
    return true;
}
#else
void section_enable_find(PyObject *object) { PyUnstable_EnableTryIncRef(object); }

bool section_find(PyObject *object) { return PyUnstable_TryIncRef(object); }
#endif

/* ---- Entries ---- */

typedef void (*AnyFn)(void);

/* The entries of a kind. Each enters the section and calls the function at its place in `targets`. */
typedef struct Entries {
    AnyFn *targets; /* from the first on; the rest is NULL */
    const AnyFn *entries;
    size_t capacity;
} Entries;

/* M(row, number) for the numbers n0 to n7, n00 to n77 and so on, in octal. */
#define EIGHT(M, row, n) \
    M(row, n##0) M(row, n##1) M(row, n##2) M(row, n##3) M(row, n##4) M(row, n##5) M(row, n##6) M(row, n##7)
#define BLOCK(M, row, n) \
    EIGHT(M, row, n##0) \
    EIGHT(M, row, n##1) \
    EIGHT(M, row, n##2) \
    EIGHT(M, row, n##3) \
    EIGHT(M, row, n##4) \
    EIGHT(M, row, n##5) \
    EIGHT(M, row, n##6) \
    EIGHT(M, row, n##7)
#define BLOCKS_1(M, row) BLOCK(M, row, 00)
#define BLOCKS_2(M, row) BLOCKS_1(M, row) BLOCK(M, row, 01)
#define BLOCKS_4(M, row) BLOCKS_2(M, row) BLOCK(M, row, 02) BLOCK(M, row, 03)
#define BLOCKS_8(M, row) \
    BLOCKS_4(M, row) BLOCK(M, row, 04) BLOCK(M, row, 05) BLOCK(M, row, 06) BLOCK(M, row, 07)

#define LIST_OF(...) __VA_ARGS__
#define CALL(M, ...) M(__VA_ARGS__)
#define ENTRY(row, number) CALL(ENTRY_OF, LIST_OF row, number)
#define ENTRY_OF(name, result, params, args, number) \
    static result name##_entry_##number params \
    { \
        Section section; \
        section_enter(&section); \
        result value = ((result(*) params)name##_targets[number])args; \
        section_leave(&section); \
        return value; \
    }
/* The object has no references anymore: the collector, which may run while this thread waits, would take one
 * that is tracked for garbage and end it again. */
static void untrack(PyObject *object)
{
    if (PyObject_IS_GC(object)) PyObject_GC_UnTrack(object);
}
#define ENTRY_WITHOUT_RESULT(row, number) CALL(ENTRY_WITHOUT_RESULT_OF, LIST_OF row, number)
#define ENTRY_WITHOUT_RESULT_OF(name, params, args, number) \
    static void name##_entry_##number params \
    { \
        Section section; \
        untrack args; \
        section_enter(&section); \
        ((void(*) params)name##_targets[number]) args; \
        section_leave(&section); \
    }
#define ADDRESS(name, number) (AnyFn) name##_entry_##number,

#define KIND(name, result, params, args, blocks) \
    static AnyFn name##_targets[(blocks) * 64]; \
    BLOCKS_##blocks(ENTRY, (name, result, params, args)) static const AnyFn name##_entries[] = { \
        BLOCKS_##blocks(ADDRESS, name)};
#define NOTHING(name, params, args, blocks) \
    static AnyFn name##_targets[(blocks) * 64]; \
    BLOCKS_##blocks(ENTRY_WITHOUT_RESULT, (name, params, args)) static const AnyFn name##_entries[] = { \
        BLOCKS_##blocks(ADDRESS, name)};
#include "ext/base/section_kinds.def"

/* The entry of a function, which may be an entry already. NULL with SystemError if there is none left. */
static AnyFn find_entry(Entries kind, AnyFn function)
{
    for (size_t i = 0; i < kind.capacity; i++) {
        if (kind.entries[i] == function) return function;
        if (!kind.targets[i]) kind.targets[i] = function;
        if (kind.targets[i] == function) return kind.entries[i];
    }
    PyErr_Format(PyExc_SystemError, "ext/base/section_kinds.def has too few entries: %zu", kind.capacity);
    return NULL;
}

#define KIND(name, result, params, args, blocks) \
    static AnyFn enter_##name(AnyFn function) \
    { \
        return find_entry((Entries){name##_targets, name##_entries, (blocks) * 64}, function); \
    }
#define NOTHING(name, params, args, blocks) KIND(name, void, params, args, blocks)
#include "ext/base/section_kinds.def"

/* ---- Of methods, properties and slots ---- */

PyMethodDef *section_method(PyMethodDef *method)
{
    AnyFn function = (AnyFn)method->ml_meth, entry;
    switch (method->ml_flags & (METH_VARARGS | METH_KEYWORDS | METH_NOARGS | METH_O | METH_FASTCALL)) {
    case METH_FASTCALL | METH_KEYWORDS: entry = enter_keywords(function); break;
    case METH_FASTCALL: entry = enter_fast(function); break;
    case METH_VARARGS | METH_KEYWORDS: entry = enter_ternary(function); break;
    default: entry = enter_binary(function);
    }
    method->ml_meth = (PyCFunction)entry;
    return entry ? method : NULL;
}

PyMethodDef *section_methods(PyMethodDef *methods)
{
    for (PyMethodDef *method = methods; method->ml_name; method++)
        if (!section_method(method)) return NULL;
    return methods;
}

static PyGetSetDef *enter_properties(PyGetSetDef *properties)
{
    for (PyGetSetDef *property = properties; property->name; property++) {
        if (property->get && !(property->get = (getter)enter_get((AnyFn)property->get))) return NULL;
        if (property->set && !(property->set = (setter)enter_set((AnyFn)property->set))) return NULL;
    }
    return properties;
}

void *section_slot(int slot, void *value)
{
    switch (slot) {
    case Py_tp_doc:
    case Py_tp_traverse:
    case Py_tp_members: return value;
    case Py_tp_methods: return section_methods(value);
    case Py_tp_getset: return enter_properties(value);
#define SLOT(slot, kind) \
    case Py_##slot: return (void *)enter_##kind((AnyFn)value);
#include "ext/base/section_kinds.def"
    default:
        PyErr_Format(PyExc_SystemError, "slot %d is not in ext/base/section_kinds.def", slot);
        return NULL;
    }
}

vectorcallfunc section_vectorcall(vectorcallfunc function)
{
    return (vectorcallfunc)enter_vectorcall((AnyFn)function);
}

destructor section_destructor(destructor function) { return (destructor)enter_end((AnyFn)function); }

#endif
