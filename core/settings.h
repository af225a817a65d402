/* The environment variables that pycuda reads, and their valid values: settings.def has a row for each. */
#ifndef CORE_SETTINGS_H
#define CORE_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

/* Whether all are valid; if not, the message names the first invalid one, its value and what is valid. */
bool settings_are_valid(char *problem, size_t size);

/* As settings_are_valid(), for one. */
bool setting_is_valid(const char *variable, char *problem, size_t size);

/* Finds environment variables whose names begin like pycuda's but are neither its own nor among `others`
 * (ending with NULL; if `others` is NULL those of the CPU device are not checked). False when there are
 * none, else the text of a warning that suggests the nearest name. */
bool settings_misspelled(const char *const *others, char *text, size_t size);

#endif
