/* How many registers a thread of a kernel may have, by the kernel's
 * directives: the rules of NVIDIA's assembler. */
#include "lower/module.h"

enum { MIN_REGISTERS = 24, MAX_REGISTERS = 255, REGISTER_UNIT = 8 }; /* of a thread */
enum { MULTIPROCESSOR_REGISTERS = 65536, MULTIPROCESSOR_THREADS = 1024 };

static uint32_t threads_of(const uint32_t shape[3]) { return shape[0] * shape[1] * shape[2]; }

/* The registers for a thread with which `blocks` blocks fit on a multiprocessor at a time. If their threads
 * alone do not fit, the limit is that of one block: ptxas ignores a .minnctapersm that cannot be met. */
static uint32_t limit_of_blocks(uint32_t threads, uint32_t blocks)
{
    const uint64_t block_threads = ((uint64_t)threads + WARP_LANES - 1) / WARP_LANES * WARP_LANES;
    const bool blocks_fit = blocks && block_threads * blocks <= MULTIPROCESSOR_THREADS;
    const uint64_t resident_threads = blocks_fit ? block_threads * blocks : block_threads;
    if (resident_threads > MULTIPROCESSOR_THREADS) return MAX_REGISTERS;
    uint64_t registers = MULTIPROCESSOR_REGISTERS / resident_threads / REGISTER_UNIT * REGISTER_UNIT;
    return registers < MAX_REGISTERS ? (uint32_t)registers : MAX_REGISTERS;
}

uint32_t lower_register_limit(const PtxFunction *kernel)
{
    if (kernel->maxnreg && kernel->maxnreg <= MAX_REGISTERS)
        return kernel->maxnreg > MIN_REGISTERS ? kernel->maxnreg : MIN_REGISTERS;
    uint32_t threads = threads_of(kernel->reqntid[0] ? kernel->reqntid : kernel->maxntid);
    return threads ? limit_of_blocks(threads, kernel->minnctapersm) : MAX_REGISTERS;
}
