/* The part of CUDA's device runtime library (libcudadevrt.a) that is written in PTX: barriers of the whole
 * grid. It is linked to modules that declare one of its functions. The rest of the library is in
 * exec/runtime/runtime.def. */
#define _GNU_SOURCE
#include "api/code/runtime_library.h"

#include <string.h>

/* The offset of the barrier's word in the grid's workspace. Every block adds 1 to the word, except block 0,
 * which adds 0x80000001 minus the number of blocks: together they add 0x80000000, so the top bit flips with
 * the last arrival. cooperative_groups.h contains the same barrier inline, for the same word. */
#define BARRIER "4"

/* The PTX that several functions share. The handle of the grid is the address of its workspace. The error is
 * cudaErrorUnknown: 999. */
#define HANDLE(to) "mov.u32 %low, %envreg2; mov.u32 %high, %envreg1; mov.b64 " to ", {%low, %high};\n"
#define BLOCKS \
    "mov.u32 %x, %nctaid.x; mov.u32 %y, %nctaid.y; mov.u32 %z, %nctaid.z;\n" \
    "mul.lo.u32 %blocks, %x, %y; mul.lo.u32 %blocks, %blocks, %z;\n"
#define BLOCK_RANK \
    "mov.u32 %x, %nctaid.x; mov.u32 %y, %nctaid.y; mov.u32 %a, %ctaid.x; mov.u32 %b, %ctaid.y;\n" \
    "mov.u32 %c, %ctaid.z; mad.lo.u32 %b, %c, %y, %b; mad.lo.u32 %rank, %b, %x, %a;\n"
#define THREAD_RANK \
    "mov.u32 %x, %ntid.x; mov.u32 %y, %ntid.y; mov.u32 %a, %tid.x; mov.u32 %b, %tid.y;\n" \
    "mov.u32 %c, %tid.z; mad.lo.u32 %b, %c, %y, %b; mad.lo.u32 %thread, %b, %x, %a;\n"
#define THREADS \
    "mov.u32 %x, %ntid.x; mov.u32 %y, %ntid.y; mov.u32 %z, %ntid.z;\n" \
    "mul.lo.u32 %threads, %x, %y; mul.lo.u32 %threads, %threads, %z;\n"
#define REGISTERS \
    ".reg .pred %p, %q;\n" \
    ".reg .b32 %low, %high, %x, %y, %z, %a, %b, %c, %blocks, %rank, %thread, %threads;\n" \
    ".reg .b32 %old, %now, %error;\n" \
    ".reg .b64 %handle, %given, %first, %second;\n"

/* clang-format off */
/* Waits for all threads of the grid. Thread 0 of each block waits for the other blocks. */
#define SYNCHRONIZE(name) \
    ".weak .func (.param .b32 result) " name "(.param .b64 handle, .param .b32 flags)\n{\n" REGISTERS \
    HANDLE("%handle") THREAD_RANK BLOCKS BLOCK_RANK \
    "ld.param.u64 %given, [handle]; mov.u32 %error, 999;\n" \
    "setp.eq.u64 %p, %given, 0; setp.ne.or.u64 %p, %given, %handle, %p; @%p bra done;\n" \
    "mov.u32 %error, 0;\n" \
    "barrier.sync 0;\n" \
    "setp.ne.u32 %p, %thread, 0; @%p bra together;\n" \
    "setp.eq.u32 %q, %rank, 0; sub.u32 %blocks, 0x80000001, %blocks; selp.u32 %blocks, %blocks, 1, %q;\n" \
    "membar.gl;\n" \
    "atom.add.u32 %old, [%handle+" BARRIER "], %blocks;\n" \
    "again: ld.volatile.u32 %now, [%handle+" BARRIER "]; xor.b32 %now, %now, %old;\n" \
    "setp.ge.s32 %p, %now, 0; @%p bra again;\n" \
    "membar.gl;\n" \
    "together: barrier.sync 0;\n" \
    "done: st.param.b32 [result], %error; ret;\n}\n"

/* Stores two numbers to the addresses `one` and `two`, if they are not 0. Without a handle the numbers are 0
 * and the result is the error; with a handle of anything else nothing is stored. The second number is 1, as
 * on a GPU. */
#define TWO_NUMBERS(name, compute, first, second) \
    ".weak .func (.param .b32 result) " name "(.param .b64 one, .param .b64 two, .param .b64 handle)\n{\n" \
    REGISTERS HANDLE("%handle") compute \
    "ld.param.u64 %first, [one]; ld.param.u64 %second, [two]; ld.param.u64 %given, [handle];\n" \
    "setp.eq.u64 %p, %given, 0; setp.eq.or.u64 %q, %given, %handle, %p; selp.u32 %error, 999, 0, %p;\n" \
    "selp.u32 %a, 0, " first ", %p; selp.u32 %b, 0, " second ", %p;\n" \
    "setp.ne.and.u64 %p, %first, 0, %q; @%p st.u32 [%first], %a;\n" \
    "setp.ne.and.u64 %p, %second, 0, %q; @%p st.u32 [%second], %b;\n" \
    "st.param.b32 [result], %error; ret;\n}\n"

static const char text[] =
    ".version 6.0\n.target sm_50\n.address_size 64\n"
    ".weak .func (.param .b64 result) cudaCGGetIntrinsicHandle(.param .b32 scope)\n{\n"
    REGISTERS HANDLE("%handle")
    "ld.param.u32 %x, [scope]; setp.ne.u32 %p, %x, 1; selp.b64 %handle, 0, %handle, %p;\n"
    "st.param.b64 [result], %handle; ret;\n}\n"
    SYNCHRONIZE("cudaCGSynchronize")
    SYNCHRONIZE("cudaCGSynchronizeGrid")
    TWO_NUMBERS("cudaCGGetSize", BLOCKS THREADS "mul.lo.u32 %threads, %threads, %blocks;\n", "%threads", "1")
    TWO_NUMBERS("cudaCGGetRank",
                THREADS THREAD_RANK BLOCK_RANK "mad.lo.u32 %rank, %rank, %threads, %thread;\n", "%rank", "1");
/* clang-format on */

/* Whether `text` defines a function of that name. */
static bool is_ours(const char *name)
{
    static const char *const names[] = {"cudaCGGetIntrinsicHandle", "cudaCGSynchronize",
                                        "cudaCGSynchronizeGrid", "cudaCGGetSize", "cudaCGGetRank"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], name)) return true;
    return false;
}

bool runtime_library_wanted(const PtxModule *tree)
{
    for (uint32_t i = 0; i < tree->function_count; i++)
        if (!tree->functions[i]->defined && is_ours(tree->functions[i]->name)) return true;
    return false;
}

PtxModule *runtime_library_parse(Chunks *chunks, PtxLog *log)
{
    return ptx_parse(text, sizeof text - 1, &(PtxOptions){.name = "cudadevrt", .chunks = chunks}, log);
}

bool runtime_library_is(const void *data, size_t size)
{
    static const char magic[] = "!<arch>\n", member[] = "cuda_device_runtime.o";
    return size > sizeof magic && !memcmp(data, magic, sizeof magic - 1)
           && memmem(data, size, member, sizeof member - 1) != NULL;
}
