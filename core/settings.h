/* The environment variables that pycuda reads, and their valid values: settings.def has a row for each. */
#ifndef CORE_SETTINGS_H
#define CORE_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

/* Whether all variables have valid values. If not, the message names the first invalid one, its value and
 * what is valid. */
bool settings_are_valid(char *problem, size_t size);

/* As settings_are_valid(), for one variable. */
bool setting_is_valid(const char *variable, char *problem, size_t size);

/* Finds environment variables whose names look like misspelled settings of pycuda or of `others`, an array
 * that ends with NULL. If `others` is NULL, names of the CPU device's variables (PYCUDA_CPU_) are not
 * checked. True if there are any: then `text` is a warning that suggests the nearest names. */
bool settings_misspelled(const char *const *others, char *text, size_t size);

#endif
