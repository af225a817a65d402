/* See report.h. Each line is one write() to a file opened for appending: lines of several processes are not
 * mixed, and none is lost in a buffer. */
#include "api/base/report.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/base/driver.h"
#include "api/base/settings.h"

static _Atomic uint64_t launches, unfreed;

enum { LINE_BYTES = 2048 };

/* Writes one line; line breaks in the text become spaces, and a text that is too long is cut. */
static void write_line(const char *what, const char *text)
{
    char line[LINE_BYTES];
    int length = snprintf(line, sizeof line - 1, "%s %s", what, text);
    if (length < 0) return;
    if (length > LINE_BYTES - 2) length = LINE_BYTES - 2; /* what snprintf has written, without its NUL */
    for (char *end = line; (end = strchr(end, '\n')) != NULL;) *end = ' ';
    line[length] = '\n';
    int file = open(driver_settings()->report, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (file < 0) return;
    if (write(file, line, (size_t)length + 1) < 0) { /* the error cannot be reported */
    }
    close(file);
}

bool report_is_on(void) { return driver_settings()->report[0] != '\0'; }

/* --- faults and where they were launched ----------------------------------------------------------- */

/* The launch with ticket t has entry t % SITES, which it takes from an older launch. There are as many
 * entries as launches can be queued. The site may be set before or after the first fault of the launch: the
 * second of the two events writes it. */
enum { SITES = 4096 };
typedef struct Site {
    uint64_t launch;
    bool has_fault;
    char *text; /* owned; NULL until the launch site is set */
} Site;
static Site sites[SITES];
static pthread_mutex_t sites_lock = PTHREAD_MUTEX_INITIALIZER;

static void write_launch_line(const char *what, uint64_t launch, const char *text)
{
    char line[LINE_BYTES];
    snprintf(line, sizeof line, "%ld.%llu %s", (long)getpid(), (unsigned long long)launch, text);
    write_line(what, line);
}

/* The entry of the launch, emptied if an older launch had it. */
static Site *site_locked(uint64_t launch)
{
    Site *site = &sites[launch % SITES];
    if (site->launch == launch) return site;
    free(site->text);
    *site = (Site){.launch = launch};
    return site;
}

static void write_site_locked(const Site *site)
{
    if (site->has_fault && site->text) write_launch_line("site", site->launch, site->text);
}

static void report_event(const char *what, const char *text, uint64_t launch)
{
    if (!report_is_on()) return;
    write_launch_line(what, launch, text);
    if (!launch) return;
    pthread_mutex_lock(&sites_lock);
    Site *site = site_locked(launch);
    bool first = !site->has_fault;
    site->has_fault = true;
    if (first) write_site_locked(site);
    pthread_mutex_unlock(&sites_lock);
}

void report_fault(const char *text, uint64_t launch) { report_event("fault", text, launch); }

void report_survived_fault(const char *text, uint64_t launch) { report_event("survived", text, launch); }

void report_site(cuuint64_t launch, const char *text)
{
    if (!report_is_on()) return;
    pthread_mutex_lock(&sites_lock);
    Site *site = site_locked(launch);
    if (!site->text) site->text = strdup(text);
    write_site_locked(site);
    pthread_mutex_unlock(&sites_lock);
}

/* --- counts ---------------------------------------------------------------------------------------- */

void report_launch(void)
{
    if (report_is_on()) atomic_fetch_add_explicit(&launches, 1, memory_order_relaxed);
}

void report_unfreed(uint64_t bytes) { atomic_fetch_add_explicit(&unfreed, bytes, memory_order_relaxed); }

static void write_count(const char *what, uint64_t count)
{
    char number[32];
    snprintf(number, sizeof number, "%llu", (unsigned long long)count);
    if (count) write_line(what, number);
}

/* Runs at exit; a forked child writes nothing. */
__attribute__((destructor)) static void write_counts_at_exit(void)
{
    if (!report_is_on() || driver_check() == CUDA_ERROR_NOT_INITIALIZED) return;
    for (int i = 0; i < driver_settings()->devices; i++)
        report_unfreed(atomic_load(&driver_device(i)->memory_used));
    write_count("launches", launches);
    write_count("unfreed", unfreed);
}
