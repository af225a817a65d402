/* IPC handles: bytes that a process passes to other ones, by which they find the file that an object of it
 * is in. All memory of cuMemAlloc in a process is in one file, at different offsets; every interprocess
 * event has a file of one page. */
#ifndef DEVICE_API_BASE_IPC_HANDLE_H
#define DEVICE_API_BASE_IPC_HANDLE_H

#include "api/base/driver.h"
#include "exec/memory/shared_file.h"

typedef enum IpcKind { IPC_MEMORY = 1, IPC_EVENT = 2, IPC_POOL = 3, IPC_POOL_MEMORY = 4 } IpcKind;

/* 64 bytes, as the driver API's handles for IPC have. */
typedef struct IpcHandle {
    char magic[8];
    uint32_t kind; /* IpcKind */
    int32_t process; /* the one that made the handle: its ID */
    int32_t descriptor; /* of the file in that process */
    int16_t device, pool_kind; /* of a pool: its device and its PoolKind */
    uint64_t inode; /* of the file: another one shows that the descriptor was reused */
    uint64_t offset, size, id; /* of the memory in the file */
    uint64_t pool; /* the pool that the memory belongs to, by its number in that process */
} IpcHandle;

/* Fills in the handle of an object of this process, whose file has that descriptor and inode. */
void ipc_fill_handle(IpcHandle *handle, IpcKind kind, int descriptor, uint64_t inode);
/* Opens the file of a handle that must be of that kind and made by another process. The log says what is
 * wrong. */
CUresult ipc_open(const IpcHandle *handle, IpcKind kind, SharedFile *file);
/* Opens the file without these two checks. */
CUresult ipc_open_file(const IpcHandle *handle, SharedFile *file);
/* Whether the bytes are a handle of that kind. */
bool ipc_is_kind(const IpcHandle *handle, IpcKind kind);

#endif
