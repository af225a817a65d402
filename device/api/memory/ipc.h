/* Memory of other processes. */
#ifndef DEVICE_API_MEMORY_IPC_H
#define DEVICE_API_MEMORY_IPC_H

#include "api/base/ipc_handle.h"
#include "api/context/context.h"

/* Maps memory that another process has in that file, for the context; with a pool it is the pool's. `apart`:
 * at a new address, until ipc_release; else at one for all who request it. */
CUresult ipc_map(Context *context, const IpcHandle *handle, const SharedFile *file, Pool *pool, bool apart,
                 CUdeviceptr *out);
/* Ends a mapping that was made apart; false when there is none at that address. */
bool ipc_release(CUdeviceptr address);

#endif
