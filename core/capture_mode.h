/* Lets a thread make calls that would otherwise be forbidden during a stream capture and would invalidate
 * it: freeing memory, querying an event, waiting for a stream that is not captured. Captures begun outside
 * of pycuda are unknown here, so this is done whether there is one or not. */
#ifndef CORE_CAPTURE_MODE_H
#define CORE_CAPTURE_MODE_H

#include "core/driver_table.h"

typedef struct CaptureMode {
    bool changed;
    CUstreamCaptureMode previous;
} CaptureMode;

IN_CALL static inline CUresult capture_mode_relax(CaptureMode *mode)
{
    mode->previous = CU_STREAM_CAPTURE_MODE_RELAXED;
    CUresult result = driver.cuThreadExchangeStreamCaptureMode(&mode->previous);
    mode->changed = result == CUDA_SUCCESS;
    return result;
}

IN_CALL static inline CUresult capture_mode_restore(CaptureMode *mode)
{
    if (!mode->changed) return CUDA_SUCCESS;
    mode->changed = false;
    return driver.cuThreadExchangeStreamCaptureMode(&mode->previous);
}

#endif
