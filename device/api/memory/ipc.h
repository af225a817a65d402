/* Memory and events of other processes.
 *
 * What a process gives away is the bytes of an IpcHandle: where to find the file behind it. Memory of
 * cuMemAlloc lies in one file for each process, at offsets; every interprocess event has a page of its own.
 */
#ifndef DEVICE_API_MEMORY_IPC_H
#define DEVICE_API_MEMORY_IPC_H

#include "api/context/context.h"
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
/* The file of a handle that another process made; the log tells what is wrong. */
CUresult ipc_open(const IpcHandle *handle, IpcKind kind, SharedFile *file);
/* The same, of any kind and process. */
CUresult ipc_reach(const IpcHandle *handle, SharedFile *file);
bool ipc_is(const IpcHandle *handle, IpcKind kind);
/* Maps memory that another process has in that file, for the context; with a pool it is the pool's. */
CUresult ipc_map(Context *context, const IpcHandle *handle, const SharedFile *file, Pool *pool,
                 CUdeviceptr *out);
/* Ends a mapping that is a pool's; false when there is none at that address. */
bool ipc_release(CUdeviceptr address);
/* Lets go of what the context has of other processes. */
void ipc_close_context(const Context *context);

/* The part of an event that processes share. Records have numbers. */
typedef struct SharedEvent SharedEvent;
/* A page for a new event, and the file it is in. CUDA_ERROR_NOT_SUPPORTED where the system gives none. */
CUresult shared_event_create(SharedEvent **out, SharedFile *file);
CUresult shared_event_map(const SharedFile *file, SharedEvent **out);
void shared_event_unmap(SharedEvent *event);
/* A record is asked for: its number. */
uint64_t shared_event_record(SharedEvent *event);
/* It has been reached. */
void shared_event_reach(SharedEvent *event, uint64_t number);
/* The number of the last record that any process asked for; 0 when none did. */
uint64_t shared_event_last(const SharedEvent *event);
/* Whether a record was reached, or its process is gone. */
bool shared_event_reached(SharedEvent *event, uint64_t number);
bool shared_event_wait(SharedEvent *event, uint64_t number,
                       uint64_t until); /* false at that time; 0: never */

#endif
