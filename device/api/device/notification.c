/* Callbacks for events of a device. The only event there is, a request to free memory, never occurs here: the
 * callbacks are registered and never called. */
#include "api/base/driver.h"

typedef struct CUasyncCallbackEntry_st {
    Object object;
    CUasyncCallback function;
    void *data;
    CUdevice device;
} Notification;

CUresult cuDeviceRegisterAsyncNotification(CUdevice device, CUasyncCallback function, void *data,
                                           CUasyncCallbackHandle *out)
{
    TRY(driver_check());
    if (!function || !out) return CUDA_ERROR_INVALID_VALUE;
    if (!driver_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    Notification *notification = object_new(OBJECT_NOTIFICATION, sizeof *notification, NULL, NULL);
    if (!notification) return CUDA_ERROR_OUT_OF_MEMORY;
    notification->function = function;
    notification->data = data;
    notification->device = device;
    CUresult result = object_publish(OBJECT(notification));
    if (!result) *out = notification;
    PUT(notification);
    return result;
}

CUresult cuDeviceUnregisterAsyncNotification(CUdevice device, CUasyncCallbackHandle handle)
{
    TRY(driver_check());
    if (!driver_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    Notification *notification = handle ? object_get(handle, OBJECT_NOTIFICATION) : NULL;
    if (!notification) return CUDA_ERROR_INVALID_VALUE;
    bool mine = notification->device == device && object_retire(OBJECT(notification));
    PUT(notification);
    return mine ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
