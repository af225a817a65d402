/* What a process gives to others: the bytes of an IpcHandle, where to find the file of something. Memory of
 * cuMemAlloc lies in one file for each process, at offsets; every interprocess event has a page of its
 * own. */
#ifndef DEVICE_API_BASE_IPC_HANDLE_H
#define DEVICE_API_BASE_IPC_HANDLE_H

#include "api/base/driver.h"
#include "exec/memory/shared_file.h"

typedef enum IpcKind { IPC_MEMORY = 1, IPC_EVENT = 2, IPC_POOL = 3, IPC_POOL_MEMORY = 4 } IpcKind;

/* 64 bytes, as every handle of the driver's. */
typedef struct IpcHandle {
    char magic[8];
    uint32_t kind;
    int32_t process, descriptor, reserved;
    uint64_t inode, offset, size, id;
    uint64_t pool;           /* that it belongs to, by its number in that process */
} IpcHandle;

/* Fills the handle for something of this process. */
void ipc_name(IpcHandle *handle, IpcKind kind, int descriptor, uint64_t inode);
/* The file of a handle that another process made; the log says what is wrong. */
CUresult ipc_open(const IpcHandle *handle, IpcKind kind, SharedFile *file);
/* As ipc_open(), of any kind and process. */
CUresult ipc_reach(const IpcHandle *handle, SharedFile *file);
bool ipc_is(const IpcHandle *handle, IpcKind kind);

#endif
