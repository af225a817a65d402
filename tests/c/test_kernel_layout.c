/* Layouts of kernel parameters as a driver reports them, and format strings with the compiler's sizes. */
#include "check.h"

#include <string.h>

#include "core/kernel_layout.c"
#include "core/pack_format.c"

DriverTable driver;

static bool has_info = true; /* the driver has cuFuncGetParamInfo */
static KernelParam reported[40];
static size_t reported_count;
static CUresult failure;   /* what param_info() fails with */
static bool fails_once;    /* only the next call fails */
static int refused;        /* calls with an index past the last parameter */

/* cuFuncGetParamInfo of a driver that reports the parameters in `reported`. */
static CUresult param_info(CUfunction function, size_t index, size_t *offset, size_t *size)
{
    (void)function;
    CUresult result = failure;
    if (fails_once) failure = CUDA_SUCCESS;
    if (result) return result;
    if (index >= reported_count) refused++;
    if (index >= reported_count) return CUDA_ERROR_INVALID_VALUE;
    *offset = reported[index].offset;
    *size = reported[index].size;
    return CUDA_SUCCESS;
}

/* Replaces the function of the module, which asks the loaded driver. */
bool driver_has(size_t field_offset)
{
    return has_info && field_offset == offsetof(DriverTable, cuFuncGetParamInfo);
}

/* The layout has the offsets and sizes that the driver reports, for 0 to 40 parameters. */
static void test_layout(void)
{
    KernelLayout layout;
    driver.cuFuncGetParamInfo = param_info;
    for (reported_count = 0; reported_count <= 40; reported_count++) {
        for (size_t i = 0; i < reported_count; i++)
            reported[i] = (KernelParam){(uint32_t)(8 * i), i % 2 ? 8 : 4};
        CHECK(kernel_layout_read(&layout, NULL, -1) == CUDA_SUCCESS && layout.known
              && layout.count == reported_count);
        for (uint32_t i = 0; i < layout.count; i++)
            CHECK(layout.params[i].offset == reported[i].offset && layout.params[i].size == reported[i].size);
        uint32_t last =
            reported_count ? reported[reported_count - 1].offset + reported[reported_count - 1].size : 0;
        CHECK(layout.bytes == last);
        kernel_layout_free(&layout);
        CHECK(layout.params == NULL && layout.count == 0);
    }
}

/* Without cuFuncGetParamInfo the layout is unknown, which is no error; other failures of it are. */
static void test_layout_of_drivers_without_the_call(void)
{
    KernelLayout layout;
    has_info = false;
    CHECK(kernel_layout_read(&layout, NULL, -1) == CUDA_SUCCESS && !layout.known && layout.params == NULL);
    has_info = true;
    failure = CUDA_ERROR_INVALID_HANDLE;
    CHECK(kernel_layout_read(&layout, NULL, -1) == CUDA_ERROR_INVALID_HANDLE && !layout.known);
    failure = CUDA_SUCCESS;
}

/* An index counts as past the last parameter only if the driver refuses it twice: a single failure, as a
 * driver may return by mistake, does not shorten the layout. */
static void test_layout_of_a_failing_call(void)
{
    KernelLayout layout;
    reported_count = 2;
    fails_once = true;
    failure = CUDA_ERROR_INVALID_VALUE;
    CHECK(kernel_layout_read(&layout, NULL, -1) == CUDA_SUCCESS && layout.known
          && layout.count == reported_count);
    kernel_layout_free(&layout);
    fails_once = false;
    CHECK(kernel_layout_read(&layout, NULL, -1) == CUDA_SUCCESS && layout.count == 2);
    kernel_layout_free(&layout);
}

/* With a known count, the driver is not asked for a parameter past the last one. */
static void test_layout_of_a_known_count(void)
{
    KernelLayout layout;
    for (reported_count = 0; reported_count < 4; reported_count++) {
        refused = 0;
        CHECK(kernel_layout_read(&layout, NULL, (int)reported_count) == CUDA_SUCCESS && layout.known);
        CHECK(layout.count == reported_count && refused == 0);
        kernel_layout_free(&layout);
        CHECK(kernel_layout_read(&layout, NULL, -1) == CUDA_SUCCESS && refused > 0);
        kernel_layout_free(&layout);
    }
}

static void test_alignment(void)
{
    CHECK(kernel_layout_align(0, 8) == 0 && kernel_layout_align(1, 8) == 8 && kernel_layout_align(8, 8) == 8);
    CHECK(kernel_layout_align(13, 1) == 13 && kernel_layout_align(17, 16) == 32);
    CHECK(kernel_layout_natural_alignment(1) == 1 && kernel_layout_natural_alignment(2) == 2);
    CHECK(kernel_layout_natural_alignment(12) == 4 && kernel_layout_natural_alignment(16) == 16);
    CHECK(kernel_layout_natural_alignment(48) == 16 && kernel_layout_natural_alignment(0) == 1);
}

static PackFormat parse(const char *text)
{
    PackFormat format;
    size_t where;
    CHECK(pack_format_parse(&format, text, strlen(text), &where) == PACK_OK);
    return format;
}

/* Compares a format with the struct of the same members as the compiler lays it out: the offset and the end
 * of the last member. */
#define CHECK_STRUCT(text, last, ...) \
    do { \
        struct { \
            __VA_ARGS__ \
        } value; \
        PackFormat format = parse(text); \
        size_t offset = (size_t)((char *)&value.last - (char *)&value); \
        CHECK(format.runs[format.run_count - 1].offset == offset); \
        CHECK(format.size == offset + sizeof value.last); \
        pack_format_free(&format); \
    } while (0)

static void test_formats(void)
{
    CHECK_STRUCT("bhilq", e, char a; short b; int c; long d; long long e;);
    CHECK_STRUCT("bd", b, char a; double b;);
    CHECK_STRUCT("cP", b, char a; void *b;);
    CHECK_STRUCT("?f", b, _Bool a; float b;);
    CHECK_STRUCT("bF", b, char a; float _Complex b;);
    CHECK_STRUCT("iD", b, int a; double _Complex b;);
    CHECK_STRUCT("b3i", b, char a; int b[3];);
    CHECK_STRUCT("5sN", b, char a[5]; size_t b;);
    CHECK_STRUCT("@hn", b, short a; ptrdiff_t b;);
    PackFormat format = parse(" b 2i\t3x4sp ");
    CHECK(format.run_count == 5 && format.value_count == 5 && format.size == 4 + 8 + 3 + 4 + 1);
    pack_format_free(&format);
    format = parse("b0q");
    CHECK(format.size == 8 && format.value_count == 1);
    pack_format_free(&format);
    format = parse("");
    CHECK(format.size == 0 && format.run_count == 0 && format.runs == NULL);
}

static void test_bad_formats(void)
{
    static const struct Case {
        const char *text;
        PackStatus status;
        size_t where;
    } cases[] = {
        {"iZ", PACK_BAD_CODE, 1},
        {"<i", PACK_BAD_ORDER, 0},
        {"i>", PACK_BAD_ORDER, 1},
        {"i3", PACK_NO_CODE, 2},
        {"99999999999999999999b", PACK_TOO_LARGE, 18},
        {"9000000000000000000q", PACK_TOO_LARGE, 19},
        {"@@i", PACK_BAD_ORDER, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        PackFormat format;
        size_t where;
        CHECK(pack_format_parse(&format, cases[i].text, strlen(cases[i].text), &where) == cases[i].status);
        CHECK(where == cases[i].where && format.runs == NULL);
    }
}

int main(void)
{
    test_layout();
    test_layout_of_drivers_without_the_call();
    test_layout_of_a_failing_call();
    test_layout_of_a_known_count();
    test_alignment();
    test_formats();
    test_bad_formats();
    return check_done();
}
