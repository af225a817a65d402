/* The functions of CUDA's device runtime, by number: what Insn.imm of call_runtime says. */
#ifndef DEVICE_EXEC_RUNTIME_RUNTIME_H
#define DEVICE_EXEC_RUNTIME_RUNTIME_H

#include "exec/runtime/children.h"
#include "exec/state/warp.h"

typedef enum RuntimeFunction {
#define RUNTIME(name, bits, arguments) RUNTIME_##name,
#define RUNTIME_SAME(name, other, bits, arguments) RUNTIME_##name,
#include "exec/runtime/runtime.def"
#undef RUNTIME
#undef RUNTIME_SAME
    RUNTIME_COUNT
} RuntimeFunction;

enum { RUNTIME_VALUES = 10 }; /* of the arguments of one call, a structure counted by its members */

/* By an argument's letter in runtime.def: how many values it has, and how many bytes each of them has. */
static inline uint32_t runtime_members(char type)
{
    return type == 'P' ? 4 : type == 'd' || type == 'e' ? 3 : 1;
}
static inline uint32_t runtime_member_size(char type) { return type == 'u' || type == 'd' ? 4 : 8; }

/* Errors as CUDA's runtime numbers them (cudaError_t). Most are those of the driver. */
enum {
    RUNTIME_INVALID_VALUE = 1,
    RUNTIME_OUT_OF_MEMORY = 2,
    RUNTIME_INVALID_CONFIGURATION = 9,
    RUNTIME_INVALID_PITCH = 12,
    RUNTIME_INVALID_DIRECTION = 21,
    RUNTIME_TOO_MANY_PENDING = 69,
    RUNTIME_INVALID_FUNCTION = 98,
    RUNTIME_INVALID_HANDLE = 400,
    RUNTIME_NOT_SUPPORTED = 801,
    RUNTIME_NO_GRAPH = -1 /* the handle is of no graph that kernels may launch: a fault */
};

/* One call by one lane. */
typedef struct RuntimeCall {
    Warp *warp;
    const Insn *insn;
    int lane;
    uint64_t values[RUNTIME_VALUES];
    bool faulted;
} RuntimeCall;

/* The functions of runtime.def. Each returns the function's result: an error code (RUNTIME_*, 0:
 * success), or an address. c->faulted is set after a fault. */
#define RUNTIME(name, bits, arguments) uint64_t runtime_##name(RuntimeCall *c);
#define RUNTIME_SAME(name, other, bits, arguments)
#include "exec/runtime/runtime.def"
#undef RUNTIME
#undef RUNTIME_SAME

const GridLaunch *runtime_launch(const RuntimeCall *c);
/* Writes `size` bytes of a result to the address that the thread passed; records a fault if that is not
 * accessible. Returns 0 in any case, as the function's result. */
uint64_t runtime_store(RuntimeCall *c, uint64_t address, uint64_t value, uint32_t size);
/* Finds the order and the queue of a launch in the stream. Returns 0, or RUNTIME_INVALID_HANDLE when
 * there is no such stream. */
int runtime_order(const RuntimeCall *c, uint64_t stream, ChildOrder *order, uint64_t *queue);

/* Handlers of calls of vprintf and __assertfail; the second one always ends in a fault and returns NULL. */
const Insn *print_formatted(Warp *warp, const Insn *insn);
const Insn *print_assert(Warp *warp, const Insn *insn);
/* 0 if the heap is full or size is 0; align: a power of two up to 4096. False when no block in use starts
 * at the address. */
uint64_t device_heap_alloc(DeviceHeap *heap, uint64_t size, uint64_t align);
bool device_heap_free(DeviceHeap *heap, uint64_t address);
/* The handler of call_runtime. */
const Insn *runtime_call(Warp *warp, const Insn *insn);

#endif
