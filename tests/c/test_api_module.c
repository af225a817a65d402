/* Modules: what loads and what does not, functions, variables, attributes, libraries, linking, logs. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "api/base/api.h"

#define BAD(call) CHECK_EQUAL(call, CUDA_ERROR_INVALID_VALUE)
#define OK(call) CHECK_EQUAL(call, CUDA_SUCCESS)

#define HEADER ".version 7.0\n.target sm_75\n.address_size 64\n"

static const char two_kernels[] = HEADER
    ".visible .global .align 4 .u32 counter = 41;\n"
    ".visible .const .align 8 .f64 table[3] = {0d3FF0000000000000, 0d4000000000000000, 0d4008000000000000};\n"
    ".visible .entry first(.param .u64 out, .param .u8 small, .param .f64 wide)\n"
    ".maxntid 128, 1, 1\n{\n  ret;\n}\n"
    ".visible .entry second()\n{\n  .shared .align 4 .b8 space[1000];\n  .reg .b32 %r<3>;\n"
    "  mov.u32 %r1, space;\n  ld.shared.u32 %r2, [%r1];\n  st.shared.u32 [%r1+4], %r2;\n  ret;\n}\n";

/* The functions, parameters, attributes and variables of two_kernels; after the unload all handles are
 * refused. */
static void test_contents(void)
{
    CUmodule module, found;
    CUfunction function, all[3];
    CUdeviceptr address;
    size_t size = 0, offset = 9;
    unsigned count = 0;
    int value = 0;
    const char *name = NULL;
    double table[3] = {0};
    OK(cuModuleLoadData(&module, two_kernels));
    OK(cuModuleGetFunctionCount(&count, module));
    CHECK_EQUAL(count, 2);
    OK(cuModuleEnumerateFunctions(all, 2, module));
    CHECK_EQUAL(cuModuleGetFunction(&function, module, "third"), CUDA_ERROR_NOT_FOUND);
    CHECK(!function);
    OK(cuModuleGetFunction(&function, module, "first"));
    CHECK(all[0] == function || all[1] == function);
    CHECK_EQUAL(cuModuleGetFunction(&all[2], module, NULL), CUDA_ERROR_INVALID_VALUE);
    OK(cuFuncGetName(&name, function));
    CHECK_TEXT(name, "first");
    OK(cuFuncGetModule(&found, function));
    CHECK(found == module);
    OK(cuFuncGetParamInfo(function, 1, &offset, &size));
    CHECK(offset == 8 && size == 1);
    OK(cuFuncGetParamInfo(function, 2, &offset, &size));
    CHECK(offset == 16 && size == 8);
    CHECK_EQUAL(cuFuncGetParamInfo(function, 3, &offset, &size), CUDA_ERROR_INVALID_VALUE);
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function));
    CHECK_EQUAL(value, 128);
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, function));
    CHECK_EQUAL(value, 24);
    OK(cuModuleGetFunction(&function, module, "second"));
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function));
    CHECK_EQUAL(value, 1000);
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function));
    CHECK_EQUAL(value, 1024);
    CHECK_EQUAL(cuFuncGetAttribute(&value, 99, function), CUDA_ERROR_INVALID_VALUE);
    OK(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 231448));
    CHECK_EQUAL(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 231449),
                CUDA_ERROR_INVALID_VALUE);
    CHECK_EQUAL(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_NUM_REGS, 3), CUDA_ERROR_INVALID_VALUE);
    OK(cuModuleGetGlobal_v2(&address, &size, module, "counter"));
    CHECK_EQUAL(size, 4);
    OK(cuMemcpyDtoH_v2(&value, address, 4));
    CHECK_EQUAL(value, 41);
    OK(cuModuleGetGlobal_v2(&address, &size, module, "table"));
    CHECK_EQUAL(size, 24);
    OK(cuMemcpyDtoH_v2(table, address, 24));
    CHECK(table[0] == 1 && table[1] == 2 && table[2] == 3);
    CHECK_EQUAL(cuModuleGetGlobal_v2(&address, &size, module, "nothing"), CUDA_ERROR_NOT_FOUND);
    OK(cuModuleUnload(module));
    CHECK_EQUAL(cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
    CHECK_EQUAL(cuFuncGetName(&name, function), CUDA_ERROR_INVALID_HANDLE);
    CHECK_EQUAL(cuModuleGetFunction(&function, module, "first"), CUDA_ERROR_INVALID_HANDLE);
    CHECK_EQUAL(cuMemcpyDtoH_v2(table, address, 24), CUDA_ERROR_INVALID_VALUE);
}

/* Checks that the image does not load, with that error and a log that contains the word. */
static void refuse(const void *image, CUresult expected, const char *word)
{
    char error[4000] = "unset", info[100] = "unset";
    CUjit_option names[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                            CU_JIT_INFO_LOG_BUFFER,  CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
                            CU_JIT_WALL_TIME,        CU_JIT_LOG_VERBOSE};
    void *values[] = {error, (void *)sizeof error, info, (void *)sizeof info, NULL, (void *)1};
    CUmodule module;
    CHECK_EQUAL(cuModuleLoadDataEx(&module, image, 6, names, values), expected);
    CHECK(strstr(error, word) != NULL);
    CHECK_EQUAL((size_t)values[1], strlen(error));
    CHECK_EQUAL((size_t)values[3], 0);
    if (!strstr(error, word)) printf("    the log says: %s\n", error);
}

/* A fat binary, as abi/fat_binary.h describes it. */
typedef struct FatEntry {
    uint16_t kind, version;
    uint32_t header_size;
    uint64_t size;
    uint32_t compressed_size, options;
    uint16_t minor, major;
    uint32_t architecture, name_offset, name_size;
    uint64_t flags, zero, original_size, more;
} FatEntry;

typedef struct Fat {
    uint32_t magic;
    uint16_t version, header_size;
    uint64_t size;
    FatEntry entries[2];   /* the first without payload */
    char text[2048];
} Fat;

/* A fat binary with PTX for this architecture; compressed: the compressed size in its header, 0 for plain
 * text. */
static Fat fat_of(const char *text, uint32_t architecture, uint32_t compressed)
{
    enum { KIND_PTX = 1, KIND_CUBIN = 2, HEADER_SIZE = 16 };
    Fat fat = {
        .magic = 0xba55ed50u, .version = 1, .header_size = HEADER_SIZE, .size = sizeof(Fat) - HEADER_SIZE};
    fat.entries[0] = (FatEntry){.kind = KIND_CUBIN, .header_size = sizeof(FatEntry), .architecture = 90};
    fat.entries[1] = (FatEntry){.kind = KIND_PTX,
                                .header_size = sizeof(FatEntry),
                                .size = sizeof fat.text,
                                .compressed_size = compressed,
                                .architecture = architecture};
    snprintf(fat.text, sizeof fat.text, "%s", text);
    return fat;
}

static void test_fat(void)
{
    CUmodule module;
    CUfunction function;
    Fat fat = fat_of(two_kernels, 75, 0);
    struct {
        uint32_t magic, version;
        const void *data, *name;
    } wrapper = {0x466243b1u, 1, &fat, NULL};
    OK(cuModuleLoadData(&module, &fat));
    OK(cuModuleGetFunction(&function, module, "second"));
    OK(cuModuleUnload(module));
    OK(cuModuleLoadFatBinary(&module, &wrapper));
    OK(cuModuleUnload(module));
    fat = fat_of(two_kernels, 100, 0);
    refuse(&fat, CUDA_ERROR_NO_BINARY_FOR_GPU, "newer");
    fat = fat_of(two_kernels, 75, 100);
    refuse(&fat, CUDA_ERROR_NO_BINARY_FOR_GPU, "compressed");
    fat.entries[0].header_size = 100000;
    refuse(&fat, CUDA_ERROR_INVALID_IMAGE, "sizes");
}

static void test_refused(void)
{
    CUmodule module;
    unsigned char elf[128] = {0x7f, 'E', 'L', 'F', 2, 1};
    FILE *file;
    refuse("", CUDA_ERROR_INVALID_IMAGE, "neither");
    refuse("hello, world", CUDA_ERROR_INVALID_IMAGE, "neither");
    refuse(elf, CUDA_ERROR_INVALID_IMAGE, "ELF");
    elf[18] = 190; /* e_machine: EM_CUDA */
    refuse(elf, CUDA_ERROR_NO_BINARY_FOR_GPU, "compute_75");
    refuse(".version 99.0\n.target sm_75\n", CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "99");
    refuse(HEADER ".visible .entry f()\n{\n  frobnicate.u32 %r1;\n}\n", CUDA_ERROR_INVALID_PTX, "frobnicate");
    refuse(HEADER ".visible .entry f()\n{\n  ret", CUDA_ERROR_INVALID_PTX, "ret");
    CHECK_EQUAL(cuModuleLoadData(&module, NULL), CUDA_ERROR_INVALID_VALUE);
    CHECK_EQUAL(cuModuleLoadData(NULL, two_kernels), CUDA_ERROR_INVALID_VALUE);
    CHECK_EQUAL(cuModuleLoad(&module, "/no/such/file.ptx"), CUDA_ERROR_FILE_NOT_FOUND);
    char name[] = "/tmp/test_api_module_XXXXXX";
    int descriptor = mkstemp(name);
    file = descriptor < 0 ? NULL : fdopen(descriptor, "w");
    CHECK(file != NULL);
    if (!file) return;
    fwrite("\x50\xed\x55\xba\x01\x00\x10\x00\xff\xff\x00\x00", 1, 12, file); /* a fat binary, cut off */
    fclose(file);
    CHECK_EQUAL(cuModuleLoad(&module, name), CUDA_ERROR_INVALID_IMAGE);
    file = fopen(name, "w");
    if (file) {
        fputs(two_kernels, file);
        fclose(file);
        OK(cuModuleLoad(&module, name));
        OK(cuModuleUnload(module));
    }
    remove(name);
}

/* The same contents through a library, whose kernels can be launched as functions. */
static void test_library(void)
{
    CUlibrary library, found;
    CUkernel kernel, all[2];
    CUfunction function;
    CUmodule module;
    CUdeviceptr address;
    size_t size;
    unsigned count = 0;
    int value = 0;
    const char *name = NULL;
    OK(cuLibraryLoadData(&library, two_kernels, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetKernelCount(&count, library));
    CHECK_EQUAL(count, 2);
    OK(cuLibraryEnumerateKernels(all, 2, library));
    OK(cuLibraryGetKernel(&kernel, library, "first"));
    CHECK(kernel == all[0] || kernel == all[1]);
    CHECK_EQUAL(cuLibraryGetKernel(&kernel, library, "none"), CUDA_ERROR_NOT_FOUND);
    OK(cuKernelGetName(&name, kernel));
    CHECK_TEXT(name, "first");
    OK(cuKernelGetLibrary(&found, kernel));
    CHECK(found == library);
    OK(cuKernelGetFunction(&function, kernel));
    OK(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel, 0));
    CHECK_EQUAL(value, 128);
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, (CUfunction)kernel));
    CHECK_EQUAL(value, 128);
    OK(cuLibraryGetModule(&module, library));
    CHECK_EQUAL(cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
    OK(cuLibraryGetGlobal(&address, &size, library, "counter"));
    CHECK_EQUAL(size, 4);
    OK(cuLaunchKernel((CUfunction)all[1], 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    OK(cuLibraryUnload(library));
    CHECK_EQUAL(cuLibraryUnload(library), CUDA_ERROR_INVALID_HANDLE);
    CHECK_EQUAL(cuKernelGetName(&name, kernel), CUDA_ERROR_INVALID_HANDLE);
    CHECK_EQUAL(cuFuncGetName(&name, function), CUDA_ERROR_INVALID_HANDLE);
}

/* The kernel of one text calls a function of the other; without that the link is refused. */
static void test_link(void)
{
    static char caller[] = HEADER
        ".extern .func (.param .b32 r) plus(.param .b32 a, .param .b32 b);\n"
        ".visible .entry sum(.param .u64 out)\n{\n  .reg .b32 %r<4>;\n  .reg .b64 %rd<3>;\n"
        "  ld.param.u64 %rd1, [out];\n  cvta.to.global.u64 %rd2, %rd1;\n"
        "  {\n  .param .b32 p0;\n  st.param.b32 [p0+0], 40;\n  .param .b32 p1;\n  st.param.b32 [p1+0], 2;\n"
        "  .param .b32 q;\n  call.uni (q), plus, (p0, p1);\n  ld.param.b32 %r1, [q+0];\n  }\n"
        "  st.global.u32 [%rd2], %r1;\n  ret;\n}\n";
    static char callee[] =
        HEADER ".visible .func (.param .b32 r) plus(.param .b32 a, .param .b32 b)\n{\n  .reg .b32 %r<4>;\n"
               "  ld.param.u32 %r1, [a];\n  ld.param.u32 %r2, [b];\n  add.s32 %r3, %r1, %r2;\n"
               "  st.param.b32 [r+0], %r3;\n  ret;\n}\n";
    CUlinkState state;
    CUmodule module;
    CUfunction function;
    CUdeviceptr out;
    void *image = NULL;
    size_t size = 0;
    int answer = 0;
    OK(cuLinkCreate_v2(0, NULL, NULL, &state));
    OK(cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, caller, sizeof caller, "caller", 0, NULL, NULL));
    CHECK_EQUAL(cuLinkComplete(state, &image, &size), CUDA_ERROR_INVALID_SOURCE);
    OK(cuLinkDestroy(state));
    OK(cuLinkCreate_v2(0, NULL, NULL, &state));
    OK(cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, caller, sizeof caller, "caller", 0, NULL, NULL));
    char cubin[64] = "\177ELF\2\1\1";
    cubin[18] = (char)190; /* EM_CUDA */
    CHECK_EQUAL(cuLinkAddData_v2(state, CU_JIT_INPUT_CUBIN, cubin, sizeof cubin, "c", 0, NULL, NULL),
                CUDA_ERROR_NO_BINARY_FOR_GPU);
    CHECK_EQUAL(cuLinkAddData_v2(state, CU_JIT_INPUT_OBJECT, callee, sizeof callee, "c", 0, NULL, NULL),
                CUDA_ERROR_NO_BINARY_FOR_GPU);
    /* What takes the place of cubins here is PTX. */
    OK(cuLinkAddData_v2(state, CU_JIT_INPUT_CUBIN, callee, sizeof callee, "callee", 0, NULL, NULL));
    OK(cuLinkComplete(state, &image, &size));
    if (!image) return;
    OK(cuModuleLoadData(&module, image));
    OK(cuLinkDestroy(state));
    CHECK_EQUAL(cuLinkDestroy(state), CUDA_ERROR_INVALID_HANDLE);
    OK(cuModuleGetFunction(&function, module, "sum"));
    OK(cuMemAlloc_v2(&out, 4));
    void *params[] = {&out};
    OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    OK(cuMemcpyDtoH_v2(&answer, out, 4));
    CHECK_EQUAL(answer, 42);
    OK(cuMemFree_v2(out));
    OK(cuModuleUnload(module));
}

static int messages; /* that the log's callback got, about a bad image */

static void count_message(void *data, CUlogLevel level, char *message, size_t length)
{
    (void)level;
    *(int *)data += strlen(message) == length && strstr(message, "neither") != NULL;
}

/* The log calls a callback until that is unregistered, has the last 100 messages, and fits any buffer. */
static void test_log(void)
{
    CUlogsCallbackHandle handle;
    CUmodule module;
    CUlogIterator from;
    char text[25600];
    size_t size = sizeof text;
    OK(cuLogsRegisterCallback(count_message, &messages, &handle));
    OK(cuLogsCurrent(&from, 0));
    CHECK_EQUAL(cuModuleLoadData(&module, "nonsense"), CUDA_ERROR_INVALID_IMAGE);
    CHECK_EQUAL(messages, 1);
    OK(cuLogsUnregisterCallback(handle));
    for (int i = 0; i < 150; i++) cuModuleLoadData(&module, "nonsense");
    CHECK_EQUAL(messages, 1);
    OK(cuLogsDumpToMemory(NULL, text, &size, 0));
    int lines = 0;
    for (const char *c = text; *c; c++) lines += *c == '\n';
    CHECK(lines >= 100 && lines <= 101);
    size = 200;
    OK(cuLogsDumpToMemory(NULL, text, &size, 0));
    CHECK(size < 200 && strlen(text) == size && size > 50);
    size = 0;
    OK(cuLogsDumpToMemory(NULL, text, &size, 0));
}

/* INVALID_VALUE, not INVALID_HANDLE, as on an H200. */
static void test_null_handles(void)
{
    const char *name;
    size_t offset, size;
    CUmodule module;
    BAD(cuKernelGetName(&name, NULL));
    BAD(cuFuncGetName(&name, NULL));
    BAD(cuKernelGetParamInfo(NULL, 0, &offset, &size));
    BAD(cuFuncGetParamInfo(NULL, 0, &offset, &size));
    BAD(cuFuncGetModule(&module, NULL));
}

int main(void)
{
    CUcontext context;
    OK(cuInit(0));
    OK(cuCtxCreate_v2(&context, 0, 0));
    CHECK_GROUP(test_contents);
    CHECK_GROUP(test_fat);
    CHECK_GROUP(test_refused);
    CHECK_GROUP(test_library);
    CHECK_GROUP(test_link);
    CHECK_GROUP(test_log);
    CHECK_GROUP(test_null_handles);
    OK(cuCtxDestroy_v2(context));
    return check_done();
}
