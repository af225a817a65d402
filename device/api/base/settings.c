/* Reads the settings of the environment, row by row of settings.def. */
#include "api/base/settings.h"

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exec/bind.h"
#include "exec/state/launch.h"

static DriverSettings settings;
static pthread_once_t settings_once = PTHREAD_ONCE_INIT;

/* The compute capability where none is set. DEFAULT_CAPABILITY is the highest of which the CPU device has all
 * ordinary instructions; drivers before version DEFAULT_SINCE do not know it, and have OLDER_CAPABILITY. */
enum { DEFAULT_CAPABILITY = 90, DEFAULT_SINCE = 11080, OLDER_CAPABILITY = 75, MIN_CAPABILITY = 50 };

#define MAX_MEMORY 0x1p40 /* bytes */
enum { UPPER_CASE = ~0x20 }; /* the mask that makes a letter of ASCII upper case */

static bool read_number(const char *text, int low, int high, int *out)
{
    char *end = NULL;
    long value = strtol(text, &end, 10);
    if (end == text || *end || value < low || value > high) return false;
    *out = (int)value;
    return true;
}

/* "512M", "1.5GiB", "1000000" */
static bool read_memory(const char *text, DriverSettings *out)
{
    static const char units[] = "KMGT";
    char *end = NULL;
    double value = strtod(text, &end);
    int shift = 0;
    const char *unit = *end ? strchr(units, *end & UPPER_CASE) : NULL;
    if (unit && *unit) {
        shift = 10 * (int)(unit - units + 1);
        end++;
        if (end[0] == 'i' && end[1] == 'B') end++;
        if (*end == 'B' || *end == 'b') end++;
    }
    double bytes = value * (double)(UINT64_C(1) << shift);
    if (end == text || *end || !(bytes >= 1) || bytes > MAX_MEMORY) return false;
    out->memory = (uint64_t)bytes;
    return true;
}

/* "7.5" or "75" as 75. */
static bool read_capability(const char *text, DriverSettings *out)
{
    static const int capabilities[] = {
#define TARGET(number, suffix, version) number,
#include "ptx/targets.def"
    };
    int wanted = 0;
    const char *point = strchr(text, '.');
    if (strspn(text, "0123456789.") != strlen(text) || strlen(text) > 4 || text[0] == '0') return false;
    if (point && (point == text || strlen(point) != 2 || point[1] == '.')) return false;
    for (const char *at = text; *at; at++)
        if (*at != '.') wanted = 10 * wanted + (*at - '0');
    for (size_t i = 0; i < sizeof capabilities / sizeof *capabilities; i++)
        if (capabilities[i] == wanted && wanted >= MIN_CAPABILITY) {
            out->capability = wanted;
            return true;
        }
    return false;
}

/* Only checks the value: exec/bind.c reads the variable itself. */
static bool read_isa(const char *text, DriverSettings *out)
{
    (void)out;
    return exec_isa_known(text);
}

/* Only checks the value: exec/run/workers.c reads the variable itself. */
static bool read_schedule(const char *text, DriverSettings *out)
{
    uint64_t seed;
    (void)out;
    return worker_schedule_seed(text, &seed);
}

/* Words separated by commas or spaces. */
static bool read_checks(const char *text, DriverSettings *out)
{
    static const struct {
        const char *word;
        unsigned bit;
    } rows[] = {{"racecheck", CHECK_RACE},
                {"initcheck", CHECK_INIT},
                {"initcheck-shared", CHECK_INIT_SHARED},
                {"synccheck", CHECK_SYNC}};
    enum { ROWS = sizeof rows / sizeof *rows };
    for (const char *at = text; *(at += strspn(at, ", ")); at += strcspn(at, ", ")) {
        size_t length = strcspn(at, ", ");
        int k = 0;
        while (k < ROWS && (strlen(rows[k].word) != length || strncmp(rows[k].word, at, length) != 0)) k++;
        if (k == ROWS) return false;
        out->checks |= rows[k].bit;
    }
    return true;
}

static bool read_report(const char *text, DriverSettings *out)
{
    snprintf(out->report, sizeof out->report, "%s", text);
    return strlen(text) < sizeof out->report && access(text, W_OK) == 0;
}

static bool read_faults(const char *text, DriverSettings *out)
{
    out->faults_reported = strcmp(text, "report") == 0;
    return out->faults_reported || strcmp(text, "stop") == 0;
}

static bool read_log(const char *text, DriverSettings *out)
{
    out->log_printed = strcmp(text, "stderr") == 0;
    return out->log_printed;
}

/* Half of the host's memory in whole MiB, at most 8 GiB. */
static uint64_t default_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t half = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page / 2 : UINT64_C(1) << 30;
    uint64_t max = UINT64_C(8) << 30;
    return (half < max ? half : max) >> 20 << 20;
}

static int processor_count(void)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}

typedef struct Setting {
    const char *variable;
    const char *may_be; /* what values are allowed, in words; of a NUMBER, what is said after its range */
    bool (*read)(const char *text, DriverSettings *out); /* false: not allowed. NULL: a NUMBER */
    size_t field; /* of a NUMBER: the offset of its int in DriverSettings */
    int low, high, fallback; /* of a NUMBER */
} Setting;

static const Setting rows[] = {
#define NUMBER(variable, field, low, high, fallback, note) \
    {#variable, note, NULL, offsetof(DriverSettings, field), low, high, fallback},
#define WORD(variable, reader, may_be) {#variable, may_be, reader, 0, 0, 0, 0},
#include "api/base/settings.def"
};

const char *const driver_setting_names[] = {
#define NUMBER(variable, field, low, high, fallback, note) #variable,
#define WORD(variable, reader, may_be) #variable,
#include "api/base/settings.def"
    NULL};

/* Only the first problem is kept. */
static void set_problem(const Setting *row, const char *text)
{
    char range[64] = "";
    if (settings.problem[0]) return;
    if (!row->read) snprintf(range, sizeof range, "a number from %d to %d", row->low, row->high);
    snprintf(settings.problem, sizeof settings.problem, "%s is \"%.120s\": it must be %s%s", row->variable,
             text, range, row->may_be);
}

static void read_row(const Setting *row)
{
    int *number = (int *)(void *)((char *)&settings + row->field);
    const char *text = getenv(row->variable);
    bool given = text && *text;
    if (!row->read) *number = row->fallback;
    if (!given) return;
    bool good = row->read ? row->read(text, &settings) : read_number(text, row->low, row->high, number);
    if (!good) set_problem(row, text);
}

static void read_settings(void)
{
    settings.memory = default_memory();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) read_row(&rows[i]);
    if (!settings.capability)
        settings.capability = settings.version < DEFAULT_SINCE ? OLDER_CAPABILITY : DEFAULT_CAPABILITY;
    if (!settings.threads) settings.threads = processor_count(); /* here, as it reads a file each time */
}

const DriverSettings *driver_settings(void)
{
    pthread_once(&settings_once, read_settings);
    return &settings;
}
