/* What host code registers before main: fat binaries, with the functions and variables in them that host
 * addresses stand for. A fat binary becomes a library of the driver when one of its names is first used. */
#include "runtime/runtime.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct FatBinary {
    const FatWrapper *image;
    CUlibrary library;
    cudaError_t error; /* why it could not be loaded */
    bool tried;
} FatBinary;

typedef struct Symbol {
    const void *host; /* NULL: an empty place of the table */
    const char *name;
    FatBinary *binary;
    bool is_variable, is_managed;
    CUkernel kernel; /* once it was asked for */
} Symbol;

/* Hashed by the host address; a host address that has gone keeps its place, without a binary. */
static Symbol *symbols;
static size_t symbol_places, symbol_count;
static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;

static Symbol *place_of(Symbol *table, size_t places, const void *host)
{
    size_t at = (size_t)(((uintptr_t)host >> 4) * 0x9e3779b97f4a7c15u) & (places - 1);
    while (table[at].host && table[at].host != host) at = (at + 1) & (places - 1);
    return &table[at];
}

/* Room for one more symbol, in a table that is at most half full. */
static bool grow_locked(void)
{
    enum { FIRST_PLACES = 64 };
    if (2 * (symbol_count + 1) <= symbol_places) return true;
    size_t places = symbol_places ? 2 * symbol_places : FIRST_PLACES;
    Symbol *table = calloc(places, sizeof *table);
    if (!table) return false;
    for (size_t i = 0; i < symbol_places; i++)
        if (symbols[i].host) *place_of(table, places, symbols[i].host) = symbols[i];
    free(symbols);
    symbols = table;
    symbol_places = places;
    return true;
}

static void add_symbol(Symbol symbol)
{
    if (!symbol.host) return;
    pthread_mutex_lock(&registry_lock);
    if (grow_locked()) {
        Symbol *place = place_of(symbols, symbol_places, symbol.host);
        if (!place->host) symbol_count++;
        *place = symbol;
    }
    pthread_mutex_unlock(&registry_lock);
}

void **__cudaRegisterFatBinary(void *image)
{
    FatBinary *binary = calloc(1, sizeof *binary);
    if (binary) binary->image = image;
    return (void **)binary;
}

void __cudaRegisterFatBinaryEnd(void **handle) { (void)handle; }

/* When the process exits the library stays: to unload it would wait for kernels that are still running. */
void __cudaUnregisterFatBinary(void **handle)
{
    FatBinary *binary = (FatBinary *)handle;
    if (!binary) return;
    pthread_mutex_lock(&registry_lock);
    for (size_t i = 0; i < symbol_places; i++)
        if (symbols[i].binary == binary) symbols[i].binary = NULL;
    pthread_mutex_unlock(&registry_lock);
    if (binary->library && !runtime_is_ending) cuLibraryUnload(binary->library);
    free(binary);
}

void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int limit,
                            void *tid, void *bid, void *block, void *grid, int *warp)
{
    (void)device, (void)limit, (void)tid, (void)bid, (void)block, (void)grid, (void)warp;
    add_symbol((Symbol){.host = host, .name = name, .binary = (FatBinary *)handle});
}

void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external, size_t size,
                       int constant, int global)
{
    (void)device, (void)external, (void)size, (void)constant, (void)global;
    add_symbol((Symbol){.host = host, .name = name, .binary = (FatBinary *)handle, .is_variable = true});
}

/* `host` is a pointer variable, through which host code uses the managed variable. */
void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int external,
                              size_t size, int constant, int global)
{
    (void)device, (void)external, (void)size, (void)constant, (void)global;
    add_symbol((Symbol){.host = (const void *)host,
                        .name = name,
                        .binary = (FatBinary *)handle,
                        .is_variable = true,
                        .is_managed = true});
}

/* For kernels that use host code's variables and functions, which the CPU device does not support. */
void __cudaRegisterHostVar(void **handle, const char *name, char *host, size_t size)
{
    (void)handle, (void)name, (void)host, (void)size;
}
void __cudaRegisterUnifiedTable(void **handle, void *table) { (void)handle, (void)table; }

static cudaError_t load_locked(FatBinary *binary)
{
    if (!binary->tried) {
        binary->tried = true;
        binary->error = (cudaError_t)runtime_load_image(&binary->library, binary->image);
    }
    return binary->error;
}

static cudaError_t find_kernel_locked(Symbol *symbol)
{
    if (symbol->kernel) return cudaSuccess;
    TRY(load_locked(symbol->binary));
    CUresult result = cuLibraryGetKernel(&symbol->kernel, symbol->binary->library, symbol->name);
    return result == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidDeviceFunction : (cudaError_t)result;
}

static Symbol *find_symbol_locked(const void *host, bool is_variable)
{
    Symbol *symbol = symbol_places && host ? place_of(symbols, symbol_places, host) : NULL;
    return symbol && symbol->host && symbol->binary && symbol->is_variable == is_variable ? symbol : NULL;
}

cudaError_t runtime_kernel(const void *host, CUfunction *out)
{
    cudaError_t error = cudaSuccess;
    *out = (CUfunction)host;
    pthread_mutex_lock(&registry_lock);
    Symbol *symbol = find_symbol_locked(host, false);
    if (symbol && !(error = find_kernel_locked(symbol))) *out = (CUfunction)symbol->kernel;
    pthread_mutex_unlock(&registry_lock);
    return host ? error : cudaErrorInvalidDeviceFunction;
}

cudaError_t runtime_registered_kernel(const void *host, cudaKernel_t *out)
{
    cudaError_t error = cudaErrorInvalidDeviceFunction;
    pthread_mutex_lock(&registry_lock);
    Symbol *symbol = find_symbol_locked(host, false);
    if (symbol && !(error = find_kernel_locked(symbol))) *out = symbol->kernel;
    pthread_mutex_unlock(&registry_lock);
    return error;
}

cudaError_t runtime_function(const void *host, CUfunction *out)
{
    CUfunction kernel, function;
    TRY(runtime_kernel(host, &kernel));
    *out = kernel;
    CUresult result = cuKernelGetFunction(&function, (CUkernel)kernel);
    if (!result) *out = function;
    return result == CUDA_ERROR_INVALID_HANDLE ? cudaSuccess : (cudaError_t)result;
}

/* A managed variable has one address in every context. */
static CUresult symbol_address(CUlibrary library, const Symbol *symbol, Variable *out)
{
    if (symbol->is_managed) return cuLibraryGetManaged(&out->address, &out->size, library, symbol->name);
    return cuLibraryGetGlobal(&out->address, &out->size, library, symbol->name);
}

static cudaError_t variable_locked(const Symbol *symbol, Variable *out)
{
    TRY(load_locked(symbol->binary));
    CUresult result = symbol_address(symbol->binary->library, symbol, out);
    return result == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidSymbol : (cudaError_t)result;
}

/* The managed variable at that address: host code names it by its address on the device. */
static Symbol *find_managed_locked(const void *address)
{
    for (size_t i = 0; i < symbol_places; i++)
        if (symbols[i].binary && symbols[i].is_managed && *(const void *const *)symbols[i].host == address)
            return address ? &symbols[i] : NULL;
    return NULL;
}

cudaError_t runtime_variable(const void *host, Variable *out)
{
    pthread_mutex_lock(&registry_lock);
    Symbol *symbol = find_symbol_locked(host, true);
    if (!symbol) symbol = find_managed_locked(host);
    cudaError_t error = symbol ? variable_locked(symbol, out) : cudaErrorInvalidSymbol;
    pthread_mutex_unlock(&registry_lock);
    return error;
}

/* Called before host code uses the managed variables of the fat binary. */
char __cudaInitModule(void **handle)
{
    Variable variable;
    cudaError_t error = runtime_need_context();
    pthread_mutex_lock(&registry_lock);
    for (size_t i = 0; i < symbol_places && !error; i++) {
        Symbol *symbol = &symbols[i];
        if (!symbol->host || symbol->binary != (FatBinary *)handle || !symbol->is_managed) continue;
        error = variable_locked(symbol, &variable);
        if (!error) *(uintptr_t *)(uintptr_t)symbol->host = (uintptr_t)variable.address;
    }
    pthread_mutex_unlock(&registry_lock);
    return !runtime_return(error);
}

const void *runtime_host_function(CUfunction function)
{
    const void *found = NULL;
    CUfunction candidate;
    pthread_mutex_lock(&registry_lock);
    for (size_t i = 0; i < symbol_places && !found; i++) {
        Symbol *symbol = &symbols[i];
        if (!symbol->binary || !symbol->kernel) continue;
        if ((CUfunction)symbol->kernel == function
            || (!cuKernelGetFunction(&candidate, symbol->kernel) && candidate == function))
            found = symbol->host;
    }
    pthread_mutex_unlock(&registry_lock);
    return found ? found : function;
}

cudaError_t run_cudaGetSymbolAddress(void **out, const void *symbol)
{
    Variable variable;
    if (!out) return cudaErrorInvalidValue;
    TRY(runtime_variable(symbol, &variable));
    *out = (void *)(uintptr_t)variable.address;
    return cudaSuccess;
}

cudaError_t run_cudaGetSymbolSize(size_t *out, const void *symbol)
{
    Variable variable;
    if (!out) return cudaErrorInvalidValue;
    TRY(runtime_variable(symbol, &variable));
    *out = variable.size;
    return cudaSuccess;
}
