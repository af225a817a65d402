/* What copies between devices cost from C, between the memory and on the streams that Python uses: the floor
 * for scaling.py, which builds this as a shared library and passes the driver's functions as pointers. */
#include <stddef.h>
#include <stdint.h>
#include <time.h>

typedef struct {
    uint64_t to, from;
    void *to_context, *from_context, *stream;
    size_t size;
} Copy;

/* As cuda.h declares them. */
typedef int (*CopyPeer)(uint64_t to, void *to_context, uint64_t from, void *from_context, size_t size,
                        void *stream);
typedef int (*Synchronize)(void *stream);

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int wait_for_all(Synchronize synchronize, const Copy *copies, int pairs)
{
    int error = 0;
    for (int i = 0; i < pairs && !error; i++) error = synchronize(copies[i].stream);
    return error;
}

/* Nanoseconds of `count` copies of each pair, queued in turn: until they are queued, and until all streams
 * are done; each divided by `count`. Returns the driver's error. */
int raw_peers(CopyPeer copy, Synchronize synchronize, const Copy *copies, int pairs, int count,
              double *queued, double *done)
{
    int error = wait_for_all(synchronize, copies, pairs);
    double start = now();
    for (int n = 0; n < count && !error; n++)
        for (int i = 0; i < pairs && !error; i++) {
            const Copy *c = &copies[i];
            error = copy(c->to, c->to_context, c->from, c->from_context, c->size, c->stream);
        }
    *queued = (now() - start) / count;
    if (!error) error = wait_for_all(synchronize, copies, pairs);
    *done = (now() - start) / count;
    return error;
}
