/* See peer_access.h. */
#include "ext/base/peer_access.h"

#include "ext/base/driver_calls.h"

/* The link to the record; a link to NULL when there is none. */
static PeerAccess **find_link(ModuleState *state, CUcontext from, CUcontext to)
{
    PeerAccess **link = &state->peer_access;
    while (*link && ((*link)->from != from || (*link)->to != to)) link = &(*link)->next;
    return link;
}

PeerAccess *peer_access_find(ModuleState *state, CUcontext from, CUcontext to)
{
    return *find_link(state, from, to);
}

PeerAccess *peer_access_make(ModuleState *state, CUcontext from, CUcontext to)
{
    PeerAccess *access = peer_access_find(state, from, to);
    if (access || !(access = PyMem_RawMalloc(sizeof *access))) return access;
    *access = (PeerAccess){.next = state->peer_access, .from = from, .to = to, .device = NOT_FOR_COPIES};
    return state->peer_access = access;
}

static bool is_for_copies(ModuleState *state, CUcontext from, CUcontext to, CUdevice device)
{
    for (const PeerAccess *access = state->peer_access; access; access = access->next)
        if (access->from == from && access->device == device && (!to || access->to == to)) return true;
    return false;
}

bool peer_access_is_open(ModuleState *state, CUcontext peer, CUdevice device, CUdeviceptr address)
{
    CUcontext here = NULL;
    CUdeviceptr reached;
    if (try_cuCtxGetCurrent(state, &here) != CUDA_SUCCESS || is_for_copies(state, here, peer, device))
        return false;
    CUresult result =
        once_cuPointerGetAttribute(state, &reached, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, address);
    return result == CUDA_SUCCESS;
}

static void remove_at(PeerAccess **link)
{
    PeerAccess *access = *link;
    *link = access->next;
    PyMem_RawFree(access);
}

void peer_access_remove(ModuleState *state, CUcontext from, CUcontext to)
{
    PeerAccess **link = find_link(state, from, to);
    if (*link) remove_at(link);
}

void peer_access_forget(ModuleState *state, CUcontext handle)
{
    PeerAccess **link = &state->peer_access;
    while (*link) {
        if ((*link)->from == handle || (*link)->to == handle)
            remove_at(link);
        else
            link = &(*link)->next;
    }
}

void peer_access_clear(ModuleState *state)
{
    while (state->peer_access) remove_at(&state->peer_access);
}
