/* First versions of functions, with addresses and sizes of 32 bits. They need a context created through the
 * pre-3.2 API, which cannot exist here. */
#include "api/base/driver.h"
#include "api/base/log.h"

static CUresult log_32_bit_form(const char *name)
{
    TRY(driver_check());
    log_error("%s takes 32-bit addresses (before CUDA 3.2): call %s_v2", name, name);
    return CUDA_ERROR_INVALID_CONTEXT;
}

#define WITH_SHORT_ADDRESSES(name) \
    CU_API CUresult name(void); \
    CUresult name(void) { return log_32_bit_form(#name); }
WITH_SHORT_ADDRESSES(cuArray3DCreate)
WITH_SHORT_ADDRESSES(cuArray3DGetDescriptor)
WITH_SHORT_ADDRESSES(cuArrayCreate)
WITH_SHORT_ADDRESSES(cuArrayGetDescriptor)
WITH_SHORT_ADDRESSES(cuGraphicsResourceGetMappedPointer)
WITH_SHORT_ADDRESSES(cuMemAlloc)
WITH_SHORT_ADDRESSES(cuMemAllocHost)
WITH_SHORT_ADDRESSES(cuMemAllocPitch)
WITH_SHORT_ADDRESSES(cuMemFree)
WITH_SHORT_ADDRESSES(cuMemGetAddressRange)
WITH_SHORT_ADDRESSES(cuMemGetInfo)
WITH_SHORT_ADDRESSES(cuMemHostGetDevicePointer)
WITH_SHORT_ADDRESSES(cuMemcpy2D)
WITH_SHORT_ADDRESSES(cuMemcpy2DAsync)
WITH_SHORT_ADDRESSES(cuMemcpy2DUnaligned)
WITH_SHORT_ADDRESSES(cuMemcpy3D)
WITH_SHORT_ADDRESSES(cuMemcpy3DAsync)
WITH_SHORT_ADDRESSES(cuMemcpyAtoA)
WITH_SHORT_ADDRESSES(cuMemcpyAtoD)
WITH_SHORT_ADDRESSES(cuMemcpyAtoH)
WITH_SHORT_ADDRESSES(cuMemcpyAtoHAsync)
WITH_SHORT_ADDRESSES(cuMemcpyDtoA)
WITH_SHORT_ADDRESSES(cuMemcpyDtoD)
WITH_SHORT_ADDRESSES(cuMemcpyDtoDAsync)
WITH_SHORT_ADDRESSES(cuMemcpyDtoH)
WITH_SHORT_ADDRESSES(cuMemcpyDtoHAsync)
WITH_SHORT_ADDRESSES(cuMemcpyHtoA)
WITH_SHORT_ADDRESSES(cuMemcpyHtoAAsync)
WITH_SHORT_ADDRESSES(cuMemcpyHtoD)
WITH_SHORT_ADDRESSES(cuMemcpyHtoDAsync)
WITH_SHORT_ADDRESSES(cuMemsetD16)
WITH_SHORT_ADDRESSES(cuMemsetD2D16)
WITH_SHORT_ADDRESSES(cuMemsetD2D32)
WITH_SHORT_ADDRESSES(cuMemsetD2D8)
WITH_SHORT_ADDRESSES(cuMemsetD32)
WITH_SHORT_ADDRESSES(cuMemsetD8)
WITH_SHORT_ADDRESSES(cuModuleGetGlobal)
WITH_SHORT_ADDRESSES(cuTexRefGetAddress)
WITH_SHORT_ADDRESSES(cuTexRefSetAddress)
WITH_SHORT_ADDRESSES(cuTexRefSetAddress2D)
