/* The log of cuLogsCurrent, cuLogsDumpToFile, cuLogsDumpToMemory and cuLogsRegisterCallback: the newest
 * entries, each a line of text. A CUlogIterator is the number of entries that had been made when the program
 * took it. */
#include "api/base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/api.h"
#include "api/base/settings.h"

enum { LOG_ENTRIES = 100, LOG_TEXT_BYTES = 2400, LOG_CALLBACKS = 16 };
enum { LEVEL_ERROR = 0, LEVEL_WARNING = 1 }; /* CUlogLevel */

typedef struct CUlogsCallbackEntry_st {
    CUlogsCallback call;
    void *data;
} LogCallback;

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static char *log_lines[LOG_ENTRIES]; /* entry n is at n % LOG_ENTRIES */
static unsigned log_count;           /* entries ever made */
static LogCallback log_callbacks[LOG_CALLBACKS];

/* Owns the line from now on; the oldest one is freed. */
static void keep_line(char *line)
{
    pthread_mutex_lock(&log_lock);
    char **slot = &log_lines[log_count++ % LOG_ENTRIES];
    char *old = *slot;
    *slot = line;
    pthread_mutex_unlock(&log_lock);
    free(old);
}

/* Each callback gets a copy of the text, which it may write to. */
static void call_callbacks(unsigned level, const char *text)
{
    LogCallback callbacks[LOG_CALLBACKS];
    char copy[LOG_TEXT_BYTES];
    pthread_mutex_lock(&log_lock);
    memcpy(callbacks, log_callbacks, sizeof callbacks);
    pthread_mutex_unlock(&log_lock);
    for (int i = 0; i < LOG_CALLBACKS; i++) {
        if (!callbacks[i].call) continue;
        size_t length = (size_t)snprintf(copy, sizeof copy, "%s", text);
        callbacks[i].call(callbacks[i].data, level, copy, length);
    }
}

static void log_entry(unsigned level, const char *format, va_list list)
{
    static const char warning[] = "warning: ";
    char text[LOG_TEXT_BYTES];
    vsnprintf(text, sizeof text, format, list);
    for (size_t length = strlen(text); length && text[length - 1] == '\n';) text[--length] = '\0';
    size_t size = sizeof warning + strlen(text) + sizeof "\n";
    char *line = malloc(size);
    if (line) {
        snprintf(line, size, "%s%s\n", level == LEVEL_ERROR ? "" : warning, text);
        if (driver_settings()->log_printed) fprintf(stderr, "CPU device: %s", line);
        keep_line(line);
    }
    call_callbacks(level, text);
}

void log_error(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    log_entry(LEVEL_ERROR, format, list);
    va_end(list);
}

void cpuDeviceLog(const char *text) { log_error("%s", text); }

void log_warning(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    log_entry(LEVEL_WARNING, format, list);
    va_end(list);
}

/* The number of the entry to read first: the iterator's, or the oldest that is kept if there is no iterator,
 * its entry is no longer kept, or it is invalid. */
static unsigned first_kept_locked(const CUlogIterator *iterator)
{
    unsigned oldest = log_count > LOG_ENTRIES ? log_count - LOG_ENTRIES : 0;
    unsigned first = iterator ? *iterator : oldest;
    return first < oldest || first > log_count ? oldest : first;
}

CUresult cuLogsCurrent(CUlogIterator *iterator, unsigned int flags)
{
    if (!iterator || flags) return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&log_lock);
    *iterator = log_count;
    pthread_mutex_unlock(&log_lock);
    return CUDA_SUCCESS;
}

CUresult cuLogsDumpToFile(CUlogIterator *iterator, const char *path, unsigned int flags)
{
    if (!path || flags) return CUDA_ERROR_INVALID_VALUE;
    FILE *file = fopen(path, "w");
    if (!file) return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&log_lock);
    for (unsigned i = first_kept_locked(iterator); i < log_count; i++)
        fputs(log_lines[i % LOG_ENTRIES], file);
    if (iterator) *iterator = log_count;
    pthread_mutex_unlock(&log_lock);
    return fclose(file) ? CUDA_ERROR_OPERATING_SYSTEM : CUDA_SUCCESS;
}

/* The newest entries that fit whole, after a note when older ones had to be left out. */
CUresult cuLogsDumpToMemory(CUlogIterator *iterator, char *buffer, size_t *size, unsigned int flags)
{
    static const char note[] = "[older entries left out]\n";
    if (!size || flags || (!buffer && *size)) return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&log_lock);
    unsigned from = first_kept_locked(iterator), first = log_count;
    size_t used = 0, capacity = *size ? *size - 1 : 0, kept_for_note = sizeof note - 1;
    while (first > from) {
        size_t length = strlen(log_lines[(first - 1) % LOG_ENTRIES]);
        size_t reserve = first - 1 > from ? kept_for_note : 0;
        if (used + length + reserve > capacity) break;
        used += length;
        first--;
    }
    char *end = buffer;
    if (first > from && kept_for_note <= capacity) {
        memcpy(end, note, kept_for_note);
        end += kept_for_note;
    }
    for (unsigned i = first; buffer && i < log_count; i++) {
        const char *line = log_lines[i % LOG_ENTRIES];
        memcpy(end, line, strlen(line));
        end += strlen(line);
    }
    if (*size) *end = '\0';
    *size = buffer ? (size_t)(end - buffer) : 0;
    if (iterator) *iterator = log_count;
    pthread_mutex_unlock(&log_lock);
    return CUDA_SUCCESS;
}

CUresult cuLogsRegisterCallback(CUlogsCallback callback, void *data, CUlogsCallbackHandle *handle)
{
    if (!callback || !handle) return CUDA_ERROR_INVALID_VALUE;
    LogCallback *entry = NULL;
    pthread_mutex_lock(&log_lock);
    for (int i = 0; i < LOG_CALLBACKS && !entry; i++)
        if (!log_callbacks[i].call) entry = &log_callbacks[i];
    if (entry) *entry = (LogCallback){callback, data};
    pthread_mutex_unlock(&log_lock);
    if (!entry) return CUDA_ERROR_OUT_OF_MEMORY;
    *handle = entry;
    return CUDA_SUCCESS;
}

CUresult cuLogsUnregisterCallback(CUlogsCallbackHandle handle)
{
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&log_lock);
    for (int i = 0; i < LOG_CALLBACKS; i++)
        if (handle == &log_callbacks[i] && handle->call) {
            *handle = (LogCallback){NULL, NULL};
            result = CUDA_SUCCESS;
        }
    pthread_mutex_unlock(&log_lock);
    return result;
}
