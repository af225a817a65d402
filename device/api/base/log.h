/* The driver's log (cuLogs*): what went wrong, in words. Process-wide, the newest entries only. */
#ifndef DEVICE_API_BASE_LOG_H
#define DEVICE_API_BASE_LOG_H

/* Adds an entry and calls the registered callbacks; takes no lock while it calls them. */
void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
