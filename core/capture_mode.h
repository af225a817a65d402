/* Lets a thread make calls that captures of streams, its own and those of others, would forbid it and be
 * ended by: such as free memory, ask for an event, wait for a stream that is not captured. A capture begun by
 * others is not known here, so this is done whether there is one or not. */
#ifndef CORE_CAPTURE_MODE_H
#define CORE_CAPTURE_MODE_H

#include "core/driver_table.h"

typedef struct CaptureMode {
    bool changed;
    CUstreamCaptureMode former;
} CaptureMode;

IN_CALL static inline CUresult capture_mode_relax(CaptureMode *mode)
{
    mode->former = CU_STREAM_CAPTURE_MODE_RELAXED;
    CUresult result = driver.cuThreadExchangeStreamCaptureMode(&mode->former);
    mode->changed = result == CUDA_SUCCESS;
    return result;
}

IN_CALL static inline CUresult capture_mode_restore(CaptureMode *mode)
{
    if (!mode->changed) return CUDA_SUCCESS;
    mode->changed = false;
    return driver.cuThreadExchangeStreamCaptureMode(&mode->former);
}

#endif
