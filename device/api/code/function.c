/* Functions: kernels of a module, their attributes and parameters. */
#include "api/code/module.h"
#include "api/device/device_limits.h"

enum { LAST_CLUSTER_POLICY = 2 }; /* CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING */

CUresult function_enter(CUfunction handle, Function **out)
{
    Context *context;
    TRY(context_enter(&context));
    if (!handle) return CUDA_ERROR_INVALID_HANDLE;
    *out = object_get(handle, OBJECT_FUNCTION);
    return *out ? CUDA_SUCCESS : kernel_function(handle, out);
}

/* The number of threads of a block with these dimensions, which are 0 where the kernel names none: then, and
 * if the number is larger, `max`. */
static int threads_up_to(const uint32_t dimensions[3], int max)
{
    uint64_t threads = (uint64_t)dimensions[0] * dimensions[1] * dimensions[2];
    return threads && threads < (uint64_t)max ? (int)threads : max;
}

int function_max_threads(const CodeFunction *code)
{
    return threads_up_to(code->reqntid, threads_up_to(code->maxntid, DEVICE_MAX_THREADS));
}

int function_max_dynamic_shared(const CodeFunction *code, const FunctionSettings *settings)
{
    int set = atomic_load(&settings->dynamic_shared), own = (int)code->shared_size;
    if (set >= 0) return set;
    /* A kernel whose own shared memory is above the default limit is one that needs the larger limit. */
    int limit = own <= DEVICE_SHARED_PER_BLOCK ? DEVICE_SHARED_PER_BLOCK : device_limits()->shared_optin;
    return limit - own;
}

static int constant_bytes(const CodeModule *module)
{
    uint64_t bytes = 0;
    for (uint32_t g = 0; g < module->global_count; g++)
        if (module->globals[g].is_const) bytes += module->globals[g].size;
    return (int)bytes;
}

CUresult function_attribute(const CodeFunction *code, const FunctionSettings *settings,
                            CUfunction_attribute attribute, int *value)
{
    enum { MAX_REGISTERS = 255 }; /* of a thread */
    uint32_t registers = code->register_estimate, stack = code->stack_size;
    int axis = (int)attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH;
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = function_max_threads(code); break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = (int)code->shared_size; break;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: *value = constant_bytes(code->module); break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
        *value = (int)(stack == UINT32_MAX ? code->local_size : stack); /* UINT32_MAX: not known */
        break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
        *value = (int)(registers < MAX_REGISTERS ? registers : MAX_REGISTERS);
        break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION: *value = code->module->target; break;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *value = driver_settings()->capability; break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *value = function_max_dynamic_shared(code, settings);
        break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: *value = atomic_load(&settings->carveout); break;
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA: *value = 0; break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET: *value = code->requires_cluster; break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
        *value = code->cluster[axis] ? (int)code->cluster[axis] : atomic_load(&settings->cluster[axis]);
        break;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
        *value = atomic_load(&settings->large_clusters);
        break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        *value = atomic_load(&settings->cluster_policy);
        break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

CUresult function_set_attribute(const CodeFunction *code, FunctionSettings *settings,
                                CUfunction_attribute attribute, int value)
{
    int axis = (int)attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH;
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
        if (code->cluster[0]) return CUDA_ERROR_NOT_PERMITTED;
        if (value < 0) return CUDA_ERROR_INVALID_VALUE;
        atomic_store(&settings->cluster[axis], value);
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
        if (value < 0 || value > 1) return CUDA_ERROR_INVALID_VALUE;
        atomic_store(&settings->large_clusters, value);
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        if (value < 0 || value > LAST_CLUSTER_POLICY) return CUDA_ERROR_INVALID_VALUE;
        atomic_store(&settings->cluster_policy, value);
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        if (value < 0 || value > device_limits()->shared_optin - (int)code->shared_size)
            return CUDA_ERROR_INVALID_VALUE;
        atomic_store(&settings->dynamic_shared, value);
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: /* -1: the default, else percent */
        if (value < -1 || value > 100) return CUDA_ERROR_INVALID_VALUE;
        atomic_store(&settings->carveout, value);
        return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult function_param_info(const CodeFunction *code, size_t index, size_t *offset, size_t *size)
{
    if (!offset || index >= code->param_count) return CUDA_ERROR_INVALID_VALUE;
    *offset = code->params[index].offset;
    if (size) *size = code->params[index].size;
    return CUDA_SUCCESS;
}

CpuParameterKind function_parameter_kind(CUfunction handle, size_t index)
{
    Function *function = object_get(handle, OBJECT_FUNCTION);
    CpuParameterKind kind = CPU_PARAMETER_UNKNOWN;
    if (!function) return kind;
    if (index < function->code->param_count) {
        const CodeParam *param = &function->code->params[index];
        kind = param->is_integer     ? CPU_PARAMETER_INTEGER
               : param->is_float     ? CPU_PARAMETER_FLOAT
               : param->is_structure ? CPU_PARAMETER_STRUCTURE
                                     : CPU_PARAMETER_UNKNOWN;
    }
    PUT(function);
    return kind;
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction handle)
{
    Function *function;
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    TRY(function_enter(handle, &function));
    CUresult result = function_attribute(function->code, &function->settings, attribute, value);
    PUT(function);
    return result;
}

CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value)
{
    Function *function;
    TRY(function_enter(handle, &function));
    CUresult result = function_set_attribute(function->code, &function->settings, attribute, value);
    PUT(function);
    return result;
}

/* There is no cache to divide. The value is checked, but not kept, as no call returns it. */
CUresult cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache config)
{
    Function *function;
    TRY(function_enter(handle, &function));
    PUT(function);
    return config > CU_FUNC_CACHE_PREFER_EQUAL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

/* Changes nothing, as cuCtxSetSharedMemConfig. */
CUresult cuFuncSetSharedMemConfig(CUfunction handle, CUsharedconfig config)
{
    Function *function;
    TRY(function_enter(handle, &function));
    PUT(function);
    return config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

/* For a NULL handle cuFuncGetModule, cuFuncGetName and cuFuncGetParamInfo return CUDA_ERROR_INVALID_VALUE,
 * the calls above CUDA_ERROR_INVALID_HANDLE. */
CUresult cuFuncGetModule(CUmodule *out, CUfunction handle)
{
    Function *function;
    TRY(driver_check());
    if (!out || !handle) return CUDA_ERROR_INVALID_VALUE;
    TRY(function_enter(handle, &function));
    *out = function->module;
    PUT(function);
    return CUDA_SUCCESS;
}

CUresult cuFuncGetName(const char **name, CUfunction handle)
{
    Function *function;
    TRY(driver_check());
    if (!name || !handle) return CUDA_ERROR_INVALID_VALUE;
    TRY(function_enter(handle, &function));
    *name = function->code->name;
    PUT(function);
    return CUDA_SUCCESS;
}

CUresult cuFuncGetParamInfo(CUfunction handle, size_t index, size_t *offset, size_t *size)
{
    Function *function;
    TRY(driver_check());
    if (!handle) return CUDA_ERROR_INVALID_VALUE;
    TRY(function_enter(handle, &function));
    CUresult result = function_param_info(function->code, index, offset, size);
    PUT(function);
    return result;
}

CUresult cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction handle)
{
    Function *function;
    if (!state) return CUDA_ERROR_INVALID_VALUE;
    TRY(function_enter(handle, &function));
    *state = CU_FUNCTION_LOADING_STATE_LOADED;
    PUT(function);
    return CUDA_SUCCESS;
}

CUresult cuFuncLoad(CUfunction handle)
{
    Function *function;
    TRY(function_enter(handle, &function));
    PUT(function);
    return CUDA_SUCCESS;
}
