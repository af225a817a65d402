/* The settings of the environment: settings.def has a row for each. */
#ifndef DEVICE_API_SETTINGS_H
#define DEVICE_API_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

enum { DRIVER_MAX_DEVICES = 64 };

typedef struct DriverSettings {
    int version;            /* as CUDA numbers it: 13000 */
    int devices;
    int threads;            /* at least 1 */
    int capability;         /* 75 for 7.5 */
    uint64_t memory;        /* bytes of each device */
    unsigned checks;        /* CHECK_* of exec/code.h */
    char problem[512];      /* of the first value that is wrong, in words; "" when all are right */
} DriverSettings;

/* Read once, also before cuInit. */
const DriverSettings *driver_settings(void);

#endif
