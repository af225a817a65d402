/* What device code asks the device runtime: of the device, its limits, kernels and errors. */
#include <string.h>

#include "exec/runtime/errors.h"
#include "exec/runtime/runtime.h"

/* Asks the driver and stores an answer of that size. */
static uint64_t answer_query(RuntimeCall *c, const RuntimeQuestion *question, uint64_t where, uint32_t size)
{
    DeviceRuntime *runtime = runtime_launch(c)->runtime;
    uint64_t answer = 0;
    int error = runtime->answer(runtime->closure, question, &answer);
    return error ? (uint64_t)error : runtime_store(c, where, answer, size);
}

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

/* The members of cudaFuncAttributes that every version has, by the driver's number of the attribute. What
 * came later is left as it is: its place may be beyond the program's structure. */
uint64_t runtime_FuncGetAttributes(RuntimeCall *c)
{
    enum { SHARED = 1, CONSTANT = 2, LOCAL = 3, LARGE_MEMBERS = 3 };
    static const uint8_t members[] = {SHARED, CONSTANT, LOCAL, 0, 4, 5, 6, 7, 8, 9};
    uint64_t at = c->values[0], result = 0;
    for (uint32_t k = 0; k < sizeof members && !result && !c->faulted; k++) {
        uint32_t size = k < LARGE_MEMBERS ? sizeof(uint64_t) : sizeof(int);
        RuntimeQuestion question = {.subject = ASK_FUNCTION, .function = c->values[1], .number = members[k]};
        result = answer_query(c, &question, at, size);
        at += size;
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
