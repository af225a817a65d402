/* Initializing the driver, noticing a fork, and the context that a thread gets when it has none: the primary
 * context of the device that CUDA_DEVICE or ~/.cuda_device names, else of device 0. A thread that has pushed
 * one itself gets no other. */
#include "ext/context/context.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/settings.h"
#include "ext/base/driver_calls.h"
#include "ext/base/launch_site.h"

void context_note_initialized(ModuleState *state)
{
    if (gate_note_initialized()) return;
    errors_skip_log(state);
    launch_sites_open(state);
}

/* The CPU device's message about a failed cuInit; NULL for other drivers. CALL_CORE is for the GIL: the call
 * itself cannot fail. */
static const char *init_problem(ModuleState *state)
{
    CUresult ignored;
    const char *problem = NULL;
    CALL_CORE(state, ignored, ASKS_ONCE, (problem = driver_init_problem(), CUDA_SUCCESS));
    (void)ignored;
    return problem;
}

/* cuInit itself answers that it is not initialized only in a child of a process that had used the driver
 * without us. */
int context_init_driver(ModuleState *state, unsigned flags)
{
    char settings_problem[1024];
    if (!gate_is_initialized()
        && settings_misspelled(driver_settings_read(), settings_problem, sizeof settings_problem)
        && PyErr_WarnEx(PyExc_UserWarning, settings_problem, 1) < 0)
        return -1;
    if (!settings_are_valid(settings_problem, sizeof settings_problem)) {
        raise_driver(state, CUDA_ERROR_INVALID_VALUE, "cuInit", "%s", settings_problem);
        return -1;
    }
    CUresult result = once_cuInit(state, flags);
    const char *problem = result == CUDA_SUCCESS ? NULL : init_problem(state);
    if (result == CUDA_ERROR_NOT_INITIALIZED && !forked_after_init())
        raise_driver(state, result, "cuInit",
                     "CUDA cannot be used in a process forked after it was initialized");
    else if (result != CUDA_SUCCESS)
        raise_driver(state, result, "cuInit", problem ? "%s" : NULL, problem);
    if (result != CUDA_SUCCESS) return -1;
    context_note_initialized(state);
    return errors_warn_of_notice();
}

int context_init_default(ModuleState *state)
{
    return gate_is_initialized() ? 0 : context_init_driver(state, 0);
}

/* source: where the text is from, for the message. -1 with LogicError. */
static int parse_ordinal(ModuleState *state, const char *text, const char *source, int *ordinal)
{
    enum { ORDINAL_MAX = 65535 };
    char *end;
    errno = 0;
    long number = strtol(text, &end, 10);
    if (end == text || end[strspn(end, " \t\r\n")] != '\0' || errno || number < 0 || number > ORDINAL_MAX) {
        raise_logic(state, "%s is \"%.40s\": it must be a device ordinal", source, text);
        return -1;
    }
    *ordinal = (int)number;
    return 0;
}

/* Reads the first line of ~/.cuda_device. False when there is no such file or nothing in it. */
static bool read_home_file(char *text, size_t size)
{
    char path[4096];
    const char *home = getenv("HOME");
    int length = home ? snprintf(path, sizeof path, "%s/.cuda_device", home) : -1;
    FILE *file = length > 0 && (size_t)length < sizeof path ? fopen(path, "r") : NULL;
    if (!file) return false;
    bool found = fgets(text, (int)size, file) != NULL;
    fclose(file);
    return found;
}

/* *ordinal: of the default device. -1 with LogicError when CUDA_DEVICE or the file contains no ordinal. */
static int default_ordinal(ModuleState *state, int *ordinal)
{
    char text[64];
    const char *given = getenv("CUDA_DEVICE");
    *ordinal = 0;
    if (given && *given) return parse_ordinal(state, given, "CUDA_DEVICE", ordinal);
    if (read_home_file(text, sizeof text))
        return parse_ordinal(state, text, "the content of ~/.cuda_device", ordinal);
    return 0;
}

/* Sets state->default_context, unless it is there and was not detached. -1 with an exception. */
static int find_default(ModuleState *state)
{
    int ordinal;
    CUdevice device;
    PyObject *old = state->default_context;
    if (old && !context_cast(old)->detached) return 0;
    if (default_ordinal(state, &ordinal) < 0) return -1;
    CUresult result = once_cuDeviceGet(state, &device, ordinal);
    if (result != CUDA_SUCCESS) {
        raise_driver(state, result, "cuDeviceGet", "while creating the default context on device %d",
                     ordinal);
        return -1;
    }
    PyObject *context = context_retain_primary(state, device);
    if (!context) return -1;
    context_count(context_cast(context), false);
    Py_XSETREF(state->default_context, context);
    return 0;
}

int context_make_default(ModuleState *state, CUresult result)
{
    CUcontext current = NULL;
    if (forked_after_init() || ext_is_finalizing()) return 1;
    if (result == CUDA_ERROR_NOT_INITIALIZED && context_init_driver(state, 0) < 0) return -1;
    if (gpu_cuCtxGetCurrent(state, &current) < 0) return -1;
    if (current) return result == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1;
    if (context_stack_is_used(state)) {
        raise_driver(state, CUDA_ERROR_CONTEXT_IS_DESTROYED, "cuCtxGetCurrent",
                     "the context on top of this thread's stack is no longer current: it was detached, or "
                     "other code popped it");
        return -1;
    }
    if (find_default(state) < 0) return -1;
    ContextObject *context = context_hold(context_cast(state->default_context));
    CUresult set = once_cuCtxSetCurrent(state, context->handle);
    context_drop(context);
    if (set == CUDA_SUCCESS) return 0;
    raise_driver(state, set, "cuCtxSetCurrent", "the default context could not be made current");
    return -1;
}
