/* See lost.h. */
#include "ext/base/lost.h"

#include <string.h>

#include "ext/base/driver_calls.h"

typedef struct LostContext {
    struct LostContext *next;
    CUcontext handle;
    char text[]; /* of the exception that reported the fault */
} LostContext;

/* The handle of the current context, or NULL. The GIL is held. */
static CUcontext current_handle(ModuleState *state)
{
    CUcontext handle = NULL;
    CUresult result = try_cuCtxGetCurrent(state, &handle);
    return result == CUDA_SUCCESS ? handle : NULL;
}

/* The link to the context's record; a link to NULL when it has none. */
static LostContext **find_link(ModuleState *state, CUcontext handle)
{
    LostContext **link = &state->lost;
    while (*link && (*link)->handle != handle) link = &(*link)->next;
    return link;
}

const char *lost_text(ModuleState *state)
{
    CUcontext handle = state->lost ? current_handle(state) : NULL;
    const LostContext *lost = handle ? *find_link(state, handle) : NULL;
    return lost ? lost->text : NULL;
}

void lost_note(ModuleState *state, const char *text)
{
    CUcontext handle = current_handle(state);
    size_t size = strlen(text) + 1;
    if (!handle || *find_link(state, handle)) return;
    LostContext *lost = PyMem_RawMalloc(sizeof *lost + size);
    if (!lost) return;
    lost->handle = handle;
    memcpy(lost->text, text, size);
    lost->next = state->lost;
    state->lost = lost;
}

const char *lost_advice(void)
{
    const char *own = driver_fault_advice();
    return own ? own : "restart the program";
}

void lost_forget(ModuleState *state, CUcontext handle)
{
    LostContext **link = find_link(state, handle), *lost = *link;
    if (!lost) return;
    *link = lost->next;
    PyMem_RawFree(lost);
}

void lost_clear(ModuleState *state)
{
    while (state->lost) {
        LostContext *lost = state->lost;
        state->lost = lost->next;
        PyMem_RawFree(lost);
    }
}
