/* A block of page-locked memory for each context, through which small arrays are copied to the host.
 *
 * A driver copies to page-locked memory in one step, and to other memory in several, through a block of its
 * own. Up to STAGING_BYTES it is faster to copy to our block and from there by the host (on an H200 by 13 %
 * for 4 KiB and 40 % for 1 MiB). One thread has the block at a time; other threads copy without it.
 *
 * Copies to the device go the driver's way, which stages them itself: ours is not faster when both wait for
 * the bytes to be there (driver_calls.c). */
#ifndef EXT_MEMORY_STAGING_H
#define EXT_MEMORY_STAGING_H

#include "ext/context/context.h"

enum { STAGING_BYTES = 1 << 20 };

/* A context's block, taken by this thread. */
typedef struct Staging {
    ContextObject *context; /* held, so that a primary context is not released meanwhile */
    void *block;
} Staging;

/* Takes the block of the current context, until staging_return(). False, without an exception, when another
 * thread has it or it cannot be allocated. */
bool staging_take(ModuleState *state, Staging *out);
void staging_return(const Staging *staging);

/* Copies from the device to the block, and from there to host memory, after all work of the default stream.
 * -1 with an exception. */
int staging_to_host(ModuleState *state, const Staging *staging, void *to, CUdeviceptr from, size_t size);

#endif
