/* See errors.h. */
#include "ext/base/driver_calls.h"

#include "ext/base/captured.h"
#include "ext/base/launch_site.h"
#include "ext/base/lost.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/driver_locate.h"

typedef enum ErrorClass {
    CLASS_NONE,
    CLASS_LOGIC,
    CLASS_LAUNCH,
    CLASS_MEMORY,
    CLASS_RUNTIME,
    CLASS_ERROR,
    CLASS_KERNEL,
} ErrorClass;

typedef struct ErrorRow {
    CUresult code;
    ErrorClass cls;
    const char *name, *text;
} ErrorRow;

static const ErrorRow error_rows[] = {
#define CU_ERROR(name, code, cls, text) {name, CLASS_##cls, #name, text},
#include "abi/cuda_errors.def"
#undef CU_ERROR
};

/* The longest text of the driver's log, of a detail, and of a message that has both and the error's text. */
enum { LOG_SIZE = 8192, DETAIL_SIZE = 4096, MESSAGE_SIZE = LOG_SIZE + 3 * DETAIL_SIZE };

static const ErrorRow *find_row(CUresult result)
{
    for (size_t i = 0; i < sizeof error_rows / sizeof error_rows[0]; i++)
        if (error_rows[i].code == result) return &error_rows[i];
    return NULL;
}

static ErrorClass class_of(CUresult result)
{
    const ErrorRow *row = find_row(result);
    return row ? row->cls : CLASS_LOGIC;
}

bool errors_is_fault(CUresult result) { return class_of(result) == CLASS_KERNEL; }

bool errors_is_loss(CUresult result)
{
    return errors_is_fault(result) || result == CUDA_ERROR_CONTEXT_IS_DESTROYED
           || result == CUDA_ERROR_INVALID_CONTEXT || result == CUDA_ERROR_INVALID_HANDLE
           || result == CUDA_ERROR_DEINITIALIZED;
}

/* The driver's text for a result newer than our table. The driver is loaded, for it returned the result. */
static const char *driver_text(ModuleState *state, CUresult result,
                               CUresult (*call)(ModuleState *state, CUresult result, const char **text),
                               const char *otherwise)
{
    const char *text = NULL;
    call(state, result, &text);
    return text ? text : otherwise;
}

const char *errors_name(ModuleState *state, CUresult result)
{
    const ErrorRow *row = find_row(result);
    return row ? row->name : driver_text(state, result, once_cuGetErrorName, "CUDA_ERROR");
}

const char *errors_text(ModuleState *state, CUresult result)
{
    const ErrorRow *row = find_row(result);
    return row ? row->text : driver_text(state, result, once_cuGetErrorString, "unrecognized error code");
}

static PyObject *exception_class(ModuleState *state, ErrorClass cls)
{
    switch (cls) {
    case CLASS_LAUNCH: return state->LaunchError;
    case CLASS_MEMORY: return state->MemoryError;
    case CLASS_RUNTIME: return state->RuntimeError;
    case CLASS_ERROR:
    case CLASS_NONE: return state->Error;
    case CLASS_KERNEL: return state->KernelError;
    default: return state->LogicError;
    }
}

/* What the driver table found wrong (driver_problem), or NULL. Only asked after the results that the table
 * itself answers with: other results are the driver's own. */
static const char *table_problem(CUresult result)
{
    bool may_be_table = result == CUDA_ERROR_NOT_SUPPORTED || result == CUDA_ERROR_NO_DEVICE
                        || result == CUDA_ERROR_INVALID_VALUE;
    return may_be_table ? driver_problem() : NULL;
}

void errors_skip_log(ModuleState *state)
{
    CUlogIterator position;
    CUresult result = CUDA_ERROR_NOT_SUPPORTED;
    if (DRIVER_HAS(cuLogsCurrent)) result = once_cuLogsCurrent(state, &position, 0);
    if (result == CUDA_SUCCESS) atomic_store(&state->log_position, position);
}

/* NVIDIA's driver ends its log lines on a call with one that contains this text and says nothing new. */
static const char call_ends[] = "] Returning ";

/* Leaves only the lines of the last call in the log, without its line that contains `call_ends`: the failures
 * of earlier calls were expected by their callers. A log without such a line is unchanged. */
static void keep_last_call(char *log)
{
    char *last = strstr(log, call_ends), *from = log;
    for (char *next; last && (next = strstr(last + 1, call_ends)); last = next) {
        char *line_end = strchr(last, '\n');
        if (line_end) from = line_end + 1;
    }
    if (!last) return;
    while (last > from && last[-1] != '\n') last--;
    *last = '\0';
    memmove(log, from, strlen(from) + 1);
}

/* Reads what the driver logged of the call that failed, without the last line end; "" when there is nothing.
 */
static void read_log(ModuleState *state, char *log, size_t size)
{
    CUlogIterator position = atomic_load(&state->log_position);
    size_t length = size - 1;
    CUresult result = CUDA_ERROR_NOT_SUPPORTED;
    log[0] = '\0';
    if (DRIVER_HAS(cuLogsDumpToMemory)) result = once_cuLogsDumpToMemory(state, &position, log, &length, 0);
    if (result != CUDA_SUCCESS) return;
    log[length < size ? length : size - 1] = '\0';
    keep_last_call(log);
    for (size_t end = strlen(log); end > 0 && (log[end - 1] == '\n' || log[end - 1] == ' '); end--)
        log[end - 1] = '\0';
    atomic_store(&state->log_position, position);
}

/* Sets the exception's code, name and routine. */
static int set_facts(ModuleState *state, PyObject *exception, CUresult result, const char *routine)
{
    PyObject *code = PyLong_FromLong((long)result), *name = PyUnicode_FromString(errors_name(state, result));
    PyObject *where = PyUnicode_FromString(routine);
    int failed = !code || !name || !where || PyObject_SetAttr(exception, state->str_code, code) < 0
                 || PyObject_SetAttr(exception, state->str_name, name) < 0
                 || PyObject_SetAttr(exception, state->str_routine, where) < 0;
    Py_XDECREF(code);
    Py_XDECREF(name);
    Py_XDECREF(where);
    return failed ? -1 : 0;
}

static void raise_message(ModuleState *state, CUresult result, const char *routine, const char *message)
{
    PyObject *cls = exception_class(state, class_of(result));
    PyObject *text = PyUnicode_DecodeUTF8(message, (Py_ssize_t)strlen(message), "replace");
    PyObject *exception = text ? PyObject_CallOneArg(cls, text) : NULL;
    if (exception && set_facts(state, exception, result, routine) == 0) PyErr_SetObject(cls, exception);
    Py_XDECREF(exception);
    Py_XDECREF(text);
}

static const char fork_text[] =
    "CUDA was initialized before this process was forked and cannot be used in the "
    "child: start processes with the \"spawn\" or \"forkserver\" method";

/* Whether this thread is the driver's and runs a host function. */
static _Thread_local bool in_host_function;
atomic_int host_function_threads;

bool host_function_is_here(void) { return in_host_function; }

bool host_function_enter(void)
{
    bool outer = in_host_function;
    atomic_fetch_add(&host_function_threads, 1);
    in_host_function = true;
    return outer;
}

void host_function_leave(bool outer)
{
    in_host_function = outer;
    atomic_fetch_sub(&host_function_threads, 1);
}

bool host_function_refuses(ModuleState *state, const char *routine)
{
    bool runs = host_function_runs();
    if (runs) raise_driver(state, CUDA_ERROR_NOT_PERMITTED, routine, NULL);
    return runs;
}

static const char host_function_text[] = "driver calls are not allowed in a host function "
                                         "(Stream.launch_host_func): make them in the thread that waits "
                                         "for the stream";

/* Why the driver refuses every call of this process or thread; "" if it does not. */
static const char *caller_text(CUresult result)
{
    if (forked_after_init()) return fork_text;
    return result == CUDA_ERROR_NOT_PERMITTED && host_function_runs() ? host_function_text : "";
}

/* ---- Faults of kernels ---- */

static void drop_kept_fault(ModuleState *state)
{
    PyMem_RawFree(state->kept_fault.log);
    state->kept_fault = (KeptFault){CUDA_SUCCESS, NULL, NULL};
}

/* Whether the log describes a fault: NVIDIA's driver logs that line for every call after one. */
static bool describes_fault(const char *log) { return *log && !strstr(log, "Sticky error detected"); }

/* Whether the log is the CPU device's text for work that the program itself canceled (cancel in wait.c): the
 * user knows why later calls fail. */
static bool describes_interrupt(const char *log) { return strstr(log, "was interrupted by its program"); }

/* Called when a release got a fault: keeps it, to be raised or reported later. The driver describes each
 * fault once. So a fault without a description, after another one was shown, is that same one, and not kept.
 */
static void keep_fault(ModuleState *state, CUresult result, const char *routine)
{
    char log[LOG_SIZE];
    if (atomic_load(&state->fault_shown) || state->kept_fault.result != CUDA_SUCCESS) return;
    read_log(state, log, sizeof log);
    if (describes_interrupt(log)) return;
    if (!describes_fault(log) && state->fault_before) return;
    if (state->kept_fault.result != CUDA_SUCCESS) return; /* another thread kept one during read_log */
    state->kept_fault = (KeptFault){result, routine, NULL};
    size_t size = describes_fault(log) ? strlen(log) + 1 : 0;
    if (size && (state->kept_fault.log = PyMem_RawMalloc(size))) memcpy(state->kept_fault.log, log, size);
}

/* Called when a fault is about to be shown. If the log does not describe it, it is the kept fault: its
 * description becomes the log. A kept fault that differs from the one described stays for later. */
static void read_fault(ModuleState *state, char *log, size_t size)
{
    const char *kept = state->kept_fault.log;
    bool described = describes_fault(log);
    if (!described && kept) snprintf(log, size, "%s", kept);
    if (!described || !kept) drop_kept_fault(state);
    atomic_store(&state->fault_shown, true);
    state->fault_before = true;
}

/* ---- Exceptions ---- */

/* Whether the log takes the place of the error's text "unspecified launch failure", which does not describe
 * the fault. */
static bool log_replaces_text(CUresult result, const char *log)
{
    return result == CUDA_ERROR_LAUNCH_FAILED && *log && driver_fault_advice();
}

/* Raises the error of a call in a context that an earlier fault has ended. first: the text of that fault. */
static PyObject *raise_lost(ModuleState *state, CUresult result, const char *routine, const char *first)
{
    char message[MESSAGE_SIZE];
    snprintf(message, sizeof message, "%s failed: the context is lost, a kernel faulted before: %s (%s)",
             routine, lost_advice(), first);
    raise_message(state, result, routine, message);
    return NULL;
}

/* Appends to the detail `given` what ended the capture in which the call was made. */
static void append_capture_end(const ModuleState *state, char *given)
{
    size_t used = strlen(given);
    if (used) used += (size_t)snprintf(given + used, DETAIL_SIZE - used, " - ");
    if (used < DETAIL_SIZE) captured_describe_end(state, NULL, given + used, DETAIL_SIZE - used);
}

PyObject *raise_driver(ModuleState *state, CUresult result, const char *routine, const char *detail, ...)
{
    char given[DETAIL_SIZE] = "", log[LOG_SIZE] = "", message[MESSAGE_SIZE];
    const char *problem = table_problem(result), *caller = caller_text(result);
    ErrorClass cls = class_of(result);
    if (PyErr_Occurred()) return NULL; /* the reason why no context could be made */
    if (state->captured) captured_note_failure(state, result, routine);
    if (detail) {
        va_list values;
        va_start(values, detail);
        vsnprintf(given, sizeof given, detail, values);
        va_end(values);
    }
    if (state->captured && result == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
        && strcmp(routine, "cuStreamEndCapture") != 0) /* whose message names the capture */
        append_capture_end(state, given);
    if (!*caller && !problem
        && (cls == CLASS_KERNEL || cls == CLASS_LAUNCH || result == CUDA_ERROR_NOT_SUPPORTED))
        read_log(state, log, sizeof log);
    else if (!*caller && !problem)
        errors_skip_log(state);
    if (cls == CLASS_KERNEL) read_fault(state, log, sizeof log);
    const char *lost = cls == CLASS_KERNEL ? lost_text(state) : NULL;
    if (lost) return raise_lost(state, result, routine, lost);
    const char *text = problem ? problem : errors_text(state, result), *after = log;
    if (log_replaces_text(result, log)) {
        text = log;
        after = "";
    }
    snprintf(message, sizeof message, "%s failed: %s%s%s%s%s%s%s", routine, text, *given ? " - " : "", given,
             *after ? " - " : "", after, *caller ? " - " : "", caller);
    if (cls == CLASS_KERNEL) {
        launch_site_describe(state, message + strlen(message), sizeof message - strlen(message));
        lost_note(state, message);
    }
    raise_message(state, result, routine, message);
    return NULL;
}

int raise_unless(ModuleState *state, CUresult result, const char *routine)
{
    if (result == CUDA_SUCCESS) return 0;
    raise_driver(state, result, routine, NULL);
    return -1;
}

PyObject *raise_logic(ModuleState *state, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    PyErr_FormatV(state->LogicError, format, values);
    va_end(values);
    return NULL;
}

static bool report_is_due(CUresult result)
{
    return result != CUDA_SUCCESS && result != CUDA_ERROR_DEINITIALIZED
           && result != CUDA_ERROR_NOT_INITIALIZED && result != CUDA_ERROR_CONTEXT_IS_DESTROYED
           && !forked_after_init() && !ext_is_finalizing();
}

static void report_unraisable(ModuleState *state, CUresult result, const char *routine, const char *when)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *where = PyUnicode_FromString(routine);
    PyErr_Clear();
    raise_driver(state, result, routine, "%s", when);
    PyErr_WriteUnraisable(where);
    Py_XDECREF(where);
    PyErr_Restore(type, value, trace);
}

static const char while_releasing[] = "while an object was released";

void report_driver(ModuleState *state, CUresult result, const char *routine)
{
    if (!report_is_due(result)) return;
    if (class_of(result) == CLASS_KERNEL)
        keep_fault(state, result, routine);
    else
        report_unraisable(state, result, routine, while_releasing);
}

void report_driver_at_exit(ModuleState *state, CUresult result, const char *routine)
{
    if (!report_is_due(result)) return;
    if (class_of(result) != CLASS_KERNEL || !atomic_load(&state->fault_shown))
        report_unraisable(state, result, routine, "at exit");
}

void report_kept_fault(ModuleState *state)
{
    CUresult result = state->kept_fault.result;
    if (report_is_due(result)) report_unraisable(state, result, state->kept_fault.routine, while_releasing);
}

int errors_warn_of_notice(void)
{
    const char *notice = driver_take_notice();
    return notice ? PyErr_WarnEx(PyExc_RuntimeWarning, notice, 1) : 0;
}

typedef struct ExceptionRow {
    const char *name, *doc;
    size_t field; /* in ModuleState */
} ExceptionRow;

#define EXCEPTION(cls, doc) {"pycuda.driver." #cls, doc, offsetof(ModuleState, cls)}
static const ExceptionRow derived[] = {
    EXCEPTION(MemoryError, "The device or the page-locked memory of the host is exhausted."),
    EXCEPTION(LogicError, "An invalid call, most likely because of a bug in the program."),
    EXCEPTION(LaunchError, "A kernel could not be launched, or it failed, which a later call may report."),
    EXCEPTION(RuntimeError, "A failure for reasons outside the program, such as the system or the hardware."),
    EXCEPTION(LibraryError, "A function of cuBLAS or another NVIDIA library failed: code and name are its "
                            "status."),
};
#undef EXCEPTION

static PyObject **exception_slot(ModuleState *state, size_t field)
{
    return (PyObject **)((char *)state + field);
}

static int add_exception(PyObject *module, PyObject **slot, const char *name, const char *doc,
                         PyObject *bases, PyObject *members)
{
    *slot = PyErr_NewExceptionWithDoc(name, doc, bases, members);
    return *slot ? PyModule_AddObjectRef(module, strrchr(name, '.') + 1, *slot) : -1;
}

PyDoc_STRVAR(error_doc,
             "Error(*args)\n--\n\n"
             "Base class of all errors of this package.\n"
             "\nAttributes\n----------\n"
             "code : int or None\n    The CUresult; None when the error is not the driver's, as below.\n"
             "name : str or None\n    Its name, for instance \"CUDA_ERROR_OUT_OF_MEMORY\".\n"
             "routine : str or None\n    The driver function that failed.");

/* Error has a docstring with a text signature. PyErr_NewExceptionWithDoc leaves the signature in __doc__, so
 * __doc__ is set again without it. */
static int add_base(PyObject *module, ModuleState *state)
{
    PyObject *members = Py_BuildValue("{sOsOsO}", "code", Py_None, "name", Py_None, "routine", Py_None);
    PyObject *doc = PyUnicode_FromString(strstr(error_doc, "--\n\n") + strlen("--\n\n"));
    int status = -1;
    if (members && doc
        && add_exception(module, &state->Error, "pycuda.driver.Error", error_doc, NULL, members) == 0)
        status = PyObject_SetAttrString(state->Error, "__doc__", doc);
    Py_XDECREF(doc);
    Py_XDECREF(members);
    return status;
}

static int add_kernel_error(PyObject *module, ModuleState *state)
{
    PyObject *bases = PyTuple_Pack(2, state->LaunchError, state->LogicError);
    int status = bases
                     ? add_exception(module, &state->KernelError, "pycuda.driver.KernelError",
                                     "A running kernel failed: the context is lost. Both a LaunchError and a "
                                     "LogicError.",
                                     bases, NULL)
                     : -1;
    Py_XDECREF(bases);
    return status;
}

int errors_setup(PyObject *module, ModuleState *state)
{
    if (add_base(module, state) < 0) return -1;
    for (size_t i = 0; i < sizeof derived / sizeof derived[0]; i++)
        if (add_exception(module, exception_slot(state, derived[i].field), derived[i].name, derived[i].doc,
                          state->Error, NULL)
            < 0)
            return -1;
    return add_kernel_error(module, state);
}
