/* Access to the memory of other devices (peer access): for kernels when the user asks for it, for copies by
 * itself. The driver knows only one kind. So that array operations on two devices stay refused when a copy
 * was made between them, and that the user's own calls have the results that they would have without such
 * copies, it is noted which access was enabled for copies only (peer_access.h). */
#include "ext/base/driver_calls.h"
#include "ext/base/errors.h"
#include "ext/base/peer_access.h"
#include "ext/context/context.h"
#include "ext/convert/convert.h"

/* Whether the access to this peer was enabled for copies only. From now on it counts as the user's. */
static bool take_over(const ContextObject *context, const ContextObject *peer)
{
    PeerAccess *access = peer_access_find(context->state, context->handle, peer->handle);
    bool was_for_copies = access && access->device != NOT_FOR_COPIES;
    if (access) access->device = NOT_FOR_COPIES;
    return was_for_copies;
}

/* Whether these objects have requested this access. */
static bool is_requested(const PeerAccess *access, const ContextObject *context, const ContextObject *peer)
{
    return access && access->from_serial == context->serial && access->to_serial == peer->serial;
}

/* The access is noted before it is there, as calls of the driver let other threads run. If it is there
 * already, it stays what it was: the user's, or for copies by another object of the same context. */
void context_enable_copies(ContextObject *context, const ContextObject *peer)
{
    ModuleState *state = context->state;
    int possible = 0;
    PeerAccess *access = peer_access_find(state, context->handle, peer->handle);
    if (context->device == peer->device || is_requested(access, context, peer)) return;
    CUresult result = once_cuDeviceCanAccessPeer(state, &possible, context->device, peer->device);
    if (!(access = peer_access_make(state, context->handle, peer->handle))) return;
    const CUdevice before = access->device;
    access->from_serial = context->serial;
    access->to_serial = peer->serial;
    if (result != CUDA_SUCCESS || !possible) return;
    access->device = peer->device;
    if (once_cuCtxEnablePeerAccess(state, peer->handle, 0) == CUDA_SUCCESS) return;
    access = peer_access_find(state, context->handle, peer->handle);
    if (access && access->device != NOT_FOR_COPIES) access->device = before;
}

/* Notes that the user has enabled the access: copies need not request it. */
static void note_users(const ContextObject *context, const ContextObject *peer)
{
    PeerAccess *access = peer_access_make(context->state, context->handle, peer->handle);
    if (!access) return;
    access->from_serial = context->serial;
    access->to_serial = peer->serial;
}

const char enable_peer_access_doc[] =
    PyDoc_STR("enable_peer_access($type, peer, flags=0)\n--\n\n"
              "Let the current context access the memory of another one.\n"
              "\nParameters\n----------\n"
              "peer : Context\n"
              "flags : int\n    Must be 0.\n"
              "\nRaises\n------\n"
              "LogicError\n    Access is not possible, or was enabled before.\n"
              "\nNotes\n-----\n"
              "Calls cuCtxEnablePeerAccess.");
const char disable_peer_access_doc[] = PyDoc_STR("disable_peer_access($type, peer, flags=0)\n--\n\n"
                                                 "End what enable_peer_access began.\n"
                                                 "\nParameters\n----------\n"
                                                 "peer : Context\n"
                                                 "flags : int\n    Ignored.\n"
                                                 "\nNotes\n-----\n"
                                                 "Calls cuCtxDisablePeerAccess.");

/* Reads the arguments. *current: a new reference to the current context. -1 with an exception. */
static int read_peer(PyObject *cls, const char *doc, ContextObject **current, ContextObject **peer,
                     unsigned *flags, FAST_PARAMETERS)
{
    ModuleState *state = state_of_type((PyTypeObject *)cls);
    PyObject *given;
    if (READ_ARGUMENTS(doc, INTO_A(state->Context_type, &given), INTO(flags)) < 0
        || !context_check(context_cast(given), "peer") || !(*current = context_current(state)))
        return -1;
    *peer = context_cast(given);
    return 0;
}

PyObject *context_enable_peer_access(PyObject *cls, FAST_PARAMETERS)
{
    ContextObject *current, *peer;
    unsigned flags = 0;
    if (read_peer(cls, enable_peer_access_doc, &current, &peer, &flags, args, arg_count, keywords) < 0)
        return NULL;
    CUresult result = try_cuCtxEnablePeerAccess(current->state, peer->handle, flags);
    bool was_for_copies = take_over(current, peer);
    if (result == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED && was_for_copies) result = CUDA_SUCCESS;
    if (result == CUDA_SUCCESS) note_users(current, peer);
    PyObject *none = none_or_raise(current->state, result, "cuCtxEnablePeerAccess");
    Py_DECREF((PyObject *)current);
    return none;
}

PyObject *context_disable_peer_access(PyObject *cls, FAST_PARAMETERS)
{
    ContextObject *current, *peer;
    unsigned flags = 0;
    if (read_peer(cls, disable_peer_access_doc, &current, &peer, &flags, args, arg_count, keywords) < 0)
        return NULL;
    const PeerAccess *access = peer_access_find(current->state, current->handle, peer->handle);
    CUresult result = CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
    if (!access || access->device == NOT_FOR_COPIES) {
        result = try_cuCtxDisablePeerAccess(current->state, peer->handle);
        peer_access_remove(current->state, current->handle, peer->handle);
    }
    PyObject *none = none_or_raise(current->state, result, "cuCtxDisablePeerAccess");
    Py_DECREF((PyObject *)current);
    return none;
}
