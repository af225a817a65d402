/* Launching kernels: the shape and the parameters are checked and copied at once, the grid runs in its
 * stream. */
#include <stdlib.h>
#include <string.h>

#include "api/launch/launch.h"
#include "api/base/fault_places.h"
#include "api/base/log.h"
#include "api/base/report.h"
#include "api/device/device_limits.h"
#include "api/memory/marks.h"
#include "api/memory/memory.h"
#include "api/stream/capture.h"
#include "api/stream/green.h"
#include "api/stream/stream.h"
#include "api/texture/texture.h"

typedef struct LaunchTask {
    Task task;
    Function *function;     /* a reference */
    GridLaunch launch;
    KernelRun run;
    uint8_t params_room[];  /* the parameters, from the first address in it that is aligned */
} LaunchTask;

static uint32_t multiprocessors_of(const LaunchConfig *shape)
{
    return shape->multiprocessors ? shape->multiprocessors : (uint32_t)driver_multiprocessors();
}

/* GridLaunch.resident: how many blocks of the launch can be resident at a time. */
static uint64_t resident_blocks(const GridLaunch *launch)
{
    uint64_t threads = (uint64_t)launch->block[0] * launch->block[1] * launch->block[2];
    int each = occupancy_blocks(launch->function, (int)threads, launch->dynamic_shared);
    return (uint64_t)each * launch->multiprocessors;
}

void launch_prepare(GridLaunch *launch, const Function *function, const LaunchConfig *shape,
                    const uint8_t *params)
{
    Context *context = function->object.context;
    *launch = (GridLaunch){
        .function = function->code,
        .grid = {shape->grid[0], shape->grid[1], shape->grid[2]},
        .block = {shape->block[0], shape->block[1], shape->block[2]},
        .dynamic_shared = shape->dynamic_shared,
        .params = params,
        .cooperative = shape->cooperative,
        .multiprocessors = multiprocessors_of(shape),
        .device_multiprocessors = (uint32_t)driver_multiprocessors(),
        .memory = driver_memory(),
        .refusal = memory_refusal,
        .refusal_closure = context,
        .find_texture = texture_find,
        .print = context_print,
        .print_closure = context,
        .resident = resident_blocks,
        .name_fault = driver_settings()->faults_reported ? fault_places_name : NULL,
    };
    uint32_t cluster[3];
    launch_find_cluster(function, shape, cluster);
    grid_set_cluster(launch, cluster);
}

/* Sets run->bindings if the module has references and they are not set. False if out of memory; then the
 * context has failed. */
static bool bind_references(KernelRun *run, const Function *function, uint64_t ticket)
{
    if (!function->code->module->reference_count || run->bindings) return true;
    run->bindings = module_bind_references(function->module);
    if (!run->bindings)
        context_fail(function->object.context, CUDA_ERROR_OUT_OF_MEMORY, "no memory for a launch", ticket);
    return run->bindings;
}

/* Starts the grid. NULL if the context has failed first, for lack of memory. */
static GridRun *begin_launch(KernelRun *run, const GridLaunch *prepared, Function *function, Stream *stream)
{
    enum { DEFAULT_STACK = 1024 }; /* of CU_LIMIT_STACK_SIZE; with it the stack is not limited */
    Context *context = function->object.context;
    WorkerPool *workers = driver_workers(context->device);
    marks_settle(stream->head->ticket);
    report_launch();
    uint64_t stack = atomic_load(&context->limits[CU_LIMIT_STACK_SIZE]);
    run->fault.code = CUDA_SUCCESS;
    if (!workers) {
        context_fail(context, CUDA_ERROR_OUT_OF_MEMORY, "no memory for the device's worker threads",
                     stream->head->ticket);
        return NULL;
    }
    if (!bind_references(run, function, stream->head->ticket)) return NULL;
    device_runtime_init(&run->runtime, function);
    run->runtime.graph_launches = run->graph_launches;
    run->runtime.current_graph = run->current_graph;
    run->launch = *prepared;
    run->launch.grid_id = run->runtime.next_grid_id(run->runtime.closure);
    run->launch.stack_limit = stack == DEFAULT_STACK ? 0 : (uint32_t)stack;
    run->launch.runtime = &run->runtime;
    run->launch.heap = context_heap(context);
    run->launch.bindings = run->bindings;
    run->launch.stop = &stream->stop;
    run->launch.ticket = stream->head->ticket;
    return grid_start(workers, &run->launch, &run->fault);
}

bool launch_go_on(KernelRun *run, const GridLaunch *prepared, Function *function, Stream *stream)
{
    if (!run->grid) run->grid = begin_launch(run, prepared, function, stream);
    if (run->grid && !grid_resume(run->grid, stream->lent)) return false;
    run->grid = NULL;
    free(run->bindings);
    run->bindings = NULL;
    if (run->fault.code)
        context_fail(function->object.context, run->fault.code, run->fault.text, stream->head->ticket);
    return true;
}

static void run_launch(Task *self, Stream *stream)
{
    LaunchTask *task = (LaunchTask *)self;
    self->unfinished = !launch_go_on(&task->run, &task->launch, task->function, stream);
}

static void free_launch(Task *self)
{
    LaunchTask *task = (LaunchTask *)self;
    free(task->run.bindings);
    PUT(task->function);
    free(task);
}

CUresult launch_refuse(const CodeFunction *code, CUresult error, const char *what, unsigned long long asked,
                       unsigned long long limit)
{
    log_error("launch of %s: %s is %llu, the limit is %llu", code->name, what, asked, limit);
    return error;
}

CUresult launch_check_shape(const Function *function, const LaunchConfig *shape)
{
    static const uint32_t grid_limits[3] = {INT32_MAX, DEVICE_MAX_GRID_YZ, DEVICE_MAX_GRID_YZ};
    static const uint32_t block_limits[3] = {DEVICE_MAX_THREADS, DEVICE_MAX_THREADS, DEVICE_MAX_BLOCK_Z};
    static const char *const grid_names[3] = {"grid dimension x", "grid dimension y", "grid dimension z"};
    static const char *const block_names[3] = {"block dimension x", "block dimension y", "block dimension z"};
    const CodeFunction *code = function->code;
    uint64_t threads = 1, required = (uint64_t)code->reqntid[0] * code->reqntid[1] * code->reqntid[2];
    for (int i = 0; i < 3; i++) {
        if (!shape->grid[i] || shape->grid[i] > grid_limits[i])
            return launch_refuse(code, CUDA_ERROR_INVALID_VALUE, grid_names[i], shape->grid[i],
                                 grid_limits[i]);
        if (!shape->block[i] || shape->block[i] > block_limits[i])
            return launch_refuse(code, CUDA_ERROR_INVALID_VALUE, block_names[i], shape->block[i],
                                 block_limits[i]);
        threads *= shape->block[i];
    }
    uint64_t max = (uint64_t)function_max_threads(code);
    if (threads > max)
        return launch_refuse(code, CUDA_ERROR_INVALID_VALUE, "the number of threads of a block", threads,
                             max);
    if (required && threads != required)
        return launch_refuse(code, CUDA_ERROR_INVALID_VALUE, "the number of threads of a block (.reqntid)",
                             threads, required);
    unsigned shared = (unsigned)function_max_dynamic_shared(code, &function->settings);
    if (shape->dynamic_shared > shared)
        return launch_refuse(code, CUDA_ERROR_INVALID_VALUE, "dynamic shared memory", shape->dynamic_shared,
                             shared);
    return launch_check_cluster(function, shape);
}

CUresult launch_check_cooperative(const Function *function, const LaunchConfig *shape)
{
    uint64_t threads = (uint64_t)shape->block[0] * shape->block[1] * shape->block[2];
    uint64_t blocks = (uint64_t)shape->grid[0] * shape->grid[1] * shape->grid[2];
    int resident = occupancy_blocks(function->code, (int)threads, shape->dynamic_shared);
    uint64_t max = (uint64_t)resident * multiprocessors_of(shape);
    if (blocks <= max) return CUDA_SUCCESS;
    return launch_refuse(function->code, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "the number of blocks",
                         blocks, max);
}

/* The parameters of `extra`: a buffer and its size. */
static CUresult copy_buffer(const CodeFunction *code, void **extra, uint8_t *params)
{
    const void *buffer = NULL;
    const size_t *size = NULL;
    for (void **at = extra; *at != CU_LAUNCH_PARAM_END; at += 2) {
        if (*at == CU_LAUNCH_PARAM_BUFFER_POINTER)
            buffer = at[1];
        else if (*at == CU_LAUNCH_PARAM_BUFFER_SIZE)
            size = at[1];
        else
            return CUDA_ERROR_INVALID_VALUE;
    }
    if (!code->param_size) return CUDA_SUCCESS;
    if (!buffer || !size) return CUDA_ERROR_INVALID_VALUE;
    if (*size < code->param_size) {
        log_error("launch of %s: the parameter buffer has %zu bytes, the kernel needs %llu", code->name,
                  *size, (unsigned long long)code->param_size);
        return CUDA_ERROR_INVALID_VALUE;
    }
    memcpy(params, buffer, code->param_size);
    return CUDA_SUCCESS;
}

CUresult launch_copy_params(const CodeFunction *code, void **pointers, void **extra, uint8_t *params)
{
    if (pointers && extra) return CUDA_ERROR_INVALID_VALUE;
    if (extra) return copy_buffer(code, extra, params);
    if (code->param_count && !pointers) return CUDA_ERROR_INVALID_VALUE;
    for (uint32_t p = 0; p < code->param_count; p++) {
        if (!pointers[p]) return CUDA_ERROR_INVALID_VALUE;
        memcpy(params + code->params[p].offset, pointers[p], code->params[p].size);
    }
    return CUDA_SUCCESS;
}

/* Kernels that launch graphs are nodes of graphs. */
static CUresult check_outside_graphs(const CodeFunction *code)
{
    if (!code->launches_graphs) return CUDA_SUCCESS;
    log_error("launch of %s: a kernel that calls cudaGraphLaunch must be a node of a graph", code->name);
    return CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult submit_launch(Function *function, Stream *stream, const LaunchConfig *requested,
                              void **pointers, void **extra)
{
    LaunchConfig on_part = *requested, *shape = &on_part;
    on_part.multiprocessors = green_multiprocessors(stream);
    if (function->object.context != stream->object.context) return CUDA_ERROR_INVALID_HANDLE;
    if (stream_is_captured(stream)) return capture_add_kernel(stream, function, shape, pointers, extra);
    TRY(launch_check_shape(function, shape));
    TRY(check_outside_graphs(function->code));
    if (shape->cooperative) TRY(launch_check_cooperative(function, shape));
    TRY(queue_wait_room(stream));
    LaunchTask *task = malloc(params_room(sizeof *task + function->code->param_size) + PARAMS_ALIGN);
    if (!task) return CUDA_ERROR_OUT_OF_MEMORY;
    uint8_t *params = task->params_room + (-(uintptr_t)task->params_room & (PARAMS_ALIGN - 1));
    task->task = (Task){.run = run_launch, .release = free_launch, .stoppable = true};
    task->run.grid = NULL;
    task->run.graph_launches = NULL;
    task->run.current_graph = 0;
    task->run.bindings = module_bind_references(function->module);
    memset(params, 0, function->code->param_size);
    CUresult result = launch_copy_params(function->code, pointers, extra, params);
    if (result) {
        free(task->run.bindings);
        free(task);
        return result;
    }
    object_hold(OBJECT(function));
    task->function = function;
    launch_prepare(&task->launch, function, shape, params);
    queue_submit(stream, &task->task, NULL);
    return CUDA_SUCCESS;
}

CUresult launch_function(Function *function, CUstream handle, const LaunchConfig *shape, void **pointers,
                         void **extra)
{
    Stream *stream;
    TRY(stream_enter_to_submit(handle, &stream));
    CUresult result = submit_launch(function, stream, shape, pointers, extra);
    PUT(stream);
    return result;
}

static CUresult launch_handle(CUfunction handle, CUstream stream, const LaunchConfig *shape, void **pointers,
                              void **extra)
{
    Function *function;
    TRY(function_enter(handle, &function));
    CUresult result = launch_function(function, stream, shape, pointers, extra);
    PUT(function);
    return result;
}

CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                        unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared,
                        CUstream stream, void **pointers, void **extra)
{
    LaunchConfig shape = {
        .grid = {grid_x, grid_y, grid_z}, .block = {block_x, block_y, block_z}, .dynamic_shared = shared};
    return launch_handle(function, stream, &shape, pointers, extra);
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                                   unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                                   unsigned int block_z, unsigned int shared, CUstream stream,
                                   void **pointers)
{
    LaunchConfig shape = {.grid = {grid_x, grid_y, grid_z},
                          .block = {block_x, block_y, block_z},
                          .dynamic_shared = shared,
                          .cooperative = true};
    return launch_handle(function, stream, &shape, pointers, NULL);
}

/* Attributes for performance only are accepted and change nothing. So are those that put a kernel into a
 * memory synchronization domain (MEM_SYNC), because here a fence orders the accesses of all domains. Any
 * attribute that is not listed is an error, as it may change what the kernel does. */
static CUresult read_attribute(const CUlaunchAttribute *attribute, LaunchConfig *shape)
{
    enum {
        CLUSTER_POLICY = CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
        MEM_SYNC_MAP = 9, /* CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP */
        MEM_SYNC = 10     /* CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN */
    };
    switch (attribute->id) {
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE: shape->cooperative = attribute->value.cooperative != 0; break;
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
        shape->programmatic = attribute->value.programmaticStreamSerializationAllowed != 0;
        break;
    case CU_LAUNCH_ATTRIBUTE_IGNORE:
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
    case CLUSTER_POLICY:
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    case MEM_SYNC_MAP:
    case MEM_SYNC: break;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        shape->cluster[0] = attribute->value.clusterDim.x;
        shape->cluster[1] = attribute->value.clusterDim.y;
        shape->cluster[2] = attribute->value.clusterDim.z;
        break;
    default:
        log_error("launch attribute %u is not supported by the CPU device", attribute->id);
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    return CUDA_SUCCESS;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **pointers, void **extra)
{
    TRY(driver_check());
    if (!config || (config->numAttrs && !config->attrs)) return CUDA_ERROR_INVALID_VALUE;
    LaunchConfig shape = launch_config_shape(config);
    for (unsigned i = 0; i < config->numAttrs; i++) TRY(read_attribute(&config->attrs[i], &shape));
    return launch_handle(function, config->hStream, &shape, pointers, extra);
}
