/* What is known of peer access: the access of a context to the memory of another one, on another device.
 *
 * The driver knows one kind of access. The module enables it for copies by itself, so that these do not go
 * through the host; what the user, or another library, has enabled is for kernels as well. The records are
 * those of the driver's contexts, not of the objects for them: a primary context may have several, one after
 * another. They belong to the module's state, and are used with the GIL. */
#ifndef EXT_BASE_PEER_ACCESS_H
#define EXT_BASE_PEER_ACCESS_H

#include "ext/base/ext.h"

typedef struct PeerAccess {
    struct PeerAccess *next;
    CUcontext from, to;             /* the context, and the one to whose memory it has access */
    uint64_t from_serial, to_serial; /* of the objects for which it was requested last */
    CUdevice device;                /* of `to`; NOT_FOR_COPIES: not possible, or enabled by others */
} PeerAccess;

enum { NOT_FOR_COPIES = -1 };

/* The record, or NULL. */
PeerAccess *peer_access_find(ModuleState *state, CUcontext from, CUcontext to);

/* The record, a new one if there is none yet; NULL without an exception when there is no memory for it. */
PeerAccess *peer_access_make(ModuleState *state, CUcontext from, CUcontext to);

/* Whether kernels of the current context may use the memory at this address, on another device: there is
 * access, and not for copies only. peer: the context that the memory was allocated in, NULL if that is not
 * known. */
bool peer_access_is_open(ModuleState *state, CUcontext peer, CUdevice device, CUdeviceptr address);

/* Removes the record; nothing if there is none. */
void peer_access_remove(ModuleState *state, CUcontext from, CUcontext to);

/* Called when the context has ended: another one may get its handle. */
void peer_access_forget(ModuleState *state, CUcontext handle);

void peer_access_clear(ModuleState *state);

#endif
