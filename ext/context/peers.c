/* Access to the memory of other devices (peer access): for kernels when the user asks for it, for copies by
 * itself. The driver knows only one kind. So that array operations on two devices stay refused when a copy
 * was made between them, and that the user's own calls have the results that they would have without such
 * copies, a context notes which access was enabled for copies only. */
#include "ext/base/driver_calls.h"
#include "ext/base/errors.h"
#include "ext/context/context.h"
#include "ext/convert/convert.h"

/* The entry for the peer, or NULL. A primary context may have had several objects. */
static CopyPeer *find_peer(ContextObject *context, const ContextObject *peer)
{
    for (int i = 0; i < context->copy_peer_count; i++)
        if (context->copy_peers[i].handle == peer->handle) return &context->copy_peers[i];
    return NULL;
}

/* Whether the access to this peer was enabled for copies only. From now on it counts as the user's. */
static bool take_over(ContextObject *context, const ContextObject *peer)
{
    CopyPeer *entry = find_peer(context, peer);
    bool was_for_copies = entry && entry->device >= 0;
    if (entry) entry->device = -1;
    return was_for_copies;
}

/* The next copy requests access again. */
static void forget_peer(ContextObject *context, const ContextObject *peer)
{
    CopyPeer *entry = find_peer(context, peer);
    if (entry) *entry = context->copy_peers[--context->copy_peer_count];
}

bool context_peer_is_for_copies(const ContextObject *context, const ContextObject *peer, CUdevice device)
{
    for (int i = 0; i < context->copy_peer_count; i++) {
        const CopyPeer *entry = &context->copy_peers[i];
        if (entry->device == device && (!peer || entry->handle == peer->handle)) return true;
    }
    return false;
}

/* The entry for the peer, a new one if there is none yet; NULL if there is no room for it. */
static CopyPeer *make_peer(ContextObject *context, const ContextObject *peer)
{
    CopyPeer *entry = find_peer(context, peer);
    if (entry || context->copy_peer_count == MAX_COPY_PEERS) return entry;
    entry = &context->copy_peers[context->copy_peer_count++];
    *entry = (CopyPeer){peer->serial, peer->handle, -1};
    return entry;
}

/* The access is noted before it is there, as calls of the driver let other threads run. If it is there
 * already, it stays what it was: the user's, or for copies by another object of the same context. */
void context_enable_copies(ContextObject *context, const ContextObject *peer)
{
    int possible = 0;
    CopyPeer *entry = find_peer(context, peer);
    if (context->device == peer->device || (entry && entry->serial == peer->serial)) return;
    CUresult result = once_cuDeviceCanAccessPeer(context->state, &possible, context->device, peer->device);
    if (!(entry = make_peer(context, peer))) return;
    const CUdevice before = entry->device;
    entry->serial = peer->serial;
    if (result != CUDA_SUCCESS || !possible) return;
    entry->device = peer->device;
    if (once_cuCtxEnablePeerAccess(context->state, peer->handle, 0) == CUDA_SUCCESS) return;
    entry = find_peer(context, peer);
    if (entry && entry->device >= 0) entry->device = before;
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
    if (result == CUDA_SUCCESS) make_peer(current, peer);
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
    const CopyPeer *entry = find_peer(current, peer);
    CUresult result = CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
    if (!entry || entry->device < 0) {
        result = try_cuCtxDisablePeerAccess(current->state, peer->handle);
        forget_peer(current, peer);
    }
    PyObject *none = none_or_raise(current->state, result, "cuCtxDisablePeerAccess");
    Py_DECREF((PyObject *)current);
    return none;
}
