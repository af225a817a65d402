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

/* Aligned to its elements and inside one allocation; *bytes from the first to one past the last. */
bool fill_check(const FillJob *job, uint64_t *bytes);
/* When its turn has come, as copy_do. */
CUresult fill_do(const FillJob *job, Context *context);

#endif
