/* See fault_places.h. A place is known by the texts of kernel and place, so that a module that is loaded
 * again has the same places. */
#include "api/base/fault_places.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/driver.h"
#include "api/base/log.h"
#include "api/base/report.h"
#include "api/base/settings.h"

typedef struct Place {
    struct Place *next; /* added before this one */
    _Atomic uint64_t faults;
    uint64_t names; /* how often it was named */
    bool is_named;  /* since fault_places_forget() */
    int code;
    char name[]; /* "KERNEL, PLACE" */
} Place;
static Place *newest; /* places live as long as the process */
static pthread_mutex_t places_lock = PTHREAD_MUTEX_INITIALIZER;

static Place *find_locked(const char *name, int code)
{
    Place *place = newest;
    while (place && (place->code != code || strcmp(place->name, name) != 0)) place = place->next;
    return place;
}

static Place *add_locked(const char *name, int code)
{
    size_t size = strlen(name) + 1;
    Place *place = calloc(1, sizeof *place + size);
    if (!place) return NULL;
    place->next = newest;
    place->code = code;
    memcpy(place->name, name, size);
    newest = place;
    return place;
}

_Atomic uint64_t *fault_places_name(uint64_t ticket, const char *kernel, const char *place, int code,
                                    const char *text)
{
    enum { NAME_BYTES = 1024 };
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "%s, %s", kernel, place);
    pthread_mutex_lock(&places_lock);
    Place *found = find_locked(name, code);
    if (!found) found = add_locked(name, code);
    bool is_new = !found || !found->is_named;
    if (found) {
        found->names += is_new;
        found->is_named = true;
    }
    pthread_mutex_unlock(&places_lock);
    if (!is_new) return &found->faults;
    log_error("%s", text);
    if (!driver_settings()->log_printed) fprintf(stderr, "CPU device: %s\n", text);
    report_survived_fault(text, ticket);
    return found ? &found->faults : NULL;
}

void fault_places_forget(void)
{
    pthread_mutex_lock(&places_lock);
    for (Place *place = newest; place; place = place->next) place->is_named = false;
    pthread_mutex_unlock(&places_lock);
}

/* Runs at exit; a forked child prints nothing. */
__attribute__((destructor)) static void print_counts_at_exit(void)
{
    if (driver_check() == CUDA_ERROR_NOT_INITIALIZED) return;
    for (const Place *place = newest; place; place = place->next) {
        unsigned long long more = place->faults > place->names ? place->faults - place->names : 0;
        if (more) fprintf(stderr, "CPU device: kernel %s: %llu more such faults\n", place->name, more);
    }
}
