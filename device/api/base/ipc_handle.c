/* IPC handles: see ipc_handle.h. */
#include "api/base/ipc_handle.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "api/base/log.h"

_Static_assert(sizeof(IpcHandle) == sizeof(CUipcMemHandle),
               "an IpcHandle has the size of the driver's handle of memory");
_Static_assert(sizeof(IpcHandle) == sizeof(CUipcEventHandle),
               "and the size of the driver's handle of an event");

static const char magic[8] = "cpu-ipc";

void ipc_fill_handle(IpcHandle *handle, IpcKind kind, int descriptor, uint64_t inode)
{
    *handle = (IpcHandle){.kind = kind, .process = getpid(), .descriptor = descriptor, .inode = inode};
    memcpy(handle->magic, magic, sizeof magic);
}

bool ipc_is_kind(const IpcHandle *handle, IpcKind kind)
{
    return !memcmp(handle->magic, magic, sizeof magic) && handle->kind == kind;
}

CUresult ipc_open(const IpcHandle *handle, IpcKind kind, SharedFile *file)
{
    if (!ipc_is_kind(handle, kind)) {
        log_error("these bytes are not an IPC handle of %s of the CPU device",
                  kind == IPC_MEMORY ? "memory" : "an event");
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (handle->process == getpid()) {
        log_error("this process created the IPC handle; only other processes can open it");
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    return ipc_open_file(handle, file);
}

CUresult ipc_open_file(const IpcHandle *handle, SharedFile *file)
{
    int problem = shared_file_open(file, handle->process, handle->descriptor, handle->inode);
    if (!problem) return CUDA_SUCCESS;
    bool gone = problem == ENOENT || problem == ESTALE;
    log_error("process %d, which created the IPC handle, %s: %s", handle->process,
              gone ? "has ended or released the object"
                   : "cannot be reached (it must be of the same user and see the same processes)",
              strerror(problem));
    return gone ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_MAP_FAILED;
}
