/* Compares abi/nvtx_memory.h with NVIDIA's own header, as check_abi.c does for the driver. The file is built
 * twice: with ABI_USE_NVTX_H its list (LIST: real_facts) has the numbers of NVIDIA's header, without it
 * (ours_facts) those of ours, and there is main(). */
#include <stdio.h>
#include <string.h>

#include "abi/nvtx_memory.h"

typedef struct Fact {
    const char *name;
    long long value;
} Fact;

#define VALUE(name) {#name, name},
#define SIZE(type) {"sizeof " #type, sizeof(type)},
#define FIELD(type, field) {#type "." #field, offsetof(type, field)},

const Fact LIST[] = {
#include "nvtx_facts.def"
    {NULL, 0},
};

#ifndef ABI_USE_NVTX_H
extern const Fact real_facts[];

int main(void)
{
    int wrong = 0;
    for (int i = 0; ours_facts[i].name; i++) {
        const Fact *ours = &ours_facts[i], *real = &real_facts[i];
        if (strcmp(ours->name, real->name) == 0 && ours->value == real->value) continue;
        printf("%s: ours %lld, real %lld\n", ours->name, ours->value, real->value);
        wrong++;
    }
    return wrong != 0;
}
#endif
