/* Checkpoints of processes, which the CPU device does not support. Of this process the state can be queried:
 * it is running. Other processes count as not having initialized the driver. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "api/base/driver.h"
#include "api/base/refused.h"

enum { PROCESS_IS_RUNNING = 0 };

/* Success for this process, otherwise the error for the given process ID. */
static CUresult check_process(int process)
{
    TRY(driver_check());
    if (process == getpid()) return CUDA_SUCCESS;
    bool there = process > 0 && (!kill(process, 0) || errno != ESRCH);
    return there ? CUDA_ERROR_NOT_INITIALIZED : CUDA_ERROR_OPERATING_SYSTEM;
}

/* True for NULL, and when the reserved words (from `first` on) are zero. */
static bool is_valid(const CheckpointArgs *args, unsigned first)
{
    bool valid = true;
    for (unsigned i = first; args && i < sizeof args->words / sizeof *args->words; i++)
        valid = valid && !args->words[i];
    return valid;
}

CUresult cuCheckpointProcessGetState(int process, int *state)
{
    TRY(driver_check());
    if (!state) return CUDA_ERROR_INVALID_VALUE;
    TRY(check_process(process));
    *state = PROCESS_IS_RUNNING;
    return CUDA_SUCCESS;
}

CUresult cuCheckpointProcessGetRestoreThreadId(int process, int *thread)
{
    TRY(driver_check());
    if (!thread) return CUDA_ERROR_INVALID_VALUE;
    TRY(check_process(process));
    return refuse(REFUSED_cuCheckpointProcessGetRestoreThreadId);
}

/* The first argument is a time in milliseconds. */
CUresult cuCheckpointProcessLock(int process, const CheckpointArgs *args)
{
    TRY(driver_check());
    if (!is_valid(args, 1) || (args && args->words[0] > UINT32_MAX)) return CUDA_ERROR_INVALID_VALUE;
    TRY(check_process(process));
    return refuse(REFUSED_cuCheckpointProcessLock);
}

/* The calls that need a locked process, which there is none of. */
static CUresult refuse_unlocked(int process, const CheckpointArgs *args, unsigned reserved, Refused function)
{
    TRY(driver_check());
    if (!is_valid(args, reserved)) return CUDA_ERROR_INVALID_VALUE;
    TRY(check_process(process));
    return refuse(function);
}

CUresult cuCheckpointProcessCheckpoint(int process, const CheckpointArgs *args)
{
    return refuse_unlocked(process, args, 0, REFUSED_cuCheckpointProcessCheckpoint);
}

/* The first arguments are pairs of devices. */
CUresult cuCheckpointProcessRestore(int process, const CheckpointArgs *args)
{
    return refuse_unlocked(process, args, 2, REFUSED_cuCheckpointProcessRestore);
}

CUresult cuCheckpointProcessUnlock(int process, const CheckpointArgs *args)
{
    return refuse_unlocked(process, args, 0, REFUSED_cuCheckpointProcessUnlock);
}
