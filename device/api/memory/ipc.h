/* Memory of other processes. */
#ifndef DEVICE_API_MEMORY_IPC_H
#define DEVICE_API_MEMORY_IPC_H

#include "api/base/ipc_handle.h"
#include "api/context/context.h"

/* Maps the part of the file that the handle names, memory of another process, for the context. `pool`: the
 * imported pool that the memory is of, or NULL. per_call: the mapping is at a new address, until
 * ipc_release(). Otherwise all calls for one allocation get the same address, until cuIpcCloseMemHandle was
 * called as often. */
CUresult ipc_map(Context *context, const IpcHandle *handle, const SharedFile *file, Pool *pool, bool per_call,
                 CUdeviceptr *out);
/* Ends a mapping that was made per_call; false if there is none at that address. */
bool ipc_release(CUdeviceptr address);

#endif
