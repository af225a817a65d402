/* See exclusive.h. */
#include "core/exclusive.h"

#include <pthread.h>

/* Per process, as the driver is. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void exclusive_begin(void) { pthread_mutex_lock(&lock); }

CUresult exclusive_end(CUresult result)
{
    pthread_mutex_unlock(&lock);
    return result;
}
