/* What NCCL's operations cost from C, on the communicator, the stream and the memory that Python uses: the
 * floor for scaling.py, which builds this as a shared library and passes NCCL's functions as pointers. */
#include <stddef.h>
#include <stdint.h>
#include <time.h>

enum { FLOAT32 = 7, SUM = 0 }; /* ncclDataType_t, ncclRedOp_t */

typedef enum { ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL, SEND_RECEIVE } Operation;

/* As nccl.h declares them. all_to_all is NULL in releases that lack it. */
typedef struct {
    int (*all_reduce)(const void *, void *, size_t, int, int, void *comm, void *stream);
    int (*all_gather)(const void *, void *, size_t, int, void *comm, void *stream);
    int (*reduce_scatter)(const void *, void *, size_t, int, int, void *comm, void *stream);
    int (*all_to_all)(const void *, void *, size_t, int, void *comm, void *stream);
    int (*send)(const void *, size_t, int, int peer, void *comm, void *stream);
    int (*receive)(void *, size_t, int, int peer, void *comm, void *stream);
    int (*group_start)(void);
    int (*group_end)(void);
} Nccl;

typedef struct {
    int operation;  /* an Operation */
    int to, source; /* ranks */
    void *comm, *stream, *sent, *received;
    size_t count; /* floats, as the operation counts them: sent, received, for each rank */
} Call;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int exchange(const Nccl *nccl, const Call *c)
{
    int error = nccl->group_start();
    if (!error) error = nccl->send(c->sent, c->count, FLOAT32, c->to, c->comm, c->stream);
    if (!error) error = nccl->receive(c->received, c->count, FLOAT32, c->source, c->comm, c->stream);
    return error ? error : nccl->group_end();
}

static int run(const Nccl *nccl, const Call *c)
{
    switch ((Operation)c->operation) {
    case ALL_REDUCE:
        return nccl->all_reduce(c->sent, c->received, c->count, FLOAT32, SUM, c->comm, c->stream);
    case ALL_GATHER: return nccl->all_gather(c->sent, c->received, c->count, FLOAT32, c->comm, c->stream);
    case REDUCE_SCATTER:
        return nccl->reduce_scatter(c->sent, c->received, c->count, FLOAT32, SUM, c->comm, c->stream);
    case ALL_TO_ALL: return nccl->all_to_all(c->sent, c->received, c->count, FLOAT32, c->comm, c->stream);
    case SEND_RECEIVE: return exchange(nccl, c);
    }
    return -1;
}

/* Nanoseconds of one of `count` operations: until they are queued, and until the stream is done. Returns
 * NCCL's or the driver's error. */
int raw_nccl(const Nccl *nccl, const Call *call, int (*synchronize)(void *), int count, double *queued,
             double *done)
{
    int error = synchronize(call->stream);
    double start = now();
    for (int i = 0; i < count && !error; i++) error = run(nccl, call);
    *queued = (now() - start) / count;
    if (!error) error = synchronize(call->stream);
    *done = (now() - start) / count;
    return error;
}
