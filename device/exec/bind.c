/* Chooses the instruction set once and puts its handlers into decoded code.
 *
 * The hot files are compiled for each instruction set below, or for those that the build's option isas names;
 * the best one that this processor has is taken. PYCUDA_CPU_ISA requests one; what the processor or the build
 * lacks is not chosen.
 */
#ifdef __x86_64__
#include <cpuid.h>
#endif
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "exec/bind.h"
#include "exec/checks/check.h"

typedef const OpFn HandlerTable[OP_COUNT][2];

typedef struct Isa {
    const char *name;
    HandlerTable *handlers;
    const WideTable *wide;
    bool (*supported)(void);
} Isa;

static bool has_v2(void) { return true; }

#ifdef __x86_64__
/* Whether the processor has the features of CPUID leaf 1 (ecx) and leaf 7 (ebx), and the system saves the
 * registers of XCR0. __builtin_cpu_supports is not used: it links the compiler's library, and with that of
 * clang and zig an fma() that knows one rounding only. */
static bool has(unsigned wanted_1c, unsigned wanted_7b, unsigned wanted_state)
{
    unsigned a, b, c, d, state;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & (wanted_1c | bit_OSXSAVE)) != (wanted_1c | bit_OSXSAVE))
        return false;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (b & wanted_7b) != wanted_7b) return false;
    __asm__("xgetbv" : "=a"(state), "=d"(d) : "c"(0));
    return (state & wanted_state) == wanted_state;
}

enum { STATE_YMM = 0x6, STATE_ZMM = 0xe6 }; /* bits of XCR0: the registers up to YMM, up to ZMM */
#define BITS_V3 (bit_AVX2 | bit_BMI2)

static bool has_v3(void) { return has(bit_FMA | bit_AVX, BITS_V3, STATE_YMM); }

static bool has_v4(void)
{
    return has(bit_FMA | bit_AVX,
               BITS_V3 | bit_AVX512F | bit_AVX512BW | bit_AVX512CD | bit_AVX512DQ | bit_AVX512VL, STATE_ZMM);
}
#else
static bool has_v3(void) { return false; }
static bool has_v4(void) { return false; }
#endif

/* Weak: NULL where the build leaves one out. */
#define DECLARE(isa) \
    extern HandlerTable exec_handlers_##isa __attribute__((weak)); \
    extern const WideTable exec_wide_##isa __attribute__((weak));
EXEC_ISAS(DECLARE)
#undef DECLARE

static const Isa isas[] = {
#define ROW_OF(isa) {#isa, &exec_handlers_##isa, &exec_wide_##isa, has_##isa},
    EXEC_ISAS(ROW_OF)
#undef ROW_OF
};
enum { ISA_COUNT = sizeof isas / sizeof *isas };

const char *const exec_op_names[OP_COUNT] = {
#define OP(name) #name,
#include "exec/code/core.def"
#include "exec/code/alu.def"
#undef OP
};

const WideForm wide_forms[OP_COUNT] = {
#define WIDE(name, size, sources) [OP_##name] = {WIDE_##name, size, sources},
#include "exec/code/wide.def"
#undef WIDE
};

/* Bit k: the build and the processor have isas[k]. The processor is asked once, because in a virtual
 * machine CPUID takes microseconds. */
static unsigned usable_isas(void)
{
    static _Atomic unsigned cached; /* every thread finds the same */
    unsigned found = atomic_load_explicit(&cached, memory_order_relaxed);
    if (found) return found;
    for (int k = 0; k < ISA_COUNT; k++)
        if (isas[k].handlers && isas[k].supported()) found |= 1u << k;
    atomic_store_explicit(&cached, found, memory_order_relaxed);
    return found;
}

/* The ISA that PYCUDA_CPU_ISA requests, if it is usable; else the best usable one. */
static const Isa *choose_isa(void)
{
    const char *wanted = getenv("PYCUDA_CPU_ISA");
    const unsigned usable = usable_isas();
    const Isa *best = NULL;
    for (int k = ISA_COUNT - 1; k >= 0; k--) {
        if (!(usable >> k & 1)) continue;
        best = &isas[k];
        if (wanted && strcmp(wanted, isas[k].name) == 0) return best;
    }
    return best;
}

bool exec_isa_known(const char *name)
{
    for (int k = 0; k < ISA_COUNT; k++)
        if (strcmp(name, isas[k].name) == 0) return true;
    return false;
}

const char *exec_isa_name(void) { return choose_isa()->name; }

const OpFn *exec_op_handlers(unsigned op) { return (*choose_isa()->handlers)[op]; }

void exec_bind(CodeModule *module)
{
    const Isa *isa = choose_isa();
    HandlerTable *handlers = isa->handlers;
    exec_measure(module);
    module->wide = isa->wide;
    module->handlers = *handlers;
    for (uint32_t f = 0; f < module->function_count; f++) {
        CodeFunction *function = module->functions[f];
        for (uint32_t k = 0; k < function->insn_count; k++) {
            Insn *insn = &function->insns[k];
            insn->run[0] = (*handlers)[insn->op][0];
            insn->run[1] = (*handlers)[insn->op][1];
        }
    }
    if (module->checks) check_bind(module);
}
