/* The settings of the environment: settings.def has a row for each. */
#ifndef DEVICE_API_BASE_SETTINGS_H
#define DEVICE_API_BASE_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

enum { DRIVER_MAX_DEVICES = 64 };

typedef struct DriverSettings {
    int version;            /* as CUDA numbers it: 13000 */
    int devices;
    int threads;            /* at least 1 */
    int multiprocessors;    /* that a device reports; 40 is the number of a T4 */
    int one_lock;           /* 1: api/entry/one_lock.h is used */
    int can_cancel; /* 0: the calls of api/context/timeout.c are not supported, as in NVIDIA's driver */
    int capability; /* 75 for 7.5 */
    uint64_t memory; /* bytes of each device */
    unsigned checks; /* CHECK_* of exec/code/code.h */
    char report[256]; /* the path of a file that exists, or "" (api/base/report.h) */
    bool faults_reported; /* kernels go on after invalid accesses (fault_places.h) */
    bool log_printed; /* every entry of the log goes to stderr as well */
    char problem[512]; /* of the first value that is wrong, in words; "" when all are right */
} DriverSettings;

/* Read once, also before cuInit. */
const DriverSettings *driver_settings(void);

/* The names of the environment variables, terminated by NULL. */
extern const char *const driver_setting_names[];

#endif
