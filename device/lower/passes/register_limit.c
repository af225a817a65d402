/* How many registers a kernel may have, by what it says of itself: the rules of NVIDIA's assembler. */
#include "lower/module.h"

enum { MAX = 255, MIN = 24, MULTIPROCESSOR = 65536, MULTIPROCESSOR_THREADS = 1024, UNIT = 8 };

static uint32_t threads_of(const uint32_t shape[3]) { return shape[0] * shape[1] * shape[2]; }

/* The registers for a thread with which `blocks` blocks fit on a multiprocessor at a time. */
static uint32_t limit_of_blocks(uint32_t threads, uint32_t blocks)
{
    uint64_t whole = ((uint64_t)threads + 31) / 32 * 32;
    if (blocks && whole * blocks <= MULTIPROCESSOR_THREADS) whole *= blocks;
    if (whole > MULTIPROCESSOR_THREADS) return MAX;
    uint64_t registers = MULTIPROCESSOR / whole / UNIT * UNIT;
    return registers < MAX ? (uint32_t)registers : MAX;
}

uint32_t lower_register_limit(const PtxFunction *kernel)
{
    if (kernel->maxnreg && kernel->maxnreg <= MAX) return kernel->maxnreg > MIN ? kernel->maxnreg : MIN;
    uint32_t threads = threads_of(kernel->reqntid[0] ? kernel->reqntid : kernel->maxntid);
    return threads ? limit_of_blocks(threads, kernel->minnctapersm) : MAX;
}
