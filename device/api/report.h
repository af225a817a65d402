/* PYCUDA_CPU_REPORT: what happened, for whoever started the program, in a file that processes add lines to.
 *
 *   fault TEXT        a kernel has failed, at once
 *   launches COUNT    at the end of a process that made any
 *   unfreed BYTES     memory of a device that was not freed when its context ended, or the process
 */
#ifndef DEVICE_API_REPORT_H
#define DEVICE_API_REPORT_H

#include <stdint.h>

/* These do nothing where no report is asked for. */
void report_fault(const char *text);
void report_launch(void);
void report_unfreed(uint64_t bytes);

#endif
