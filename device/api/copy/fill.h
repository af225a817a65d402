/* Fills: rows of elements of 1, 2 or 4 bytes. */
#ifndef DEVICE_API_COPY_FILL_H
#define DEVICE_API_COPY_FILL_H

#include "api/stream/stream.h"

typedef struct FillJob {
    uint64_t address, pitch;      /* pitch in bytes */
    uint64_t width, height;       /* elements, rows */
    unsigned element;             /* bytes: 1, 2 or 4 */
    uint32_t value;
} FillJob;

/* Whether the job is aligned to its elements and in one allocation. *bytes: how many it spans, with gaps. */
bool fill_check(const FillJob *job, uint64_t *bytes);
/* Does the job now. Returns an error if reserved addresses have lost their memory, as copy_do(). */
CUresult fill_do(const FillJob *job, Context *context);

#endif
