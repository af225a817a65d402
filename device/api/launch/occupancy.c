/* Occupancy: how many blocks a multiprocessor holds, by the rules of the device's compute capability. */
#include "api/base/log.h"
#include "api/device/device_limits.h"
#include "api/launch/launch.h"
#include "api/stream/green.h"

/* MAX_REGISTERS: of a thread. Each scheduler of a multiprocessor has an equal part of its registers. */
enum { WARP_THREADS = 32, MAX_REGISTERS = 255, MULTIPROCESSOR_SCHEDULERS = 4 };

static int smaller(int a, int b) { return a < b ? a : b; }

static int round_up(int value, int unit) { return (value + unit - 1) / unit * unit; }

/* The number of registers is an estimate, as a GPU's compiler would choose another one. So registers never
 * make the result 0: a block that fits otherwise runs here. */
int occupancy_blocks(const CodeFunction *code, int threads, size_t dynamic_shared)
{
    if (threads > function_max_threads(code)) return 0;
    const DeviceLimits *limits = device_limits();
    if (dynamic_shared > (size_t)limits->shared_optin - code->shared_size) return 0;
    int warps = (threads + WARP_THREADS - 1) / WARP_THREADS;
    int registers = smaller((int)code->register_estimate, MAX_REGISTERS);
    int warp_registers = round_up((registers ? registers : 1) * WARP_THREADS, DEVICE_REGISTER_UNIT);
    int wanted = (int)(code->shared_size + dynamic_shared) + limits->shared_reserved;
    int shared = round_up(wanted, limits->shared_unit);
    int blocks = smaller(limits->blocks, limits->threads / (warps * WARP_THREADS));
    if (shared) blocks = smaller(blocks, limits->shared / shared);
    int resident_warps =
        DEVICE_REGISTERS_PER_SM / MULTIPROCESSOR_SCHEDULERS / warp_registers * MULTIPROCESSOR_SCHEDULERS;
    int by_registers = resident_warps / warps;
    return smaller(blocks, by_registers ? by_registers : 1);
}

/* Whether all bits of `flags` are known. The only flag, CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE, changes
 * nothing: it is for GPUs that cache global memory in shared memory. */
static bool are_known_flags(unsigned flags)
{
    enum { DISABLE_CACHING_OVERRIDE = 1 };
    return !(flags & ~(unsigned)DISABLE_CACHING_OVERRIDE);
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction handle, int threads,
                                                              size_t dynamic_shared, unsigned int flags)
{
    Function *function;
    if (!blocks || threads <= 0 || !are_known_flags(flags)) return CUDA_ERROR_INVALID_VALUE;
    TRY(function_enter(handle, &function));
    *blocks = occupancy_blocks(function->code, threads, dynamic_shared);
    PUT(function);
    return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction handle, int threads,
                                                     size_t dynamic_shared)
{
    return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, handle, threads, dynamic_shared, 0);
}

CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, CUfunction handle, int blocks, int threads)
{
    Function *function;
    if (!bytes || blocks <= 0 || threads <= 0) return CUDA_ERROR_INVALID_VALUE;
    TRY(function_enter(handle, &function));
    const CodeFunction *code = function->code;
    const DeviceLimits *limits = device_limits();
    int each = limits->shared / blocks / limits->shared_unit * limits->shared_unit - limits->shared_reserved
               - (int)code->shared_size;
    bool fits = blocks <= limits->blocks && threads <= function_max_threads(code)
                && blocks * round_up(threads, WARP_THREADS) <= limits->threads && each >= 0;
    int max = function_max_dynamic_shared(code, &function->settings);
    PUT(function);
    *bytes = fits ? (size_t)smaller(each, max) : 0;
    return fits ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* The threads of the block with which a multiprocessor holds the maximum number of threads; the largest such
 * block of at most `limit` threads. *blocks: how many of them it holds. The dynamic shared memory is
 * size_of(threads), or `fixed` if that is NULL. */
static int best_block(const CodeFunction *code, CUoccupancyB2DSize size_of, size_t fixed, int limit,
                      int *blocks)
{
    int best = 0, best_threads = 0;
    for (int threads = round_up(limit, WARP_THREADS); threads > 0; threads -= WARP_THREADS) {
        int count = smaller(threads, limit);
        size_t shared = size_of ? size_of(count) : fixed;
        int resident = occupancy_blocks(code, count, shared);
        if (resident * count <= best_threads) continue;
        best_threads = resident * count;
        best = count;
        *blocks = resident;
    }
    return best;
}

CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, CUfunction handle,
                                                   CUoccupancyB2DSize size_of, size_t fixed, int limit,
                                                   unsigned int flags)
{
    Function *function;
    int blocks = 0;
    if (!grid || !block || limit < 0 || !are_known_flags(flags)) return CUDA_ERROR_INVALID_VALUE;
    TRY(function_enter(handle, &function));
    int max = function_max_threads(function->code);
    *block = best_block(function->code, size_of, fixed, limit ? smaller(limit, max) : max, &blocks);
    *grid = blocks * (int)green_multiprocessors(NULL);
    PUT(function);
    return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxPotentialBlockSize(int *grid, int *block, CUfunction handle,
                                          CUoccupancyB2DSize size_of, size_t fixed, int limit)
{
    return cuOccupancyMaxPotentialBlockSizeWithFlags(grid, block, handle, size_of, fixed, limit, 0);
}
