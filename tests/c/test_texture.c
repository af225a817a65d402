/* Textures and surfaces against a real GPU: every geometry, format, address and filter mode, reads,
 * gathers, stores and queries, with 1024 sets of operands each. The results were recorded on an H200 by
 * texture_take.c, as one hash for each case. Cases whose results may differ in the last place
 * (texture_is_close()) have some samples instead. */
#include "check.h"

#include <stdlib.h>

#include "api/base/api.h"
#include "texture_run.h"

static const struct {
    const char *op;
    uint64_t hash;
} expected[] = {
#define TEXTURE(op, hash) {op, hash},
#define CLOSE(number, sample, x, y, z, w)
#include "test_texture_gpu.def"
#undef TEXTURE
#undef CLOSE
};
enum { EXPECTED = sizeof expected / sizeof *expected };

static const struct {
    unsigned number, sample;
    uint32_t words[4];
} samples[] = {
#define TEXTURE(op, hash)
#define CLOSE(number, sample, x, y, z, w) {number, sample, {x, y, z, w}},
#include "test_texture_gpu.def"
#undef TEXTURE
#undef CLOSE
};
enum { SAMPLES = sizeof samples / sizeof *samples };

static uint32_t results[TEXTURE_SAMPLES][4];

static float number_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, 4);
    return x;
}

/* Whether the floats differ by at most two roundings, are the same infinity, or both NaN. */
static bool is_near(uint32_t ours, uint32_t theirs)
{
    float a = number_of(ours), b = number_of(theirs);
    return ours == theirs || (a != a && b != b) || fabsf(a - b) <= 0x1p-22f * fabsf(b);
}

/* Compares the recorded samples of a case; returns how many there are. */
static int compare_samples(unsigned number)
{
    int compared = 0;
    for (unsigned k = 0; k < SAMPLES; k++) {
        if (samples[k].number != number) continue;
        for (int v = 0; v < 4; v++) CHECK(is_near(results[samples[k].sample][v], samples[k].words[v]));
        compared++;
    }
    return compared;
}

static void check_case(unsigned number)
{
    const TextureCase *c = &texture_cases[number];
    memset(results, 0xa5, sizeof results);
    CUresult result = texture_run(c, results[0]);
    CHECK_EQUAL(result, CUDA_SUCCESS);
    CHECK_TEXT(c->op, expected[number].op);
    if (texture_is_close(c)) {
        CHECK(compare_samples(number) > 0);
        return;
    }
    bool same = texture_hash(results, sizeof results) == expected[number].hash;
    CHECK(same);
    if (!same)
        printf("    case %u: %s, format %u x %u, address %u, filter %u, flags %u\n", number, c->op, c->format,
               c->channels, c->address[0], c->filter, c->flags);
}

static void test_cases(void)
{
    texture_make_cases();
    CHECK_EQUAL(texture_case_count, EXPECTED);
    for (unsigned k = 0; k < texture_case_count && k < EXPECTED; k++) check_case(k);
}

/* Texture references return the results that were recorded with objects. */
static void test_cases_by_reference(void)
{
    texture_by_reference = true;
    for (unsigned k = 0; k < texture_case_count && k < EXPECTED; k++) check_case(k);
}

int main(void)
{
    CUcontext context;
    setenv("PYCUDA_CPU_THREADS", "1", 1); /* for the GPU's order of stores to the same place */
    CHECK_EQUAL(cuInit(0), CUDA_SUCCESS);
    CHECK_EQUAL(cuCtxCreate_v2(&context, 0, 0), CUDA_SUCCESS);
    CHECK_GROUP(test_cases);
    CHECK_GROUP(test_cases_by_reference);
    CHECK_EQUAL(cuCtxDestroy_v2(context), CUDA_SUCCESS);
    return check_done();
}
