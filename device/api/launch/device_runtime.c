/* The functions of DeviceRuntime, by which kernels call the driver: it checks their launches, gives them
 * memory and answers what CUDA's runtime can query in a kernel.
 *
 * They are called on worker threads, which have no current context. `closure` is the Function that the host
 * has launched; its context is used.
 */
#include <string.h>

#include "api/launch/launch.h"
#include "api/memory/memory.h"
#include "exec/runtime/runtime.h"

/* The heap *where of the context, which the first call makes; NULL if out of memory. */
static DeviceHeap *heap_of(Context *context, DeviceHeap **where, uint64_t size, MemoryKind kind)
{
    CUdeviceptr base;
    driver_lock();
    if (!*where) {
        MemoryRequest request = {.size = size ? size : 1, .kind = kind};
        if (!memory_allocate_inside(context, &request, &base))
            *where = device_heap_create(base, request.size);
    }
    DeviceHeap *heap = *where;
    driver_unlock();
    return heap;
}

DeviceHeap *context_heap(Context *context)
{
    return heap_of(context, &context->heap, atomic_load(&context->limits[CU_LIMIT_MALLOC_HEAP_SIZE]),
                   MEMORY_HEAP);
}

static Context *context_of(const void *closure) { return ((const Function *)closure)->object.context; }

static DeviceHeap *child_buffers(void *closure)
{
    enum {
        BUFFERS = 8 << 20
    }; /* bytes: for the default number of pending launches with the most parameters */
    Context *context = context_of(closure);
    return heap_of(context, &context->buffers, BUFFERS, MEMORY_PARAMS);
}

static uint64_t next_grid_id(void *closure)
{
    return atomic_fetch_add(&context_of(closure)->grid_count, 1) + 1;
}

/* The kernel with that code in the module of `function`, with a reference; NULL if there is none. */
static Function *find_kernel_of_code(const Function *function, const CodeFunction *code)
{
    const Module *module = function->module;
    for (unsigned f = 0; f < module->function_count; f++)
        if (module->code->functions[f] == code) return object_get(module->functions[f], OBJECT_FUNCTION);
    return NULL;
}

/* Checks a launch by a kernel. Returns 0 or a RUNTIME_ error. */
static int accept_child(void *closure, const CodeFunction *code, const uint32_t grid[3],
                        const uint32_t block[3], uint32_t shared)
{
    LaunchConfig shape = {.grid = {grid[0], grid[1], grid[2]},
                          .block = {block[0], block[1], block[2]},
                          .dynamic_shared = shared};
    Function *function = find_kernel_of_code(closure, code);
    if (!function) return RUNTIME_INVALID_FUNCTION;
    int error = launch_check_shape(function, &shape) ? RUNTIME_INVALID_CONFIGURATION : 0;
    PUT(function);
    return error;
}

/* ---- Questions. The runtime numbers limits, attributes and errors as the driver does. ---- */

static int answer_limit(const Context *context, int limit, uint64_t *answer)
{
    if (limit < 0 || limit > CU_LIMIT_PERSISTING_L2_CACHE_SIZE) return CUDA_ERROR_UNSUPPORTED_LIMIT;
    *answer = atomic_load(&context->limits[limit]);
    return 0;
}

/* Attributes and occupancy of a kernel; question->number is the attribute or the threads of a block. */
static int answer_of_function(const Function *caller, const RuntimeQuestion *question, uint64_t *answer)
{
    const CodeFunction *code = (const CodeFunction *)(uintptr_t)question->function;
    Function *function = find_kernel_of_code(caller, code);
    CUresult result = CUDA_SUCCESS;
    int value = 0;
    if (!function) return RUNTIME_INVALID_FUNCTION;
    if (question->subject == ASK_FUNCTION)
        result =
            function_attribute(code, &function->settings, (CUfunction_attribute)question->number, &value);
    else if (question->number > 0)
        value = occupancy_blocks(code, question->number, question->shared);
    else
        result = CUDA_ERROR_INVALID_VALUE;
    PUT(function);
    *answer = (uint64_t)(int64_t)value;
    return (int)result;
}

static int answer_question(void *closure, const RuntimeQuestion *question, uint64_t *answer)
{
    const Context *context = context_of(closure);
    CUresult result = CUDA_SUCCESS;
    int value = 0;
    switch (question->subject) {
    case ASK_DEVICE: value = context->device->ordinal; break;
    case ASK_DEVICE_COUNT: value = driver_settings()->devices; break;
    case ASK_VERSION: value = driver_settings()->version; break;
    case ASK_CACHE_CONFIG: value = (int)atomic_load(&context->cache_config); break;
    case ASK_SHARED_CONFIG: value = (int)atomic_load(&context->shared_config); break;
    case ASK_ATTRIBUTE:
        result = cuDeviceGetAttribute(&value, (CUdevice_attribute)question->number, question->device);
        break;
    case ASK_LIMIT: return answer_limit(context, question->number, answer);
    case ASK_FUNCTION:
    case ASK_OCCUPANCY: return answer_of_function(closure, question, answer);
    }
    *answer = (uint64_t)(int64_t)value;
    return (int)result;
}

static bool condition_set_by_kernel(uint64_t handle, uint32_t value) { return condition_set(handle, value); }

void device_runtime_init(DeviceRuntime *runtime, Function *function)
{
    *runtime = (DeviceRuntime){
        .closure = function,
        .accept = accept_child,
        .buffers = child_buffers,
        .next_grid_id = next_grid_id,
        .answer = answer_question,
        .set_condition = condition_set_by_kernel,
        .launch_graph = graph_launch_by_kernel,
        .max_pending = (uint32_t)atomic_load(
            &function->object.context->limits[CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT]),
    };
}
