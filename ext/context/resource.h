/* What a device can be split into: its multiprocessors. */
#ifndef EXT_CONTEXT_RESOURCE_H
#define EXT_CONTEXT_RESOURCE_H

#include "ext/context/context.h"

typedef struct DeviceResourceObject {
    PyObject_HEAD
    ModuleState *state;
    CUdevice device;
    CUdevResource value;    /* as the driver made it: a value, which owns nothing */
} DeviceResourceObject;

static inline DeviceResourceObject *resource_cast(PyObject *object) { return (DeviceResourceObject *)object; }

/* Device.get_resource and Context.get_resource. */
extern const char device_get_resource_doc[], context_get_resource_doc[];
PyObject *device_get_resource(PyObject *self, FAST_PARAMETERS);
PyObject *context_get_resource(PyObject *self, FAST_PARAMETERS);

#endif
