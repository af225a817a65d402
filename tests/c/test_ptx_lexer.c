/* Tokens of PTX as the parser gets them: numbers, comments, line ends, and texts that are not PTX. */
#include <stdint.h>
#include <stdlib.h>

#include "check.h"
#include "ptx/ptx.h"

#define HEAD ".version 7.0\n.target sm_75\n.address_size 64\n"

/* The bits of the initializer in `.global .<type> x = <text>;`; 0xdead after an error. */
static uint64_t value(const char *type, const char *text)
{
    char source[512];
    PtxLog log = {0};
    uint64_t bits = 0xdead;
    snprintf(source, sizeof source, HEAD ".global .%s x = %s;\n", type, text);
    PtxModule *module = ptx_parse(source, strlen(source), NULL, &log);
    if (module && module->global_count == 1) {
        bits = 0;
        if (module->globals[0]->initial) memcpy(&bits, module->globals[0]->initial, module->globals[0]->size);
    }
    ptx_module_free(module);
    ptx_log_free(&log);
    return bits;
}

static PtxStatus status_of(const char *text, size_t length)
{
    PtxLog log = {0};
    PtxModule *module = ptx_parse(text, length, NULL, &log);
    PtxStatus status = module ? PTX_OK : log.status;
    ptx_module_free(module);
    ptx_log_free(&log);
    return status;
}

static PtxStatus status(const char *text) { return status_of(text, strlen(text)); }

static void test_integers(void)
{
    CHECK_EQUAL(value("u32", "42"), 42);
    CHECK_EQUAL(value("u32", "0x2A"), 42);
    CHECK_EQUAL(value("u32", "052"), 42);
    CHECK_EQUAL(value("u32", "0b101010"), 42);
    CHECK_EQUAL(value("u32", "42U"), 42);
    CHECK_EQUAL(value("s32", "-1"), 0xffffffff);
    CHECK(value("u64", "0xFFFFFFFFFFFFFFFF") == UINT64_MAX);
    CHECK(value("u64", "18446744073709551615U") == UINT64_MAX);
    CHECK_EQUAL(value("u8", "300"), 44);
    CHECK_EQUAL(value("u32", "18446744073709551616"), 0xdead);
    CHECK_EQUAL(value("u32", "08"), 0xdead);
    CHECK_EQUAL(value("u32", "0x"), 0xdead);
    CHECK_EQUAL(value("u32", "12a"), 0xdead);
}

static void test_floats(void)
{
    CHECK_EQUAL(value("f32", "0f3F800000"), 0x3f800000);
    CHECK_EQUAL(value("f32", "0F3f800000"), 0x3f800000);
    CHECK_EQUAL(value("f32", "1.0"), 0x3f800000);
    CHECK_EQUAL(value("f32", "-2.5"), 0xc0200000);
    CHECK_EQUAL(value("f32", ".5"), 0x3f000000);
    CHECK_EQUAL(value("f32", "16777217.0"), 0x4b800000); /* a tie, to even */
    CHECK_EQUAL(value("f32", "0f7FA00001"), 0x7fa00001); /* a signalling NaN keeps its bits */
    CHECK_EQUAL(value("f32", "0f00000001"), 1);
    CHECK(value("f64", "0d3FF8000000000000") == 0x3ff8000000000000);
    CHECK(value("f64", "1.5") == 0x3ff8000000000000);
    CHECK(value("f64", "1.5e3") == 0x4097700000000000);
    CHECK(value("f64", "1e-3") == 0x3f50624dd2f1a9fc);
    CHECK(value("f64", "0.1") == 0x3fb999999999999a);
    CHECK(value("f64", "123456789012345678901234567890.0") == 0x45f8ee90ff6c373e);
    CHECK(value("f64", "1e400") == 0x7ff0000000000000);
    CHECK(value("f64", "0f3F800000") == 0x3ff0000000000000);
    CHECK_EQUAL(value("f32", "0f3F80000"), 0xdead);
    CHECK_EQUAL(value("f32", "0f3F8000000"), 0xdead);
    CHECK_EQUAL(value("f32", "1"), 0xdead);
    CHECK_EQUAL(value("u32", "1.0"), 0xdead);
}

static void test_expressions(void)
{
    CHECK_EQUAL(value("u32", "1 + 2 * 3"), 7);
    CHECK_EQUAL(value("u32", "(1 + 2) * 3"), 9);
    CHECK_EQUAL(value("u32", "1 << 4 | 3"), 19);
    CHECK_EQUAL(value("u32", "7 / 2"), 3);
    CHECK_EQUAL(value("s32", "-7 / 2"), 0xfffffffd);
    CHECK_EQUAL(value("u32", "7 % 4"), 3);
    CHECK_EQUAL(value("u32", "3 > 2 ? 10 : 20"), 10);
    CHECK_EQUAL(value("u32", "-1 < 0"), 1);
    CHECK_EQUAL(value("u32", "-1 < 0U"), 0);
    CHECK_EQUAL(value("u32", "~0 & 0xff"), 255);
    CHECK_EQUAL(value("u32", "!3"), 0);
    CHECK_EQUAL(value("u32", "WARP_SZ * 2"), 64);
    CHECK_EQUAL(value("s64", "-9223372036854775807 - 1 >> 63"), -1);
    CHECK_EQUAL(value("u64", "(.u64) -1 >> 63"), 1);
    CHECK_EQUAL(value("u32", "1 << 64"), 0);
    CHECK_EQUAL(value("u32", "(-9223372036854775807 - 1) / -1 == -9223372036854775807 - 1"), 1);
    CHECK_EQUAL(value("u32", "1 / 0"), 0xdead);
    CHECK_EQUAL(value("u32", "1 % 0"), 0xdead);
    CHECK_EQUAL(value("u32", "1.0 + 2.0"), 0xdead);
}

static void test_blanks(void)
{
    CHECK_EQUAL(status(HEAD), PTX_OK);
    CHECK_EQUAL(status(".version 7.0\n.target sm_75"), PTX_OK);
    CHECK_EQUAL(status(".version 7.0\r\n.target sm_75\r\n.address_size 64\r\n.global .u32 x;\r\n"), PTX_OK);
    CHECK_EQUAL(status("// first\n/* second\n */.version/**/7.0 .target sm_75 // last"), PTX_OK);
    CHECK_EQUAL(status("\t\v\f .version 7.0 .target sm_75"), PTX_OK);
}

static void test_not_ptx(void)
{
    CHECK_EQUAL(status(""), PTX_INVALID);
    CHECK_EQUAL(status("\n\n"), PTX_INVALID);
    CHECK_EQUAL(status("hello"), PTX_INVALID);
    CHECK_EQUAL(status("\x7f"
                       "ELF"),
                PTX_INVALID);
    CHECK_EQUAL(status(HEAD "/* no end"), PTX_INVALID);
    CHECK_EQUAL(status(HEAD ".file 1 \"no end\n"), PTX_INVALID);
    CHECK_EQUAL(status(HEAD "#"), PTX_INVALID);
    CHECK_EQUAL(status(HEAD "\xc3\xa4"), PTX_INVALID);
    CHECK_EQUAL(status_of(HEAD "\0", sizeof HEAD), PTX_INVALID);
    CHECK_EQUAL(status_of(HEAD ".global .u32 \0 x;", sizeof HEAD + 17), PTX_INVALID);
    CHECK_EQUAL(status_of(NULL, 0), PTX_INVALID);
}

/* The status of a text with `open` so many times in a row. */
static PtxStatus nested(const char *before, const char *open, int times, const char *after)
{
    size_t size = strlen(before) + strlen(open) * (size_t)times + strlen(after) + sizeof HEAD;
    char *text = malloc(size);
    if (!text) return PTX_OUT_OF_MEMORY;
    strcpy(text, HEAD);
    strcat(text, before);
    char *end = text + strlen(text);
    for (int i = 0; i < times; i++, end += strlen(open)) strcpy(end, open);
    strcpy(end, after);
    PtxStatus result = status(text);
    free(text);
    return result;
}

/* Nesting of any kind is limited: too deep texts are errors and do not overflow the stack. */
static void test_depth(void)
{
    CHECK_EQUAL(nested(".global .u32 x = ", "(", 20, "1))))))))))))))))))));"), PTX_OK);
    CHECK_EQUAL(nested(".global .u32 x = ", "(", 100000, "1;"), PTX_INVALID);
    CHECK_EQUAL(nested(".global .u32 x = ", "-", 100000, "1;"), PTX_INVALID);
    CHECK_EQUAL(nested(".global .u32 x = ", "1?", 100000, "1;"), PTX_INVALID);
    CHECK_EQUAL(nested(".global .u32 x[1] = ", "{", 100000, "1;"), PTX_INVALID);
    CHECK_EQUAL(nested(".entry k() ", "{", 100000, ""), PTX_INVALID);
    CHECK_EQUAL(nested(".entry k() { mov.b32 ", "{", 100000, ""), PTX_INVALID);
    CHECK_EQUAL(nested(".entry k() { ld.u32 ", "[1,", 100000, ""), PTX_INVALID);
    CHECK_EQUAL(nested(".entry k() { ld", ".u32", 100000, " x;}"), PTX_INVALID);
    CHECK_EQUAL(nested(".global .u32 x", "0", 100000, ";"), PTX_OK);
}

int main(void)
{
    CHECK_GROUP(test_integers);
    CHECK_GROUP(test_floats);
    CHECK_GROUP(test_expressions);
    CHECK_GROUP(test_blanks);
    CHECK_GROUP(test_not_ptx);
    CHECK_GROUP(test_depth);
    return check_done();
}
