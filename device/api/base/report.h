/* PYCUDA_CPU_REPORT: what happened, for the parent of the program, in a file that processes append lines to.
 *
 *   fault LAUNCH TEXT     a kernel has failed; written at once
 *   survived LAUNCH TEXT  a kernel goes on after a fault (fault_places.h)
 *   site LAUNCH TEXT      the line of the program that made that launch; written after those lines
 *   launches COUNT        written at the end of a process that made any
 *   unfreed BYTES         device memory that was not freed when its context or the process ended
 *
 * LAUNCH is PROCESS.TICKET (queue.h); ticket 0: the fault is of no launch.
 */
#ifndef DEVICE_API_BASE_REPORT_H
#define DEVICE_API_BASE_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/cuda_abi.h"

bool report_is_on(void);

/* These do nothing where no report is requested. */
void report_fault(const char *text, uint64_t launch);
void report_survived_fault(const char *text, uint64_t launch);
/* Sets the place of a launch in the program, which is written if the launch has a fault. */
void report_site(cuuint64_t launch, const char *site);
/* Counts a launch. */
void report_launch(void);
/* Adds to the bytes that were not freed. */
void report_unfreed(uint64_t bytes);

#endif
