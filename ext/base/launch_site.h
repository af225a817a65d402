/* Where launches come from: the file and line of the program that a kernel's fault is reported with.
 *
 * Noted where the driver numbers launches, as the CPU device does, and says which one failed; elsewhere the
 * array is NULL, and a launch costs a test of that. What is noted is the code object and the place in it: the
 * line is worked out when it is requested. */
#ifndef EXT_BASE_LAUNCH_SITE_H
#define EXT_BASE_LAUNCH_SITE_H

#include "ext/base/ext.h"

/* Called once the driver is loaded. Makes ModuleState.sites if the driver numbers launches. */
void launch_sites_open(ModuleState *state);
void launch_sites_close(ModuleState *state);

/* launch_site_note() where the driver numbers launches. */
void launch_site_keep(ModuleState *state);

/* Called after this thread has queued work that may fail as a kernel does: notes where. */
static inline void launch_site_note(ModuleState *state)
{
    if (state->sites) launch_site_keep(state);
}

/* " (launched by file.py, line 12)" for the launch that ended the current context; else "". */
void launch_site_describe(ModuleState *state, char *out, size_t size);

#endif
