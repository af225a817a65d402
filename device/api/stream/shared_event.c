/* The part of an event that processes share: which records were requested and which were reached.
 *
 * Records of all processes are numbered in one sequence. Record n has place n % PLACES, where its process
 * writes its process ID, and later that the record was reached. A waiting thread sleeps on a futex, wakes
 * whenever any record is reached, and checks from time to time whether the process that it waits for still
 * exists.
 */
#define _GNU_SOURCE
#include "api/stream/shared_event.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "api/base/log.h"
#include "api/context/timeout.h"

enum { PLACES = 64 };
enum { PROCESS_BITS = 22 };             /* of a process ID in Linux */
enum { CHECK_NANOSECONDS = 20000000 };  /* between checks whether a process exists */

struct SharedEvent {
    _Atomic uint64_t last;              /* the number of the newest record */
    _Atomic uint32_t futex_word;        /* counts the records that were reached */
    _Atomic uint64_t recorders[PLACES]; /* record number << PROCESS_BITS | process ID */
    _Atomic uint64_t reached[PLACES];   /* the highest number of this place's records that was reached */
};

CUresult shared_event_map(const SharedFile *file, SharedEvent **out)
{
    if (file->size < sizeof(SharedEvent)) return CUDA_ERROR_INVALID_VALUE;
    void *page = mmap(NULL, sizeof(SharedEvent), PROT_READ | PROT_WRITE, MAP_SHARED, file->descriptor, 0);
    if (page == MAP_FAILED) return CUDA_ERROR_MAP_FAILED;
    *out = page;
    return CUDA_SUCCESS;
}

CUresult shared_event_create(SharedEvent **out, SharedFile *file)
{
    if (!shared_file_create(file, "cuda-event", sizeof(SharedEvent))) {
        log_error(SHARED_FILE_PROBLEM ": no interprocess event");
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    CUresult result = shared_event_map(file, out);
    if (result) shared_file_close(file);
    return result;
}

void shared_event_unmap(SharedEvent *event) { munmap(event, sizeof *event); }

uint64_t shared_event_record(SharedEvent *event)
{
    uint64_t number = atomic_fetch_add(&event->last, 1) + 1;
    atomic_store(&event->recorders[number % PLACES], number << PROCESS_BITS | (uint64_t)getpid());
    return number;
}

void shared_event_reach(SharedEvent *event, uint64_t number)
{
    _Atomic uint64_t *place = &event->reached[number % PLACES];
    uint64_t before = atomic_load(place);
    while (before < number && !atomic_compare_exchange_weak(place, &before, number)) {}
    atomic_fetch_add(&event->futex_word, 1);
    syscall(SYS_futex, &event->futex_word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

uint64_t shared_event_last(const SharedEvent *event) { return atomic_load(&event->last); }

/* Whether the process has ended. Its parent may not have waited for it yet: then it is a zombie (Z, X). */
static bool has_ended(pid_t process)
{
    char path[32], text[512];
    if (kill(process, 0) && errno == ESRCH) return true;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
    FILE *file = fopen(path, "r");
    if (!file) return false;
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = '\0';
    const char *state = strrchr(text, ')');
    return state && (state[1] == ' ' && (state[2] == 'Z' || state[2] == 'X'));
}

/* Whether the process that submitted that record has ended: then it is never reached. */
static bool is_lost(const SharedEvent *event, uint64_t number)
{
    uint64_t recorder = atomic_load(&event->recorders[number % PLACES]);
    pid_t process = (pid_t)(recorder & ((UINT64_C(1) << PROCESS_BITS) - 1));
    return recorder >> PROCESS_BITS == number && process != getpid() && has_ended(process);
}

static bool has_reached(const SharedEvent *event, uint64_t number)
{
    return atomic_load(&event->reached[number % PLACES]) >= number;
}

bool shared_event_reached(SharedEvent *event, uint64_t number)
{
    return has_reached(event, number) || is_lost(event, number);
}

bool shared_event_wait(SharedEvent *event, uint64_t number, uint64_t until)
{
    struct timespec interval = {0, CHECK_NANOSECONDS};
    for (;;) {
        uint32_t futex_word = atomic_load(&event->futex_word);
        if (has_reached(event, number)) return true;
        syscall(SYS_futex, &event->futex_word, FUTEX_WAIT, futex_word, &interval, NULL, 0);
        if (shared_event_reached(event, number)) return true;
        if (until && timeout_clock() >= until) return false;
    }
}
