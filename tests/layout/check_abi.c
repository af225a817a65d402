/* Compares abi/ with NVIDIA's own headers. The file is built twice and linked into one program: with
 * CHECK_REAL its list has the numbers of cuda.h, without it those of our tables, and main() compares both.
 * The compiler compares the signatures of functions. */
#ifdef CHECK_REAL
#define ABI_USE_CUDA_H
#define LIST real_facts
#include <cuda.h>
#include <cudaTypedefs.h>
#include <cudaGLTypedefs.h>
#else
#define LIST our_facts
#endif
#include <stdio.h>
#include <string.h>

#include "abi/cuda_abi.h"

typedef struct Fact {
    const char *name;
    long long value;
} Fact;

#define SIZE(type) {"sizeof " #type, sizeof(type)},
#define FIELD(type, field) {#type "." #field, offsetof(type, field)},

const Fact LIST[] = {
#include "abi_structs.def"
#define CU_ERROR(name, code, cls, text) {#name, name},
#include "abi/cuda_errors.def"
#define CU_ENUM(cls, doc)
#define CU_ENUM_END(cls)
#define CU_ALIAS(py, name, value)
#define CU_GONE(py, name, value)
#ifdef CHECK_REAL
#define CU_VALUE(py, name, value) {#name, name},
#else
#define CU_VALUE(py, name, value) {#name, value},
#endif
#include "abi/cuda_enums.def"
    {NULL, 0},
};

#ifdef CHECK_REAL
/* A row's parameters must be those of the header's typedef for the same name and version. The three profiler
 * functions have no typedef there, so they are declared here. */
#define CU_FN(name, symbol, version, per_thread, waits, params, args) \
    _Static_assert(__builtin_types_compatible_p(CUresult(*) params, PFN_##name##_v##version), \
                   #name ": parameters differ from NVIDIA's header");
typedef CUresult (*PFN_cuProfilerInitialize_v4000)(const char *, const char *, CUoutput_mode);
typedef CUresult (*PFN_cuProfilerStart_v4000)(void);
typedef CUresult (*PFN_cuProfilerStop_v4000)(void);
#include "abi/cuda_functions.def"
#else
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
