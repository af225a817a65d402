/* Allows a thread calls that a stream capture would otherwise forbid, and that would invalidate it: freeing
 * memory, querying an event, waiting for a stream that is not captured. Captures that were begun outside of
 * pycuda are unknown here, so the mode is changed whether there is a capture or not. */
#ifndef CORE_CAPTURE_MODE_H
#define CORE_CAPTURE_MODE_H

#include "core/driver_table.h"

typedef struct CaptureMode {
    bool changed; /* the thread's mode is relaxed, and `previous` has to be restored */
    CUstreamCaptureMode previous;
} CaptureMode;

/* Sets the thread's mode to relaxed. After an error the mode is unchanged. */
IN_CALL static inline CUresult capture_mode_relax(CaptureMode *mode)
{
    mode->previous = CU_STREAM_CAPTURE_MODE_RELAXED;
    CUresult result = driver.cuThreadExchangeStreamCaptureMode(&mode->previous);
    mode->changed = result == CUDA_SUCCESS;
    return result;
}

/* Restores the mode from before capture_mode_relax(), if that has changed it. */
IN_CALL static inline CUresult capture_mode_restore(CaptureMode *mode)
{
    if (!mode->changed) return CUDA_SUCCESS;
    mode->changed = false;
    return driver.cuThreadExchangeStreamCaptureMode(&mode->previous);
}

#endif
