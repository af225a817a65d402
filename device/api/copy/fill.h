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

/* Whether the job is aligned to its elements and inside one allocation. *bytes: how many it spans, gaps
 * included. */
bool fill_check(const FillJob *job, uint64_t *bytes);
/* Does the job, whose turn has come. Fails as copy_do() does. */
CUresult fill_do(const FillJob *job, Context *context);

#endif
