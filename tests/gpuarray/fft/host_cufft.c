/* Transforms as cuFFT defines them, on host memory: for tests on the CPU device. A call computes at once,
 * without waiting for queued work. The sums are those of the definition, in double precision. Calls that
 * NVIDIA forbids are refused: pointers that are not aligned as complex numbers, a plan without a workspace. A
 * transform to real numbers may overwrite its input in cuFFT: here it always does, with NaN.
 *
 * Environment: HOST_CUFFT_WORK is the size of workspaces, HOST_CUFFT_STATUS the status that
 * cufftXtMakePlanMany returns.
 */
#include <complex.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

typedef double complex Number;
typedef long long Long;

enum { INVALID_PLAN = 1, INVALID_TYPE = 3, INVALID_VALUE = 4, UNALIGNED_DATA = 9, NO_WORKSPACE = 13 };
enum { MAX_PLANS = 1 << 16, MAX_AXES = 3, DEFAULT_WORKSPACE = 1000 };
enum { TYPE_DOUBLE = 1, TYPE_COMPLEX = 4 }; /* the bits of a cudaDataType of float and double numbers */

/* The layout of a plan's input or output, with cuFFT's meaning of the fields. */
typedef struct Side {
    Long embed[MAX_AXES], stride, distance;
    int type; /* cudaDataType */
} Side;

typedef struct Plan {
    int alive, made, manual, rank;
    Long n[MAX_AXES], batch;
    Side in, out;
    void *workspace;
} Plan;

static Plan plans[MAX_PLANS];
static int count; /* of plans ever made; a plan's handle is its index, from 1 */

static int is_complex(const Side *side) { return side->type & TYPE_COMPLEX; }

/* The plan, or NULL if it does not exist or was destroyed. */
static Plan *find(int plan) { return plan > 0 && plan <= count && plans[plan].alive ? &plans[plan] : NULL; }

int cufftCreate(int *plan)
{
    *plan = ++count;
    plans[count].alive = 1;
    return 0;
}

int cufftDestroy(int plan)
{
    if (!find(plan)) return INVALID_PLAN;
    find(plan)->alive = 0;
    return 0;
}

int cufftSetStream(int plan, void *stream) { return (void)stream, find(plan) ? 0 : INVALID_PLAN; }

int cufftSetAutoAllocation(int plan, int automatic)
{
    if (!find(plan)) return INVALID_PLAN;
    find(plan)->manual = !automatic;
    return 0;
}

int cufftSetWorkArea(int plan, void *memory)
{
    if (!find(plan)) return INVALID_PLAN;
    find(plan)->workspace = memory;
    return 0;
}

static Side side_of(int rank, const Long *embed, Long stride, Long distance, int type)
{
    Side side = {.stride = stride, .distance = distance, .type = type};
    for (int i = 0; i < rank; i++) side.embed[i] = embed[i];
    return side;
}

int cufftXtMakePlanMany(int plan, int rank, Long *n, Long *inembed, Long istride, Long idist, int intype,
                        Long *onembed, Long ostride, Long odist, int outtype, Long batch, size_t *work,
                        int computed)
{
    const char *status = getenv("HOST_CUFFT_STATUS"), *size = getenv("HOST_CUFFT_WORK");
    Plan *p = find(plan);
    if (status) return atoi(status);
    if (!p) return INVALID_PLAN;
    if (!p->manual || rank < 1 || rank > MAX_AXES || batch < 1) return INVALID_VALUE;
    /* One precision; computed with complex numbers of it; at least one side complex. */
    if ((intype ^ outtype) & TYPE_DOUBLE || computed != ((intype | outtype) & (TYPE_COMPLEX | TYPE_DOUBLE))
        || !(computed & TYPE_COMPLEX))
        return INVALID_TYPE;
    p->rank = rank;
    p->batch = batch;
    p->in = side_of(rank, inembed, istride, idist, intype);
    p->out = side_of(rank, onembed, ostride, odist, outtype);
    for (int i = 0; i < rank; i++) {
        Long half = i == rank - 1 ? n[i] / 2 + 1 : n[i];
        Long in = is_complex(&p->in) && !is_complex(&p->out) ? half : n[i];
        Long out = is_complex(&p->out) && !is_complex(&p->in) ? half : n[i];
        if (n[i] < 1 || (i && (inembed[i] < in || onembed[i] < out))) return INVALID_VALUE;
        p->n[i] = n[i];
    }
    p->made = istride > 0 && ostride > 0 && idist > 0 && odist > 0;
    *work = size ? strtoull(size, NULL, 0) : DEFAULT_WORKSPACE;
    return p->made ? 0 : INVALID_VALUE;
}

/* The index in a side's memory of the element with coordinates x of a batch. */
static Long place(const Plan *p, const Side *side, Long batch, const Long *x)
{
    Long at = x[0];
    for (int i = 1; i < p->rank; i++) at = at * side->embed[i] + x[i];
    return batch * side->distance + at * side->stride;
}

static Number load(const Side *side, const void *base, Long i)
{
    switch (side->type) {
    case 0: return ((const float *)base)[i];
    case 1: return ((const double *)base)[i];
    case 4: return ((const float complex *)base)[i];
    default: return ((const double complex *)base)[i];
    }
}

static void store(const Side *side, void *base, Long i, Number value)
{
    switch (side->type) {
    case 0: ((float *)base)[i] = (float)creal(value); break;
    case 1: ((double *)base)[i] = creal(value); break;
    case 4: ((float complex *)base)[i] = (float complex)value; break;
    default: ((double complex *)base)[i] = value;
    }
}

/* Sets x to the coordinates of an element by its flat index. */
static void unravel(const Plan *p, Long index, Long *x)
{
    for (int i = p->rank; i-- > 0; index /= p->n[i]) x[i] = index % p->n[i];
}

/* The input's element with coordinates x. A transform to real numbers stores only the first half of its last
 * axis: the other half is conjugate to it. */
static Number element(const Plan *p, const void *base, Long batch, Long *x)
{
    int last = p->rank - 1;
    if (is_complex(&p->out) || x[last] <= p->n[last] / 2)
        return load(&p->in, base, place(p, &p->in, batch, x));
    Long mirrored[MAX_AXES];
    for (int i = 0; i < p->rank; i++) mirrored[i] = (p->n[i] - x[i]) % p->n[i];
    return conj(load(&p->in, base, place(p, &p->in, batch, mirrored)));
}

static void transform(const Plan *p, void *input, void *output, Long batch, int direction, Long total)
{
    Number *values = malloc(sizeof *values * total);
    Long x[MAX_AXES], k[MAX_AXES];
    for (Long i = 0; i < total; i++) unravel(p, i, x), values[i] = element(p, input, batch, x);
    for (Long i = 0; i < total; i++) { /* overwrites the input of a transform to real numbers */
        unravel(p, i, x);
        if (!is_complex(&p->out) && x[p->rank - 1] <= p->n[p->rank - 1] / 2)
            store(&p->in, input, place(p, &p->in, batch, x), NAN);
    }
    for (Long j = 0; j < total; j++) {
        Number sum = 0;
        unravel(p, j, k);
        if (!is_complex(&p->in) && k[p->rank - 1] > p->n[p->rank - 1] / 2) continue;
        for (Long i = 0; i < total; i++) {
            double turns = 0;
            unravel(p, i, x);
            for (int axis = 0; axis < p->rank; axis++)
                turns += (double)(x[axis] * k[axis] % p->n[axis]) / (double)p->n[axis];
            sum += values[i] * cexp(direction * 2 * M_PI * I * turns);
        }
        store(&p->out, output, place(p, &p->out, batch, k), sum);
    }
    free(values);
}

int cufftXtExec(int plan, void *input, void *output, int direction)
{
    Plan *p = find(plan);
    Long total = 1;
    if (!p || !p->made) return INVALID_PLAN;
    if (!p->workspace) return NO_WORKSPACE;
    uintptr_t aligned = p->in.type & TYPE_DOUBLE ? 16 : 8; /* the size of a complex number */
    if ((uintptr_t)input % aligned || (uintptr_t)output % aligned) return UNALIGNED_DATA;
    for (int i = 0; i < p->rank; i++) total *= p->n[i];
    for (Long batch = 0; batch < p->batch; batch++) transform(p, input, output, batch, direction, total);
    return 0;
}
