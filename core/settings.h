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

/* The environment variables that are meant for pycuda by their names but are not among its own, nor among
 * `others` (NULL after the last; where it is NULL nothing is said of the CPU device's). False when there
 * are none, else the text of a warning that says what may be meant. */
bool settings_misspelt(const char *const *others, char *text, size_t size);

#endif
