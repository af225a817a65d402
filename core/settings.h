/* The environment variables that pycuda reads, and what they may be: settings.def has a row for each. */
#ifndef CORE_SETTINGS_H
#define CORE_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

/* Whether all are what they may be; if not, says of the first that is wrong its name, its value and what it
 * may be. */
bool settings_are_good(char *problem, size_t size);

/* The same of one. */
bool setting_is_good(const char *variable, char *problem, size_t size);

#endif
