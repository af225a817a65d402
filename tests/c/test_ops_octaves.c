/* The approximate functions over whole octaves against a real GPU: results recorded as one hash for each
 * octave, on every instruction set of the host. */
#include "check.h"
#include "ops_run.h"

#include <stdio.h>

typedef struct Octave {
    const char *name;
    enum Op op;
    int size; /* of argument and result; of 64 bits the high words count */
    uint32_t first, step, arguments;
    uint64_t hash;
} Octave;

#define OCTAVE(op, first, step, hash) {#op, OP_##op, 32, first, step, (1u << 23) / (step), hash},
#define OCTAVE_F64(op, first, hash) {#op, OP_##op, 64, first, 1, 1u << 20, hash},
static const Octave octaves[] = {
#include "test_ops_octaves.def"
};

static OpsRun run;

/* A sum of all results, each with a weight of its position. */
static uint64_t hash_of(const Octave *octave)
{
    Insn insn = ops_insn(octave->op, 0, 0);
    const int shift = octave->size - 32;
    uint64_t hash = 0;
    for (uint32_t k = 0; k < octave->arguments; k += WARP_LANES) {
        for (uint32_t l = 0; l < WARP_LANES; l++) {
            uint32_t bits = octave->first + (k + l) * octave->step;
            ops_set(&run, ROW_A, octave->size, (int)l, (uint64_t)bits << shift);
        }
        ops_run_insn(&run, &insn, FULL_MASK);
        for (uint32_t l = 0; l < WARP_LANES; l++) {
            uint64_t weight = (k + l) * 0x9e3779b97f4a7c15u | 1;
            hash += (ops_get(&run, ROW_D, octave->size, (int)l) >> shift) * weight;
        }
    }
    return hash;
}

int main(void)
{
    for (int isa = 0; isa < OPS_ISA_COUNT; isa++) {
        if (!ops_choose(ops_isas[isa])) continue;
        for (size_t k = 0; k < sizeof octaves / sizeof *octaves; k++) {
            const uint64_t hash = hash_of(&octaves[k]);
            if (hash != octaves[k].hash)
                printf("%s from %#x on: 0x%016llx on %s\n", octaves[k].name, octaves[k].first,
                       (unsigned long long)hash, ops_isas[isa]);
            CHECK(hash == octaves[k].hash);
        }
    }
    return check_done();
}
