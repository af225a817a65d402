/* What device code asks the device runtime: of the device, its limits, kernels and errors. */
#include <string.h>

#include "exec/runtime/errors.h"
#include "exec/runtime/runtime.h"

/* Asks the driver, and stores the answer, as a number of `size` bytes, at the kernel's address `where`.
 * Returns 0 or the error code of CUDA's runtime, as all functions here do. */
static uint64_t answer_query(RuntimeCall *c, const RuntimeQuestion *question, uint64_t where, uint32_t size)
{
    DeviceRuntime *runtime = runtime_launch(c)->runtime;
    uint64_t answer = 0;
    int error = runtime->answer(runtime->closure, question, &answer);
    return error ? (uint64_t)error : runtime_store(c, where, answer, size);
}

/* For functions whose only argument is the address of an int. */
static uint64_t answer_number(RuntimeCall *c, RuntimeSubject subject)
{
    return answer_query(c, &(RuntimeQuestion){.subject = subject}, c->values[0], sizeof(int));
}

uint64_t runtime_GetDevice(RuntimeCall *c) { return answer_number(c, ASK_DEVICE); }
uint64_t runtime_GetDeviceCount(RuntimeCall *c) { return answer_number(c, ASK_DEVICE_COUNT); }
uint64_t runtime_RuntimeGetVersion(RuntimeCall *c) { return answer_number(c, ASK_VERSION); }
uint64_t runtime_DeviceGetCacheConfig(RuntimeCall *c) { return answer_number(c, ASK_CACHE_CONFIG); }
uint64_t runtime_DeviceGetSharedMemConfig(RuntimeCall *c) { return answer_number(c, ASK_SHARED_CONFIG); }

uint64_t runtime_GraphSetConditional(RuntimeCall *c)
{
    bool found = runtime_launch(c)->runtime->set_condition(c->values[0], (uint32_t)c->values[1]);
    return found ? 0 : RUNTIME_INVALID_VALUE;
}

uint64_t runtime_DeviceGetAttribute(RuntimeCall *c)
{
    RuntimeQuestion question = {
        .subject = ASK_ATTRIBUTE, .number = (int)c->values[1], .device = (int)c->values[2]};
    return answer_query(c, &question, c->values[0], sizeof(int));
}

uint64_t runtime_DeviceGetLimit(RuntimeCall *c)
{
    RuntimeQuestion question = {.subject = ASK_LIMIT, .number = (int)c->values[1]};
    return answer_query(c, &question, c->values[0], sizeof(uint64_t));
}

/* The members of cudaFuncAttributes that every version has, in their order: first those of type size_t,
 * then those of type int. Members that were added later are not written: they may be beyond the end of
 * the program's structure. */
uint64_t runtime_FuncGetAttributes(RuntimeCall *c)
{
    static const struct {
        CUfunction_attribute attribute;
        uint32_t bytes;
    } members[] = {
        {CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, sizeof(uint64_t)},
        {CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, sizeof(uint64_t)},
        {CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, sizeof(uint64_t)},
        {CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, sizeof(int)},
        {CU_FUNC_ATTRIBUTE_NUM_REGS, sizeof(int)},
        {CU_FUNC_ATTRIBUTE_PTX_VERSION, sizeof(int)},
        {CU_FUNC_ATTRIBUTE_BINARY_VERSION, sizeof(int)},
        {CU_FUNC_ATTRIBUTE_CACHE_MODE_CA, sizeof(int)},
        {CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, sizeof(int)},
        {CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, sizeof(int)},
    };
    uint64_t at = c->values[0], result = 0;
    for (uint32_t k = 0; k < sizeof members / sizeof *members && !result && !c->faulted; k++) {
        RuntimeQuestion question = {
            .subject = ASK_FUNCTION, .function = c->values[1], .number = members[k].attribute};
        result = answer_query(c, &question, at, members[k].bytes);
        at += members[k].bytes;
    }
    return result;
}

uint64_t runtime_OccupancyMaxActiveBlocksPerMultiprocessor(RuntimeCall *c)
{
    RuntimeQuestion question = {.subject = ASK_OCCUPANCY,
                                .function = c->values[1],
                                .number = (int)c->values[2],
                                .shared = c->values[3]};
    return answer_query(c, &question, c->values[0], sizeof(int));
}

uint64_t runtime_OccupancyMaxActiveBlocksPerMultiprocessorWithFlags(RuntimeCall *c)
{
    enum { DISABLE_CACHING_OVERRIDE = 1 };
    if ((uint32_t)c->values[4] > DISABLE_CACHING_OVERRIDE) return RUNTIME_INVALID_VALUE;
    return runtime_OccupancyMaxActiveBlocksPerMultiprocessor(c);
}

uint64_t runtime_GetErrorName(RuntimeCall *c)
{
    return runtime_error_name(runtime_launch(c)->memory, (int)c->values[0]);
}

uint64_t runtime_GetErrorString(RuntimeCall *c)
{
    return runtime_error_text(runtime_launch(c)->memory, (int)c->values[0]);
}
