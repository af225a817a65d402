/* What the driver answers, as exceptions.
 *
 * Two channels: raise where there is a caller, report where there is none (deallocation, exit).
 * Messages are "cuMemAlloc failed: out of memory - detail"; exceptions carry .code, .name and .routine.
 */
#ifndef EXT_BASE_ERRORS_H
#define EXT_BASE_ERRORS_H

#include "ext/base/ext.h"
#include "ext/base/gate.h"

/* Sets the exception of this result and returns NULL. routine is the driver function without version suffix;
 * detail is NULL or a printf format for what follows " - ". An exception that is set already stays: it is the
 * reason why no context could be made. */
PyObject *raise_driver(ModuleState *state, CUresult result, const char *routine, const char *detail, ...)
    __attribute__((format(printf, 4, 5)));

/* 0, or -1 with the exception of a failed call. */
int raise_unless(ModuleState *state, CUresult result, const char *routine);

/* None after what succeeded, else NULL: the exception is set. */
static inline PyObject *none_unless(int failed) { return failed ? NULL : Py_NewRef(Py_None); }
static inline PyObject *none_or_raise(ModuleState *state, CUresult result, const char *routine)
{
    return none_unless(raise_unless(state, result, routine));
}

/* LogicError with this text, for mistakes found before the driver is called. Returns NULL. The format is
 * PyErr_Format's. */
PyObject *raise_logic(ModuleState *state, const char *format, ...);

/* Whether this result of a query of work means that the work cannot run anymore: the stream or event, its
 * context or the driver is gone, or a kernel faulted. */
bool errors_is_loss(CUresult result);

/* Whether this result means that a kernel faulted; the call that returned it may be unrelated to that kernel.
 */
bool errors_is_fault(CUresult result);

/* Where raising is impossible: hands the error to sys.unraisablehook, keeps a pending exception as it is.
 * Silent for CUDA_SUCCESS, when driver or interpreter shut down, in a forked child, and for a context that is
 * gone. A kernel's fault is not the release's business: what the driver said of it is kept for the next call
 * that meets it and can raise. */
void report_driver(ModuleState *state, CUresult result, const char *routine);

/* As report_driver(), for work that only the end of the program waited for. A kernel's fault is reported,
 * too, unless it was shown before. */
void report_driver_at_exit(ModuleState *state, CUresult result, const char *routine);
/* At the end of the program: reports the fault that report_driver() has kept, if there is one. */
void report_kept_fault(ModuleState *state);

/* "CUDA_ERROR_OUT_OF_MEMORY", and the driver's text for it. Never NULL. */
const char *errors_name(ModuleState *state, CUresult result);
const char *errors_text(ModuleState *state, CUresult result);

/* Issues the RuntimeWarning that the CPU device stands in for a GPU, once. -1 when it became an exception. */
int errors_warn_of_notice(void);

/* Brings *position to the end of the driver's log: what follows belongs to later calls. */
void errors_skip_log(ModuleState *state);

/* Whether this thread runs a host function, in which the driver takes no calls. Mostly no thread runs one:
 * then the count of all threads answers, and nothing of this thread is read. */
extern atomic_int host_function_threads;
bool host_function_is_here(void);
static inline bool host_function_runs(void)
{
    return atomic_load_explicit(&host_function_threads, memory_order_relaxed) > 0 && host_function_is_here();
}

/* Called before and after a host function. They nest: host_function_enter() returns whether this thread was
 * in one already, which host_function_leave() takes. */
bool host_function_enter(void);
void host_function_leave(bool outer);

/* True with the exception CUDA_ERROR_NOT_PERMITTED, which says why, in a host function. Called before
 * anything is changed that only a driver call completes. */
bool host_function_refuses(ModuleState *state, const char *routine);

#define CALL_WANTS_CONTEXT(result) \
    ((result) == CUDA_ERROR_INVALID_CONTEXT || (result) == CUDA_ERROR_NOT_INITIALIZED)

#define CALL_LETS_GO(state) (atomic_load_explicit(&(state)->host_functions, memory_order_relaxed) > 0)

#endif
