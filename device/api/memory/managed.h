/* What programs say about managed memory. */
#ifndef DEVICE_API_MEMORY_MANAGED_H
#define DEVICE_API_MEMORY_MANAGED_H

/* Forgets what was said about memory that is gone. */
void managed_sweep(void);

#endif
