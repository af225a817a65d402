/* Compares device/runtime/ with NVIDIA's headers of CUDA's runtime API, as check_abi.c does with cuda.h:
 * built twice, with CHECK_REAL from the headers, without from our tables. Signatures are compared by the
 * compiler: each row of functions.def is declared once more, after the headers have declared it. */
#include <stdio.h>
#include <string.h>

#ifdef CHECK_REAL
#define RUNTIME_USE_CUDA_H
#define LIST real_facts
#else
#define CU_API
#define LIST our_facts
#endif
#include "runtime/types.h"

#ifdef CHECK_REAL
#if __has_include(<cuda_profiler_api.h>) /* of a package of its own */
#include <cuda_profiler_api.h>
#endif
/* The headers give programs newer versions under these names. */
#undef cudaGetDeviceProperties
#undef cudaStreamGetCaptureInfo
#endif

#define RT_OTHER(type, name, params) type name params;
#define RT_FORWARD(name, per_thread, needs, params, driver, args) cudaError_t name params;
#define RT_FUNCTION(name, per_thread, needs, params, args) cudaError_t name params;
#include "runtime/functions.def"

typedef struct Fact {
    const char *name;
    long long value;
} Fact;

const Fact LIST[] = {
#define SIZE(type) {"sizeof " #type, sizeof(type)},
#define FIELD(type, field) {#type "." #field, offsetof(type, field)},
#include "runtime_structs.def"
#undef SIZE
/* The rows of struct cudaDeviceProp. */
#define INT(name, attribute) FIELD(struct cudaDeviceProp, name)
#define INTS(name, count, ...) FIELD(struct cudaDeviceProp, name)
#define SIZE(name, attribute) FIELD(struct cudaDeviceProp, name)
#define SPECIAL(type, name, bound) FIELD(struct cudaDeviceProp, name)
#include "runtime/properties.def"
#define RUNTIME_ERROR(name, code) {#name, name},
#include "exec/runtime/errors.def"
    {"cudaMemcpyDefault", cudaMemcpyDefault},
    {"cudaChannelFormatKindNone", cudaChannelFormatKindNone},
    {NULL, 0},
};

#ifndef CHECK_REAL
extern const Fact real_facts[];

int main(void)
{
    int wrong = 0, count = 0;
    for (; our_facts[count].name; count++) {
        const Fact *ours = &our_facts[count], *real = &real_facts[count];
        if (strcmp(ours->name, real->name) != 0 || ours->value != real->value) {
            printf("%s: ours %lld, real %lld\n", ours->name, ours->value, real->value);
            wrong++;
        }
    }
    printf("%d facts compared, %d wrong\n", count, wrong);
    return wrong != 0;
}
#endif
