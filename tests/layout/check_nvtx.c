/* Compares abi/nvtx_memory.h with NVIDIA's own header, as facts.h describes. */
#ifdef CHECK_REAL
#define ABI_USE_NVTX_H
#endif
#include "abi/nvtx_memory.h"
#include "facts.h"

#define VALUE(name) {#name, name},

const Fact LIST[] = {
#include "nvtx_facts.def"
    {NULL, 0},
};
