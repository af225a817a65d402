/* Which symbols the library exports, and which functions cuGetProcAddress returns for a version. */
#include "check.h"

#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>

#include "api/base/api.h"
#include "graph/legacy.h"

/* Every symbol of the tables, variants included, and the one by which the project's own loader knows it. */
static const char *const symbols[] = {
#define SYMBOL_NONE(symbol) #symbol,
#define SYMBOL_PTSZ(symbol) #symbol, #symbol "_ptsz",
#define SYMBOL_PTDS(symbol) #symbol, #symbol "_ptds",
#define CU_FN(name, symbol, version, per_thread, waits, params, args) SYMBOL_##per_thread(symbol)
#define CU_EXPORT(name, symbol, version, per_thread) #symbol,
#include "abi/cuda_functions.def"
#include "abi/cuda_exports.def"
#undef CU_FN
#undef CU_EXPORT
    "cpuDeviceTable", "cpuDeviceLinker", "cpuDeviceLog", "cpuDeviceRecover", "cpuDeviceMemoryUsed",
};
enum { SYMBOLS = sizeof symbols / sizeof *symbols };

static bool in_tables(const char *name)
{
    for (size_t i = 0; i < SYMBOLS; i++)
        if (!strcmp(symbols[i], name)) return true;
    return false;
}

static char *read_whole(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *data = NULL;
    if (!file) return NULL;
    if (!fseek(file, 0, SEEK_END)) {
        long size = ftell(file);
        data = size > 0 ? malloc((size_t)size) : NULL;
        if (data && (fseek(file, 0, SEEK_SET) || fread(data, 1, (size_t)size, file) != (size_t)size)) {
            free(data);
            data = NULL;
        }
    }
    fclose(file);
    return data;
}

/* The library exports exactly the symbols of the tables. The library is PYCUDA_DRIVER's, or the build's. */
static void test_exports(void)
{
    const char *path = getenv("PYCUDA_DRIVER");
    char *data = read_whole(path ? path : "device/libcuda.so.1");
    if (!data) {
        printf("no library file to look into\n");
        return;
    }
    const Elf64_Ehdr *header = (const void *)data;
    const Elf64_Shdr *sections = (const void *)(data + header->e_shoff);
    size_t exported = 0;
    for (int s = 0; s < header->e_shnum; s++) {
        if (sections[s].sh_type != SHT_DYNSYM) continue;
        const char *names = data + sections[sections[s].sh_link].sh_offset;
        const Elf64_Sym *table = (const void *)(data + sections[s].sh_offset);
        for (size_t i = 1; i < sections[s].sh_size / sizeof *table; i++) {
            if (table[i].st_shndx == SHN_UNDEF) continue;
            exported++;
            if (!in_tables(names + table[i].st_name))
                CHECK_TEXT(names + table[i].st_name, "a symbol of the tables");
        }
    }
    CHECK_EQUAL(exported, SYMBOLS);
    free(data);
}

typedef void (*AnyFn)(void);

/* cuGetProcAddress_v2 with *function and *status set to other values before. */
static CUresult ask(const char *name, int version, cuuint64_t flags, void **function, unsigned *status)
{
    *function = NULL;
    *status = 99;
    return cuGetProcAddress_v2(name, function, version, flags, status);
}

#define CHECK_PROC(name, version, flags, symbol) \
    do { \
        void *got_function; \
        unsigned got_status; \
        CHECK_EQUAL(ask(name, version, flags, &got_function, &got_status), CUDA_SUCCESS); \
        CHECK_EQUAL(got_status, CU_GET_PROC_ADDRESS_SUCCESS); \
        CHECK((AnyFn)(uintptr_t)got_function == (AnyFn)symbol); \
    } while (0)

static void test_versions(void)
{
    void *function;
    unsigned status;
    CHECK_PROC("cuMemAlloc", 13000, 0, cuMemAlloc_v2);
    CHECK_PROC("cuMemAlloc", 3020, 0, cuMemAlloc_v2);
    CHECK_EQUAL(ask("cuMemAlloc", 3010, 0, &function, &status), CUDA_SUCCESS);
    CHECK(function && (AnyFn)(uintptr_t)function != (AnyFn)cuMemAlloc_v2);
    CHECK_PROC("cuCtxCreate", 11030, 0, cuCtxCreate_v2);
    CHECK_PROC("cuCtxCreate", 12000, 0, cuCtxCreate_v3);
    CHECK_PROC("cuCtxCreate", 13000, 0, cuCtxCreate_v4);
    CHECK_PROC("cuGetProcAddress", 11030, 0, cuGetProcAddress);
    CHECK_PROC("cuGetProcAddress", 12000, 0, cuGetProcAddress_v2);
    CHECK_PROC("cuLaunchKernel", 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, cuLaunchKernel_ptsz);
    CHECK_PROC("cuLaunchKernel", 12000, CU_GET_PROC_ADDRESS_LEGACY_STREAM, cuLaunchKernel);
    CHECK_PROC("cuMemcpyHtoD", 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, cuMemcpyHtoD_v2_ptds);
    CHECK_PROC("cuMemAlloc", 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, cuMemAlloc_v2);
    CHECK_PROC("cuInit", -1, 0, cuInit);
    CHECK_PROC("cuMemAlloc", -1, 0, cuMemAlloc_v2);
    /* Another signature than the macro of that name in CUDA 12's header. */
    CHECK_EQUAL(ask("cuGraphInstantiate", 13000, 0, &function, &status), CUDA_SUCCESS);
    CHECK((AnyFn)(uintptr_t)function == (AnyFn)cuGraphInstantiate_v2);
    CHECK_EQUAL(ask("cuMemAllocAsync", 11010, 0, &function, &status), CUDA_SUCCESS);
    CHECK_EQUAL(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    CHECK(!function);
    CHECK_EQUAL(ask("cuNoSuchFunction", 13000, 0, &function, &status), CUDA_SUCCESS);
    CHECK_EQUAL(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    CHECK(!function);
    void *before = function = &status;
    CHECK_EQUAL(cuGetProcAddress_v2("cuInit", &function, 14000, 0, &status), CUDA_ERROR_INVALID_VALUE);
    CHECK(function == before);
    CHECK_EQUAL(ask(NULL, 13000, 0, &function, &status), CUDA_ERROR_INVALID_VALUE);
    CHECK_EQUAL(cuGetProcAddress_v2("cuInit", NULL, 13000, 0, NULL), CUDA_ERROR_INVALID_VALUE);
}

/* Streams of each thread came with CUDA 7: functions that take them are not there before, others are. */
static void test_per_thread_versions(void)
{
    enum { PER_THREAD = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM };
    void *function;
    unsigned status;
    CHECK_EQUAL(ask("cuLaunchKernel", 6050, PER_THREAD, &function, &status), CUDA_SUCCESS);
    CHECK_EQUAL(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    CHECK(!function);
    CHECK_EQUAL(ask("cuMemcpyHtoD", 2000, PER_THREAD, &function, &status), CUDA_SUCCESS);
    CHECK(!function);
    CHECK_PROC("cuLaunchKernel", 7000, PER_THREAD, cuLaunchKernel_ptsz);
    CHECK_PROC("cuMemcpyHtoD", 7000, PER_THREAD, cuMemcpyHtoD_v2_ptds);
    CHECK_PROC("cuLaunchKernel", 6050, CU_GET_PROC_ADDRESS_LEGACY_STREAM, cuLaunchKernel);
    CHECK_PROC("cuMemAlloc", 4000, PER_THREAD, cuMemAlloc_v2);
}

/* What is not found is NULL and no error, although no status says why; the first version of the function
 * says it by its result. */
static void test_without_status(void)
{
    void *function;
    CHECK_EQUAL(cuGetProcAddress_v2("cuInit", &function, 2000, 0, NULL), CUDA_SUCCESS);
    CHECK(function != NULL);
    CHECK_EQUAL(cuGetProcAddress_v2("cuFuncSetAttribute", &function, 2000, 0, NULL), CUDA_SUCCESS);
    CHECK(!function);
    function = &function;
    CHECK_EQUAL(cuGetProcAddress_v2("cuNoSuchFunction", &function, 13000, 0, NULL), CUDA_SUCCESS);
    CHECK(!function);
    CHECK_EQUAL(cuGetProcAddress("cuNoSuchFunction", &function, 13000, 0), CUDA_ERROR_NOT_FOUND);
    CHECK(!function);
}

/* The driver poses as one of CUDA 12.3, without later functions. */
static void test_posing(void)
{
    int version = 0;
    void *function;
    unsigned status;
    CHECK_EQUAL(cuDriverGetVersion(&version), CUDA_SUCCESS);
    CHECK_EQUAL(version, 12030);
    CHECK_EQUAL(ask("cuFuncGetParamInfo", 12040, 0, &function, &status), CUDA_ERROR_INVALID_VALUE);
    CHECK_EQUAL(ask("cuFuncGetParamInfo", 12030, 0, &function, &status), CUDA_SUCCESS);
    CHECK_EQUAL(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    CHECK(!function);
    CHECK_PROC("cuFuncGetName", 12030, 0, cuFuncGetName);
    CHECK_PROC("cuCtxCreate", 12030, 0, cuCtxCreate_v3);
}

/* As the library exports it: nothing here calls it with arguments. */
CUresult cuMemBatchDecompressAsync(void);

static void test_unsupported(void)
{
    CUlogIterator from;
    char text[400];
    size_t size = sizeof text;
    CHECK_EQUAL(cuMemBatchDecompressAsync(), CUDA_ERROR_NOT_INITIALIZED);
    CHECK_EQUAL(cuInit(0), CUDA_SUCCESS);
    CHECK_EQUAL(cuLogsCurrent(&from, 0), CUDA_SUCCESS);
    CHECK_EQUAL(cuMemBatchDecompressAsync(), CUDA_ERROR_NOT_SUPPORTED);
    CHECK_EQUAL(cuLogsDumpToMemory(&from, text, &size, 0), CUDA_SUCCESS);
    CHECK(strstr(text, "cuMemBatchDecompressAsync") != NULL);
    CHECK_EQUAL(strlen(text), size);
}

static void test_errors(void)
{
    const char *text = NULL;
    CHECK_EQUAL(cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &text), CUDA_SUCCESS);
    CHECK_TEXT(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
    CHECK_EQUAL(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text), CUDA_SUCCESS);
    CHECK_TEXT(text, "out of memory");
    CHECK_EQUAL(cuGetErrorName((CUresult)12345, &text), CUDA_ERROR_INVALID_VALUE);
    CHECK(!text);
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc == 1) {
        char command[4096];
        snprintf(command, sizeof command, "PYCUDA_CPU_DRIVER_VERSION=12030 '%s' posing", argv[0]);
        CHECK_EQUAL(system(command), 0);
        unsetenv("PYCUDA_CPU_DRIVER_VERSION");
        CHECK_GROUP(test_exports);
        CHECK_GROUP(test_versions);
        CHECK_GROUP(test_per_thread_versions);
        CHECK_GROUP(test_without_status);
        CHECK_GROUP(test_unsupported);
        CHECK_GROUP(test_errors);
    } else
        CHECK_GROUP(test_posing);
    return check_done();
}
