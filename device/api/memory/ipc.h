/* Memory of other processes. */
#ifndef DEVICE_API_MEMORY_IPC_H
#define DEVICE_API_MEMORY_IPC_H

#include "api/base/ipc_handle.h"
#include "api/context/context.h"

/* Maps memory of another process, which is in that file, for the context; with a pool it belongs to the pool.
 * `per_call`: at a new address, until ipc_release; otherwise all calls for one allocation get the same
 * address. */
CUresult ipc_map(Context *context, const IpcHandle *handle, const SharedFile *file, Pool *pool, bool per_call,
                 CUdeviceptr *out);
/* Ends a mapping that was made per_call; false when there is none at that address. */
bool ipc_release(CUdeviceptr address);

#endif
