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

/* How many values an argument is, by its letter in runtime.def, and of how many bytes each. */
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
    RUNTIME_NOT_SUPPORTED = 801
};

/* One call by one lane. */
typedef struct RuntimeCall {
    Warp *warp;
    const Insn *insn;
    int lane;
    uint64_t values[RUNTIME_VALUES];
    bool faulted;
} RuntimeCall;

/* Each returns its result: an error, or an address. */
#define RUNTIME(name, bits, arguments) uint64_t runtime_##name(RuntimeCall *c);
#define RUNTIME_SAME(name, other, bits, arguments)
#include "exec/runtime/runtime.def"
#undef RUNTIME
#undef RUNTIME_SAME

const GridLaunch *runtime_launch(const RuntimeCall *c);
/* Writes a result to the address that the thread gave; a fault when that is not accessible. Returns 0. */
uint64_t runtime_store(RuntimeCall *c, uint64_t address, uint64_t value, uint32_t size);
/* The order and the queue of a launch in the stream. RUNTIME_INVALID_HANDLE when there is no such stream. */
int runtime_order(const RuntimeCall *c, uint64_t stream, ChildOrder *order, uint64_t *queue);

const Insn *print_formatted(Warp *warp, const Insn *insn);
const Insn *print_assert(Warp *warp, const Insn *insn);
uint64_t device_heap_alloc(DeviceHeap *heap, uint64_t size, uint64_t align);
bool device_heap_free(DeviceHeap *heap, uint64_t address);
const Insn *runtime_call(Warp *warp, const Insn *insn);

#endif
