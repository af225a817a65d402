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
 */
#ifndef EXT_BASE_SECTION_H
#define EXT_BASE_SECTION_H

#include "ext/base/ext.h"

#ifdef Py_GIL_DISABLED

typedef struct Section {
    PyCriticalSection own;
    bool is_nested; /* the thread was in it already */
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

#else

#define SECTION_BEGIN() {
#define SECTION_END() }

static inline void *section_slot(int slot, void *value) { return (void)slot, value; }
static inline PyMethodDef *section_methods(PyMethodDef *methods) { return methods; }
static inline PyMethodDef *section_method(PyMethodDef *method) { return method; }
static inline vectorcallfunc section_vectorcall(vectorcallfunc function) { return function; }
static inline destructor section_destructor(destructor function) { return function; }

#endif
#endif
