/* See gate.h. */
#include "ext/base/gate.h"

#include "ext/base/errors.h"
#include "ext/base/section.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { WAIT_MILLISECONDS = 5000, NANOSECONDS_PER_MILLISECOND = 1000000 };

/* Facts of the process, not of a module: it ends once. */
static atomic_long inside; /* threads between gate_enter() and gate_leave() */
static atomic_bool over; /* the interpreter has ended */
static atomic_bool waits_at_exit; /* wait_for_threads_in_driver is registered */
static atomic_bool initialized; /* the driver is */
atomic_bool gate_forked;
static pthread_once_t watch_once = PTHREAD_ONCE_INIT;

bool gate_enter(void)
{
    atomic_fetch_add_explicit(&inside, 1, memory_order_relaxed);
    return ext_is_finalizing();
}

/* Returns unless another thread is finalizing the interpreter; then this thread blocks here forever. */
void gate_leave(bool ends_interpreter)
{
    atomic_fetch_sub_explicit(&inside, 1, memory_order_release);
    if (ends_interpreter || (!atomic_load_explicit(&over, memory_order_relaxed) && !ext_is_finalizing()))
        return;
    for (;;) pause();
}

#ifdef __GLIBC__
/* Registered last, so called before all other exit functions. Ends the process without them: while a thread
 * is inside a library, none may be torn down. */
static void leave_at_once(int status, void *Py_UNUSED(nothing))
{
    fflush(NULL);
    _exit(status);
}
#endif

/* Called after the interpreter has ended. If threads are still inside after 5 s, the process skips the
 * teardown of libraries (leave_at_once). */
static void wait_for_threads_in_driver(void)
{
    struct timespec moment = {.tv_nsec = NANOSECONDS_PER_MILLISECOND};
    atomic_store(&over, true);
    atomic_store(&waits_at_exit, false);
    for (int i = 0; i < WAIT_MILLISECONDS && atomic_load(&inside) > 0; i++) nanosleep(&moment, NULL);
#ifdef __GLIBC__
    if (atomic_load(&inside) > 0) on_exit(leave_at_once, NULL);
#endif
}

bool gate_note_initialized(void) { return atomic_exchange(&initialized, true); }

bool gate_is_initialized(void) { return atomic_load(&initialized); }

/* Called in a forked child, which has none of the other threads. */
static void in_child(void)
{
    atomic_store(&inside, 0);
    section_after_fork();
    if (gate_is_initialized()) atomic_store(&gate_forked, true);
}

static void watch_forks(void) { pthread_atfork(NULL, NULL, in_child); }

/* Registers the wait once for each interpreter that the process starts, one after another. Py_AtExit has 32
 * places; if they are taken, the C library's atexit is used. */
int gate_setup(PyObject *Py_UNUSED(module), ModuleState *Py_UNUSED(state))
{
    pthread_once(&watch_once, watch_forks);
    atomic_store(&over, false);
    if (atomic_exchange(&waits_at_exit, true) || Py_AtExit(wait_for_threads_in_driver) == 0
        || atexit(wait_for_threads_in_driver) == 0)
        return 0;
    PyErr_SetString(PyExc_ImportError, "pycuda._driver could not register its exit handler");
    return -1;
}
