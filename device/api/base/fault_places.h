/* PYCUDA_CPU_FAULTS=report: the faults that launches survive, each named once for its place in the kernel on
 * standard error, in the driver's log and in the report (report.h); at exit, how many more there were. */
#ifndef DEVICE_API_BASE_FAULT_PLACES_H
#define DEVICE_API_BASE_FAULT_PLACES_H

#include <stdatomic.h>
#include <stdint.h>

/* As GridLaunch.name_fault. */
_Atomic uint64_t *fault_places_name(uint64_t ticket, const char *kernel, const char *place, int code,
                                    const char *text);

/* From now on each place is named once more. */
void fault_places_forget(void);

#endif
