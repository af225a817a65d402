/* The section: where CPython has no GIL, one thread at a time is in this module.
 *
 * The code of ext/ is written for one lock, which a thread holds while it runs C and releases around driver
 * calls (gate.h) and where Python may run. With the GIL that lock is the GIL, and this header is empty.
 * Without it the lock is a critical section of CPython's on one mutex of the process. CPython suspends it
 * whenever the thread detaches from the interpreter, which is where it would release the GIL: so neither a
 * driver call nor a lock of Python's is waited for in it.
 *
 * It is entered by what CPython calls: section_slot() and the functions below put an entry, which enters the
 * section and calls the function, in the place of every function of a type or a table of methods when that
 * is made. So nothing that is added to the module needs to do it. What else is called from outside, by a
 * driver's thread, CPython's list of pending calls or another library, has SECTION_BEGIN and SECTION_END.
 *
 * Outside of the section stay tp_traverse, for which all threads stand still, and PyMemberDef: a member is
 * set before other threads see its object, or is a number.
 *
 * A thread that has dropped the last reference to an object waits for the section before tp_dealloc runs. So
 * that the garbage collector does not end such an object too, its entry untracks it before it waits; a table
 * that owns no reference to its objects takes one by section_find().
 */
#ifndef EXT_BASE_SECTION_H
#define EXT_BASE_SECTION_H

#include "ext/base/ext.h"

#ifdef Py_GIL_DISABLED

typedef struct Section {
    PyCriticalSection own;
    bool entered; /* false: the thread was in it already, or is the only one left */
} Section;

/* Neither fails. They nest. */
void section_enter(Section *section);
void section_leave(Section *section);

#define SECTION_BEGIN() \
    { \
        Section section_here; \
        section_enter(&section_here);
#define SECTION_END() \
    section_leave(&section_here); \
    }

/* The value of a slot of a type with an entry in the place of each function. NULL with SystemError when the
 * slot is not in section_kinds.def, or more functions than it says are entered. */
void *section_slot(int slot, void *value);

/* The same for rows of methods, which are changed, and for other functions that CPython calls. Called while
 * the module is made, but the last, which is called for the same functions each time. */
PyMethodDef *section_methods(PyMethodDef *methods);
PyMethodDef *section_method(PyMethodDef *method);
vectorcallfunc section_vectorcall(vectorcallfunc function);
destructor section_destructor(destructor function);

/* Called for a new object: section_find() may be called for it. */
void section_enable_find(PyObject *object);

/* Takes a reference to an object that a table has without one. False when there is none left: its tp_dealloc
 * has yet to get the section. */
bool section_find(PyObject *object);

/* Called in a forked child: threads that held the section or were its next owners are not there. */
void section_after_fork(void);

#else

#define SECTION_BEGIN() {
#define SECTION_END() }

static inline void *section_slot(int slot, void *value) { return (void)slot, value; }
static inline PyMethodDef *section_methods(PyMethodDef *methods) { return methods; }
static inline PyMethodDef *section_method(PyMethodDef *method) { return method; }
static inline vectorcallfunc section_vectorcall(vectorcallfunc function) { return function; }
static inline destructor section_destructor(destructor function) { return function; }
static inline void section_enable_find(PyObject *object) { (void)object; }
static inline bool section_find(PyObject *object) { return Py_INCREF(object), true; }
static inline void section_after_fork(void) {}

#endif
#endif
