/* Checks the environment against the rows of settings.def. */
#include "core/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is_anything(const char *text)
{
    (void)text;
    return true;
}

static bool is_device_kind(const char *text) { return !strcmp(text, "gpu") || !strcmp(text, "cpu"); }

static bool is_compiler(const char *text) { return !strcmp(text, "nvrtc") || !strcmp(text, "nvcc"); }

static bool is_number(const char *text)
{
    static const char space[] = " \t\r\n";
    text += strspn(text, space);
    size_t digits = strspn(text, "0123456789");
    return digits > 0 && digits < 10 && text[digits + strspn(text + digits, space)] == '\0';
}

static bool is_switch(const char *text) { return !strcmp(text, "0") || !strcmp(text, "1"); }

static bool is_seconds(const char *text)
{
    char *end = NULL;
    return strtod(text, &end) >= 0 && end != text && *end == '\0';
}

static const struct {
    const char *variable, *may_be;
    bool (*check)(const char *text);
} rows[] = {
#define SETTING(variable, check, may_be) {#variable, may_be, check},
#include "core/settings.def"
};

static bool row_is_valid(size_t row, char *problem, size_t size)
{
    const char *text = getenv(rows[row].variable);
    if (!text || !*text || rows[row].check(text)) return true;
    snprintf(problem, size, "%s is \"%.120s\": it must be %s", rows[row].variable, text, rows[row].may_be);
    return false;
}

bool settings_are_valid(char *problem, size_t size)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!row_is_valid(i, problem, size)) return false;
    return true;
}

bool setting_is_valid(const char *variable, char *problem, size_t size)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].variable, variable) == 0) return row_is_valid(i, problem, size);
    return true;
}

extern char **environ; /* POSIX declares it in no header */

enum { PREFIX_LENGTH = 7 };    /* of PYCUDA_ */
enum { MAX_NAME_LENGTH = 48 }; /* longer names are not compared */

static char upper(char c) { return (char)(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c); }

/* The edit distance: how many characters of `a`, in upper case, must be inserted, removed, replaced or
 * swapped with the next one to get `b`. The rows of the table are kept three at a time. */
static size_t distance(const char *a, size_t a_size, const char *b, size_t b_size)
{
    size_t space[3][MAX_NAME_LENGTH + 1], *before = space[0], *last = space[1], *row = space[2];
    for (size_t j = 0; j <= b_size; j++) last[j] = before[j] = j;
    for (size_t i = 1; i <= a_size; i++) {
        row[0] = i;
        for (size_t j = 1; j <= b_size; j++) {
            size_t best = last[j - 1] + (upper(a[i - 1]) != b[j - 1]);
            if (last[j] + 1 < best) best = last[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            bool swapped = i > 1 && j > 1 && upper(a[i - 1]) == b[j - 2] && upper(a[i - 2]) == b[j - 1];
            if (swapped && before[j - 2] + 1 < best) best = before[j - 2] + 1;
            row[j] = best;
        }
        size_t *free = before;
        before = last, last = row, row = free;
    }
    return last[b_size];
}

/* Stores the known name in *nearest if its distance is less than *min, and at most 2/5 of the characters
 * after the prefix. True if it is the name itself. */
static bool compare_name(const char *name, size_t size, const char *known, size_t *min, const char **nearest)
{
    size_t known_size = strlen(known), longer = size > known_size ? size : known_size;
    size_t edits = known_size > MAX_NAME_LENGTH ? longer : distance(name, size, known, known_size);
    if (edits < *min && longer > PREFIX_LENGTH && 5 * edits <= 2 * (longer - PREFIX_LENGTH))
        *min = edits, *nearest = known;
    return size == known_size && strncmp(name, known, size) == 0;
}

/* The setting that a misspelled name is closest to; NULL if the name is a setting, or similar to none. */
static const char *name_meant(const char *name, size_t size, const char *const *others)
{
    size_t min = size;
    const char *nearest = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (compare_name(name, size, rows[i].variable, &min, &nearest)) return NULL;
    for (; others && *others; others++)
        if (compare_name(name, size, *others, &min, &nearest)) return NULL;
    return nearest;
}

bool settings_misspelled(const char *const *others, char *text, size_t size)
{
    size_t used = 0;
    for (char **entry = environ; entry && *entry; entry++) {
        size_t name_size = strcspn(*entry, "=");
        if (strncasecmp(*entry, "PYC", 3) != 0 || name_size <= PREFIX_LENGTH || name_size > MAX_NAME_LENGTH
            || (!others && strncasecmp(*entry + PREFIX_LENGTH, "CPU_", 4) == 0))
            continue;
        const char *meant = name_meant(*entry, name_size, others);
        if (!meant) continue;
        size_t more =
            (size_t)snprintf(text + used, size - used,
                             "%spycuda does not read the environment variable %.*s; did you mean %s?",
                             used ? " " : "", (int)name_size, *entry, meant);
        if (more >= size - used) break; /* the text is full: names after this one are left out */
        used += more;
    }
    text[used] = '\0';
    return used > 0;
}
