/* How many parameters the kernels of PTX and of cubins have. */
#include "check.h"

#include <string.h>

#include "core/param_counts.c"

static ParamCounts of_text(const char *text) { return param_counts_read(text, strlen(text) + 1); }

/* Entries are counted in PTX; names in comments, strings and functions are not. */
static void test_ptx(void)
{
    ParamCounts counts = of_text(".version 8.0\n.target sm_75\n.address_size 64\n"
                                 "// .entry no(.param .u32 a)\n/* .entry neither( */\n"
                                 ".file 1 \".entry nor(.param\"\n"
                                 ".func (.param .b32 r) helper(.param .b32 a, .param .b32 b) { ret; }\n"
                                 ".visible .entry none()\n{ ret; }\n"
                                 ".entry bare\n{ ret; }\n"
                                 ".visible .entry three(\n\t.param .u64 three_param_0, // .param\n"
                                 "\t.param .align 8 .b8 three_param_1[24],\n\t.param .u64 .ptr .global p)\n"
                                 ".maxntid 32, 1, 1\n{ .param .b32 x; ret; }\n"
                                 ".weak .entry _Z1kIfEvPT_(.param .u64 a)\n{ ret; }\n");
    CHECK_EQUAL(param_counts_find(&counts, "none"), 0);
    CHECK_EQUAL(param_counts_find(&counts, "bare"), 0);
    CHECK_EQUAL(param_counts_find(&counts, "three"), 3);
    CHECK_EQUAL(param_counts_find(&counts, "_Z1kIfEvPT_"), 1);
    for (const char *const *name = (const char *const[]){"no", "neither", "nor", "helper", "", NULL}; *name;
         name++)
        CHECK_EQUAL(param_counts_find(&counts, *name), -1);
    param_counts_free(&counts);
    CHECK(!counts.first);
}

/* Before PTX 1.4 the parameters are in the body. */
static void test_old_ptx(void)
{
    ParamCounts counts = of_text(".version 1.3\n.target sm_13\n.entry a { .param .u32 x; exit; }");
    CHECK_EQUAL(param_counts_find(&counts, "a"), -1);
    param_counts_free(&counts);
    counts = of_text(".version 1.4\n.target sm_13\n.entry a { exit; }");
    CHECK_EQUAL(param_counts_find(&counts, "a"), 0);
    param_counts_free(&counts);
}

/* Truncated PTX yields no count for the truncated entry, and nothing past its end is read. */
static void test_truncated_ptx(void)
{
    static const char text[] = ".entry a(.param .u32 x) { } .entry b(.param .u32 y, .param";
    for (size_t size = 0; size < sizeof text; size++) {
        char *exact = malloc(size + 1); /* for AddressSanitizer to find reads past the size */
        memcpy(exact, text, size);
        ParamCounts counts = param_counts_read(exact, size);
        CHECK_EQUAL(param_counts_find(&counts, "b"), -1);
        param_counts_free(&counts);
        free(exact);
    }
    ParamCounts counts = of_text("\x50\xED\x55\xBA.entry a()");
    CHECK_EQUAL(param_counts_find(&counts, "a"), -1);
}

/* A cubin of two sections: names, and the attributes of the kernel "k". */
typedef struct Cubin {
    Elf64_Ehdr header;
    Elf64_Shdr sections[2];
    char names[16];
    unsigned char info[44];
} Cubin;

static Cubin make_cubin(void)
{
    Cubin cubin = {
        .header = {.e_ident = ELFMAG,
                   .e_shoff = offsetof(Cubin, sections),
                   .e_shnum = 2,
                   .e_shentsize = sizeof(Elf64_Shdr),
                   .e_shstrndx = 0},
        .sections = {{.sh_name = 11, .sh_offset = offsetof(Cubin, names), .sh_size = 16},
                     {.sh_name = 0, .sh_offset = offsetof(Cubin, info), .sh_size = 44}},
        .names = ".nv.info.k",
        .info = {4, 0x37, 4,   0, 0x17, 0x17, 0x17, 0x17, /* a value that looks like attributes */
                 4, 0x17, 12,  0, 0,    0,    0,    0,    0, 0, 0, 0, 0, 0, 0, 0, /* a parameter */
                 4, 0x45, 12,  0, 0,    0,    0,    0,    0, 0, 0, 0, 0, 0, 0, 0, /* another */
                 3, 0x1b, 255, 0},
    };
    return cubin;
}

static int params_of(const void *image, size_t size)
{
    void *exact = malloc(size + 1);
    memcpy(exact, image, size);
    ParamCounts counts = param_counts_read(exact, size);
    int params = param_counts_find(&counts, "k");
    param_counts_free(&counts);
    free(exact);
    return params;
}

static void test_cubin(void)
{
    Cubin cubin = make_cubin();
    CHECK_EQUAL(params_of(&cubin, sizeof cubin), 2);
    const size_t end = offsetof(Cubin, info) + sizeof cubin.info;
    for (size_t size = 0; size < end; size++) CHECK_EQUAL(params_of(&cubin, size), -1);
    for (size_t at = 0; at < sizeof cubin; at++) { /* whatever a byte is, nothing outside is read */
        cubin = make_cubin();
        ((unsigned char *)&cubin)[at] = 0xFF;
        params_of(&cubin, sizeof cubin);
    }
}

int main(void)
{
    test_ptx();
    test_old_ptx();
    test_truncated_ptx();
    test_cubin();
    return check_done();
}
