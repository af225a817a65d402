/* Threads inside the driver, or the compiler, at the end of the process.
 *
 * Libraries are torn down by the C library's exit, after the interpreter's. A daemon thread does not end
 * before: it may be inside a call that releases the GIL, and crash with what is torn down under
 * it. So such calls are counted, and the interpreter's end waits for those inside. New ones do not begin:
 * that takes the GIL, which only the thread that ends it has by then. A thread that comes out too
 * late never returns, as it would not get the GIL again.
 *
 * So the GIL is released here only (tests/layout).
 */
#ifndef EXT_BASE_GATE_H
#define EXT_BASE_GATE_H

#include "ext/base/ext.h"

/* gate_enter() is called while the thread still has the GIL, gate_leave() before it takes the GIL again.
 * gate_enter() returns whether this thread is ending the interpreter, which gate_leave() takes. */
bool gate_enter(void);
void gate_leave(bool ends_interpreter);

/* Notes that the driver is initialized: a child that is forked from now on makes no driver calls. Returns
 * whether that was noted before. */
bool gate_note_initialized(void);
bool gate_is_initialized(void);

/* True in a child that was forked after the driver was initialized. */
extern atomic_bool gate_forked;
static inline bool forked_after_init(void)
{
    return atomic_load_explicit(&gate_forked, memory_order_relaxed);
}

/* What gate_release_gil() returns and gate_take_gil() needs. Between the two the thread is without the GIL.
 */
typedef struct GateThread {
    PyThreadState *thread;
    bool at_end;
} GateThread;

static inline GateThread gate_release_gil(void)
{
    bool at_end = gate_enter();
    return (GateThread){PyEval_SaveThread(), at_end};
}

static inline void gate_take_gil(GateThread released)
{
    gate_leave(released.at_end);
    PyEval_RestoreThread(released.thread);
}

#define WITHOUT_GIL(statement) \
    do { \
        GateThread gate_thread = gate_release_gil(); \
        statement; \
        gate_take_gil(gate_thread); \
    } while (0)

#endif
