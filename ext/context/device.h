/* Devices, and the functions that need no context. */
#ifndef EXT_CONTEXT_DEVICE_H
#define EXT_CONTEXT_DEVICE_H

#include "ext/base/ext.h"

typedef struct DeviceObject {
    PyObject_HEAD
    ModuleState *state;
    CUdevice handle;
} DeviceObject;

static inline DeviceObject *device_cast(PyObject *object) { return (DeviceObject *)object; }

/* A new Device. NULL with an exception. */
PyObject *device_new(ModuleState *state, CUdevice handle);

#endif
