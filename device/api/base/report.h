/* PYCUDA_CPU_REPORT: what happened, for the parent of the program, in a file that processes append lines to.
 *
 *   fault LAUNCH TEXT  a kernel has failed, at once
 *   site LAUNCH TEXT   where the launch of a fault is in the program, before or after it
 *   launches COUNT     at the end of a process that made any
 *   unfreed BYTES      memory of a device that was not freed when its context ended, or the process
 *
 * LAUNCH is PROCESS.TICKET (queue.h); with ticket 0 it is none.
 */
#ifndef DEVICE_API_BASE_REPORT_H
#define DEVICE_API_BASE_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/cuda_abi.h"

bool report_is_on(void);

/* These do nothing where no report is requested. */
void report_fault(const char *text, uint64_t launch);
/* Sets the place of a launch in the program, which is written if the launch fails. */
void report_site(cuuint64_t launch, const char *site);
void report_launch(void);
void report_unfreed(uint64_t bytes);

#endif
