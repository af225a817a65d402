/* See report.h. Lines are written whole, with no buffer, so that none is lost and none mixed up. */
#include "api/report.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/driver.h"
#include "api/settings.h"

static _Atomic uint64_t launches, unfreed;

static void write_line(const char *what, const char *text)
{
    char line[2048];
    int length = snprintf(line, sizeof line - 1, "%s %s", what, text);
    if (length < 0) return;
    if ((size_t)length > sizeof line - 2) length = sizeof line - 2;
    for (char *end = line; (end = strchr(end, '\n')) != NULL;) *end = ' ';
    line[length] = '\n';
    int file = open(driver_settings()->report, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (file < 0) return;
    if (write(file, line, (size_t)length + 1) < 0) { /* nobody can be told */
    }
    close(file);
}

static bool is_on(void) { return driver_settings()->report[0] != '\0'; }

void report_fault(const char *text)
{
    if (is_on()) write_line("fault", text);
}

void report_launch(void)
{
    if (is_on()) atomic_fetch_add_explicit(&launches, 1, memory_order_relaxed);
}

void report_unfreed(uint64_t bytes) { atomic_fetch_add_explicit(&unfreed, bytes, memory_order_relaxed); }

static void write_count(const char *what, uint64_t count)
{
    char number[32];
    snprintf(number, sizeof number, "%llu", (unsigned long long)count);
    if (count) write_line(what, number);
}

/* At the end of the process, of which a child forked from it says nothing. */
__attribute__((destructor)) static void finish(void)
{
    if (!is_on() || driver_check() == CUDA_ERROR_NOT_INITIALIZED) return;
    for (int i = 0; i < driver_settings()->devices; i++)
        report_unfreed(atomic_load(&driver_device(i)->memory_used));
    write_count("launches", launches);
    write_count("unfreed", unfreed);
}
