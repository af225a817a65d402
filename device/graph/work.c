/* The work of nodes: making it from the driver's parameters, copying and doing it. See work.h. */
#include "graph/work.h"

#include <stdlib.h>
#include <string.h>

#include "api/base/driver.h"
#include "api/base/log.h"
#include "api/copy/array.h"
#include "api/memory/memory.h"
#include "api/memory/stream_values.h"
#include "api/stream/green.h"
#include "graph/condition.h"
#include "graph/graph.h"

const char *work_type_name(CUgraphNodeType type)
{
    static const char *const names[] = {"KERNEL",    "MEMCPY",     "MEMSET",       "HOST",       "GRAPH",
                                        "EMPTY",     "WAIT_EVENT", "EVENT_RECORD", "EXT_SIGNAL", "EXT_WAIT",
                                        "MEM_ALLOC", "MEM_FREE",   "BATCH_MEM_OP", "CONDITIONAL"};
    return type < sizeof names / sizeof *names ? names[type] : "?";
}

void work_begin(Work *work, CUgraphNodeType type, Context *context)
{
    *work = (Work){.type = type, .context = context ? context_retain(context) : NULL};
}

/* ---- Kernels ---- */

/* Allocates the parameters, which are zero, and the pointers to them; false if out of memory. */
static bool make_params(KernelWork *kernel, const CodeFunction *code)
{
    kernel->params = aligned_alloc(PARAMS_ALIGN, params_room(code->param_size));
    kernel->pointers = calloc(code->param_count + 1, sizeof *kernel->pointers);
    if (!kernel->params || !kernel->pointers) return false;
    memset(kernel->params, 0, code->param_size);
    for (uint32_t p = 0; p < code->param_count; p++)
        kernel->pointers[p] = kernel->params + code->params[p].offset;
    return true;
}

CUresult work_make_kernel(Work *work, Function *function, const LaunchConfig *shape, void **pointers,
                          void **extra)
{
    if (function->code->uses_texture_references) {
        log_error("%s reads texture references: it cannot be in a graph", function->code->name);
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    TRY(launch_check_shape(function, shape));
    if (shape->cooperative) TRY(launch_check_cooperative(function, shape));
    work_begin(work, CU_GRAPH_NODE_TYPE_KERNEL, function->object.context);
    work->kernel.function = function;
    work->kernel.shape = *shape;
    object_hold(OBJECT(function));
    CUresult result = make_params(&work->kernel, function->code)
                          ? launch_copy_params(function->code, pointers, extra, work->kernel.params)
                          : CUDA_ERROR_OUT_OF_MEMORY;
    if (result) work_free(work);
    return result;
}

CUresult work_make_kernel_from_params(Work *work, const CUDA_KERNEL_NODE_PARAMS *params)
{
    Function *function;
    TRY(function_enter(params->func ? params->func : (CUfunction)(void *)params->kern, &function));
    LaunchConfig shape = {
        .grid = {params->gridDimX, params->gridDimY, params->gridDimZ},
        .block = {params->blockDimX, params->blockDimY, params->blockDimZ},
        .dynamic_shared = params->sharedMemBytes,
        .multiprocessors = green_multiprocessors(NULL),
    };
    CUresult result = work_make_kernel(work, function, &shape, params->kernelParams, params->extra);
    PUT(function);
    return result;
}

CUresult work_keep_shape(Work *work, const Work *before)
{
    LaunchConfig *shape = &work->kernel.shape;
    shape->cooperative = before->kernel.shape.cooperative;
    shape->multiprocessors = before->kernel.shape.multiprocessors;
    memcpy(shape->cluster, before->kernel.shape.cluster, sizeof shape->cluster);
    return launch_check_cluster(work->kernel.function, shape);
}

static CUresult copy_kernel(KernelWork *to, const KernelWork *from)
{
    const CodeFunction *code = from->function->code;
    *to = (KernelWork){.function = from->function, .shape = from->shape};
    object_hold(OBJECT(to->function));
    if (!make_params(to, code)) return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(to->params, from->params, code->param_size);
    if (!from->attributes) return CUDA_SUCCESS;
    to->attributes = malloc(sizeof *to->attributes);
    if (!to->attributes) return CUDA_ERROR_OUT_OF_MEMORY;
    *to->attributes = *from->attributes;
    return CUDA_SUCCESS;
}

static void free_kernel(KernelWork *kernel)
{
    PUT(kernel->function);
    free(kernel->params);
    free(kernel->pointers);
    free(kernel->attributes);
}

/* ---- Copies ---- */

static void hold_arrays(const CopyWork *copy)
{
    for (int i = 0; i < 2; i++)
        if (copy->arrays[i]) object_hold(OBJECT(copy->arrays[i]));
}

static void put_arrays(const CopyWork *copy)
{
    for (int i = 0; i < 2; i++)
        if (copy->arrays[i]) PUT(copy->arrays[i]);
}

/* One side of a copy as CUDA_MEMCPY3D describes it. */
typedef struct SideShape {
    CUmemorytype type;
    size_t x, y, z, pitch, height;
} SideShape;

static SideShape side_shape(const CopySide *side, const CopyJob *job)
{
    MemoryRange range;
    SideShape shape = {.pitch = side->pitch};
    if (job->depth > 1 && side->pitch) shape.height = side->slice / side->pitch;
    if (side->array) {
        uint64_t offset = side->address - side->array->storage, row = offset / side->array->row;
        return (SideShape){.type = CU_MEMORYTYPE_ARRAY,
                           .x = offset % side->array->row,
                           .y = row % side->array->rows,
                           .z = row / side->array->rows};
    }
    bool mapped = memory_map_find_for_call(driver_memory(), side->address, 1, &range);
    bool host = !mapped || memory_is_of_host(&range);
    shape.type = host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    return shape;
}

/* Fills in one end of a CUDA_MEMCPY3D for a side of `job`. `end`: the prefix of its fields, src or dst. */
#define DESCRIBE(shape, end, side) \
    do { \
        SideShape described = side_shape(side, job); \
        (shape)->end##MemoryType = described.type; \
        (shape)->end##XInBytes = described.x, (shape)->end##Y = described.y, (shape)->end##Z = described.z; \
        (shape)->end##Pitch = described.pitch, (shape)->end##Height = described.height; \
        (shape)->end##Array = (side)->array; \
        if (described.type == CU_MEMORYTYPE_HOST) (shape)->end##Host = (void *)(uintptr_t)(side)->address; \
        if (described.type == CU_MEMORYTYPE_DEVICE) (shape)->end##Device = (side)->address; \
    } while (0)

CUresult work_make_copy_from_job(Work *work, const CopyJob *job, Context *context)
{
    work_begin(work, CU_GRAPH_NODE_TYPE_MEMCPY, context);
    CopyWork *copy = &work->copy;
    copy->job = *job;
    copy->arrays[0] = job->to.array;
    copy->arrays[1] = job->from.array;
    copy->shape.WidthInBytes = job->width;
    copy->shape.Height = job->height;
    copy->shape.Depth = job->depth;
    DESCRIBE(&copy->shape, dst, &job->to);
    DESCRIBE(&copy->shape, src, &job->from);
    hold_arrays(copy);
    return CUDA_SUCCESS;
}

CUresult work_enter(CUcontext handle, Context **out)
{
    if (handle) return context_resolve(handle, out);
    TRY(context_enter(out));
    context_retain(*out);
    return CUDA_SUCCESS;
}

CUresult work_make_copy_from_shape(Work *work, const CUDA_MEMCPY3D *shape, CUcontext handle)
{
    Context *context;
    TRY(work_enter(handle, &context));
    *work = (Work){.type = CU_GRAPH_NODE_TYPE_MEMCPY, .context = context};
    work->copy.shape = *shape;
    CUresult result = copy_resolve(shape, &work->copy.job, work->copy.arrays);
    if (!result && !copy_check(&work->copy.job)) result = CUDA_ERROR_INVALID_VALUE;
    if (result) work_free(work);
    return result;
}

/* ---- Other kinds ---- */

CUresult work_make_fill(Work *work, const FillJob *job, Context *context)
{
    uint64_t bytes;
    bool element = job->element == 1 || job->element == 2 || job->element == 4;
    bool value_fits = job->element == 4 || !(job->value >> (8 * job->element));
    if (!element || !value_fits || !job->width || !job->height || !fill_check(job, &bytes))
        return CUDA_ERROR_INVALID_VALUE;
    work_begin(work, CU_GRAPH_NODE_TYPE_MEMSET, context);
    work->fill = *job;
    return CUDA_SUCCESS;
}

static CUresult fill_from(Work *work, const CUDA_MEMSET_NODE_PARAMS_v2 *params)
{
    Context *context;
    TRY(work_enter(params->ctx, &context));
    FillJob job = {.address = params->dst,
                   .pitch = params->pitch,
                   .width = params->width,
                   .height = params->height,
                   .element = params->elementSize,
                   .value = params->value};
    CUresult result = work_make_fill(work, &job, context);
    context_put(context);
    return result;
}

CUresult work_make_fill_from_params(Work *work, const CUDA_MEMSET_NODE_PARAMS *params, CUcontext context)
{
    CUDA_MEMSET_NODE_PARAMS_v2 with_context = {
        params->dst,   params->pitch,  params->value, params->elementSize,
        params->width, params->height, context,
    };
    return fill_from(work, &with_context);
}

CUresult work_make_host(Work *work, CUhostFn function, void *data)
{
    if (!function) return CUDA_ERROR_INVALID_VALUE;
    *work = (Work){.type = CU_GRAPH_NODE_TYPE_HOST, .host = {function, data}};
    return CUDA_SUCCESS;
}

static CUresult copy_values(ValuesWork *to, const CUstreamBatchMemOpParams *operations, unsigned count)
{
    to->count = count;
    to->operations = malloc((count + 1) * sizeof *operations);
    if (!to->operations) return CUDA_ERROR_OUT_OF_MEMORY;
    if (count) memcpy(to->operations, operations, count * sizeof *operations);
    return CUDA_SUCCESS;
}

CUresult work_make_values(Work *work, const CUstreamBatchMemOpParams *operations, unsigned count,
                          Context *context)
{
    work_begin(work, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, context);
    CUresult result = copy_values(&work->values, operations, count);
    if (result) work_free(work);
    return result;
}

CUresult work_make_values_from_params(Work *work, const CUDA_BATCH_MEM_OP_NODE_PARAMS *params)
{
    Context *context;
    if (!params->ctx) return CUDA_ERROR_INVALID_VALUE;
    TRY(stream_values_check(params->paramArray, params->count, params->flags));
    TRY(work_enter(params->ctx, &context));
    CUresult result = work_make_values(work, params->paramArray, params->count, context);
    context_put(context);
    return result;
}

static SemaphoreParams *copy_params(const SemaphoreParams *params, unsigned count)
{
    SemaphoreParams *copy = malloc(count * sizeof *copy);
    return copy ? memcpy(copy, params, count * sizeof *copy) : NULL;
}

static void free_semaphores(const SemaphoresWork *work)
{
    external_semaphores_put(work->semaphores, work->semaphores ? work->count : 0);
    free((void *)work->params);
}

static CUresult copy_semaphores(SemaphoresWork *to, const SemaphoresWork *from)
{
    *to = (SemaphoresWork){calloc(from->count, sizeof *to->semaphores),
                           copy_params(from->params, from->count), from->count};
    if (!to->semaphores || !to->params) return CUDA_ERROR_OUT_OF_MEMORY;
    for (unsigned i = 0; i < from->count; i++)
        to->semaphores[i] = (ExternalSemaphore *)object_hold((Object *)(void *)from->semaphores[i]);
    return CUDA_SUCCESS;
}

CUresult work_make_semaphores(Work *work, const SemaphoresNodeParams *params, bool wait, Context *context)
{
    ExternalSemaphore **semaphores;
    TRY(external_semaphores_enter(params, &semaphores));
    work_begin(work, wait ? CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT : CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL, context);
    work->semaphores =
        (SemaphoresWork){semaphores, copy_params(params->params, params->count), params->count};
    if (work->semaphores.params) return CUDA_SUCCESS;
    work_free(work);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult work_make_semaphores_from_params(Work *work, const SemaphoresNodeParams *params, bool wait)
{
    Context *context;
    TRY(context_enter(&context));
    return params ? work_make_semaphores(work, params, wait, context) : CUDA_ERROR_INVALID_VALUE;
}

CUresult work_make_event(Work *work, CUgraphNodeType type, CUevent handle)
{
    Event *event;
    TRY(event_enter(handle, &event));
    work_begin(work, type, event_context(event));
    work->event = event;
    return CUDA_SUCCESS;
}

CUresult work_make_from_params(Work *work, const CUgraphNodeParams *params)
{
    for (size_t i = 0; i < 3; i++)
        if (params->reserved0[i]) return CUDA_ERROR_INVALID_VALUE;
    if (params->reserved2) return CUDA_ERROR_INVALID_VALUE;
    switch (params->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: return work_make_kernel_from_params(work, &params->kernel);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        if (params->memcpy.flags || params->memcpy.reserved) return CUDA_ERROR_INVALID_VALUE;
        return work_make_copy_from_shape(work, &params->memcpy.copyParams, params->memcpy.copyCtx);
    case CU_GRAPH_NODE_TYPE_MEMSET: return fill_from(work, &params->memset);
    case CU_GRAPH_NODE_TYPE_HOST: return work_make_host(work, params->host.fn, params->host.userData);
    case CU_GRAPH_NODE_TYPE_EMPTY: *work = (Work){.type = CU_GRAPH_NODE_TYPE_EMPTY}; return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: return work_make_event(work, params->type, params->eventWait.event);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return work_make_event(work, params->type, params->eventRecord.event);
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
        return work_make_semaphores_from_params(work,
                                                (const SemaphoresNodeParams *)(const void *)params->reserved1,
                                                params->type == CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        return work_make_values_from_params(
            work, (const CUDA_BATCH_MEM_OP_NODE_PARAMS *)(const void *)params->reserved1);
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult work_copy(Work *to, const Work *from)
{
    CUresult result = CUDA_SUCCESS;
    *to = *from;
    if (to->context) context_retain(to->context);
    switch (from->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: result = copy_kernel(&to->kernel, &from->kernel); break;
    case CU_GRAPH_NODE_TYPE_MEMCPY: hold_arrays(&to->copy); break;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        result = copy_values(&to->values, from->values.operations, from->values.count);
        break;
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
        result = copy_semaphores(&to->semaphores, &from->semaphores);
        break;
    case CU_GRAPH_NODE_TYPE_GRAPH:
        to->child = NULL;
        result = graph_clone(from->child, &to->child);
        break;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: object_hold((Object *)to->event); break;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: graph_memory_hold(to->memory); break;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        condition_hold(to->conditional.condition);
        to->conditional.bodies = NULL;
        break;
    default: break;
    }
    if (result) work_free(to);
    return result;
}

static void free_conditional(ConditionalWork *conditional)
{
    for (unsigned i = 0; conditional->bodies && i < conditional->size; i++)
        if (conditional->bodies[i]) PUT(conditional->bodies[i]);
    free(conditional->bodies);
    condition_put(conditional->condition);
}

void work_free(Work *work)
{
    switch (work->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: free_kernel(&work->kernel); break;
    case CU_GRAPH_NODE_TYPE_MEMCPY: put_arrays(&work->copy); break;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: free(work->values.operations); break;
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT: free_semaphores(&work->semaphores); break;
    case CU_GRAPH_NODE_TYPE_GRAPH:
        if (work->child) PUT(work->child);
        break;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: object_put((Object *)work->event); break;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: graph_memory_put(work->memory); break;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL: free_conditional(&work->conditional); break;
    default: break;
    }
    if (work->context) context_put(work->context);
    *work = (Work){.type = CU_GRAPH_NODE_TYPE_EMPTY};
}

void work_do(const Work *work)
{
    bool before;
    switch (work->type) {
    case CU_GRAPH_NODE_TYPE_MEMCPY: copy_do(&work->copy.job, work->context); break;
    case CU_GRAPH_NODE_TYPE_MEMSET: fill_do(&work->fill, work->context); break;
    case CU_GRAPH_NODE_TYPE_HOST:
        before = driver_set_in_callback(true);
        work->host.function(work->host.data);
        driver_set_in_callback(before);
        break;
    default: break;
    }
}
