/* Looks at the environment, row by row of settings.def. */
#include "core/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_anything(const char *text)
{
    (void)text;
    return true;
}

static bool is_kind_of_device(const char *text) { return !strcmp(text, "gpu") || !strcmp(text, "cpu"); }

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

static bool row_is_good(size_t row, char *problem, size_t size)
{
    const char *text = getenv(rows[row].variable);
    if (!text || !*text || rows[row].check(text)) return true;
    snprintf(problem, size, "%s is \"%.120s\": it may be %s", rows[row].variable, text, rows[row].may_be);
    return false;
}

bool settings_are_good(char *problem, size_t size)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!row_is_good(i, problem, size)) return false;
    return true;
}

bool setting_is_good(const char *variable, char *problem, size_t size)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].variable, variable) == 0) return row_is_good(i, problem, size);
    return true;
}
