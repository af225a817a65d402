/* Writes test_texture_gpu.def from the GPU of the machine. Not part of the tests; from the repository's root:
 *   gcc -I. tests/c/texture_take.c -o take -lcuda -lm && ./take > tests/c/test_texture_gpu.def */
#define CU_FN(name, symbol, version, per_thread, waits, params, args) CUresult symbol params;
#include "abi/cuda_abi.h"
#include "abi/cuda_functions.def"
#undef CU_FN
#include "texture_run.h"

static uint32_t results[TEXTURE_SAMPLES][4];

static void print_case(unsigned number, const TextureCase *c)
{
    printf("TEXTURE(\"%s\", 0x%016llx)\n", c->op, (unsigned long long)texture_hash(results, sizeof results));
    for (unsigned k = 133; texture_is_close(c) && k < TEXTURE_SAMPLES; k += 97)
        printf("CLOSE(%u, %u, 0x%08x, 0x%08x, 0x%08x, 0x%08x)\n", number, k, results[k][0], results[k][1],
               results[k][2], results[k][3]);
}

int main(void)
{
    CUcontext context;
    CUdevice device;
    char name[100] = "";
    if (cuInit(0) || cuDeviceGet(&device, 0) || cuCtxCreate_v2(&context, 0, device)) return 1;
    cuDeviceGetName(name, sizeof name, device);
    printf("/* Results of a real GPU (%s) for the list of texture_cases.h, written by texture_take.c: the "
           "instruction\n"
           " * and the hash of all results; CLOSE: samples of cases that may differ by a rounding. */\n",
           name);
    texture_make_cases();
    for (unsigned k = 0; k < texture_case_count; k++) {
        CUresult result = texture_run(&texture_cases[k], results[0]);
        if (result) return fprintf(stderr, "%s: error %u\n", texture_cases[k].op, (unsigned)result), 1;
        print_case(k, &texture_cases[k]);
    }
    return 0;
}
