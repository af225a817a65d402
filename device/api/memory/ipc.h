/* Memory of other processes. */
#ifndef DEVICE_API_MEMORY_IPC_H
#define DEVICE_API_MEMORY_IPC_H

#include "api/base/ipc_handle.h"
#include "api/context/context.h"

/* Maps memory of another process, a part of that file, for the context, or for a pool of it if `pool` is not
 * NULL. per_call: at a new address, until ipc_release. Otherwise all calls for one allocation get the same
 * address, until as many calls of cuIpcCloseMemHandle. */
CUresult ipc_map(Context *context, const IpcHandle *handle, const SharedFile *file, Pool *pool, bool per_call,
                 CUdeviceptr *out);
/* Ends a mapping that was made per_call; false when there is none at that address. */
bool ipc_release(CUdeviceptr address);

#endif
