/* Device resources: multiprocessors, split into groups by the manual's rules.
 *
 * A CUdevResource is a value that the program copies; what it does not see says where it came from. */
#include "api/resource.h"

#include <stdlib.h>
#include <string.h>

#include "api/log.h"

/* In CUdevResource._internal_padding. */
typedef struct Origin {
    uint64_t mark;
    uint64_t split;         /* the call that made it; 0: a device or a context, which may be split */
    SmRange range;
} Origin;
#define ORIGIN_MARK UINT64_C(0x736d2d72616e6765)
_Static_assert(sizeof(Origin) <= sizeof(((CUdevResource *)0)->_internal_padding), "there is room for it");

/* How many multiprocessors a group has at least, and what their number is a multiple of. */
typedef struct Granularity {
    unsigned least, unit;
} Granularity;

static Granularity granularity(unsigned flags)
{
    int capability = driver_settings()->capability;
    if (capability < 70) return (Granularity){1, 1};
    if (flags & CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING) return (Granularity){2, 2};
    if (flags & CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE) return (Granularity){16, 16};
    if (capability < 80) return (Granularity){2, 2};
    if (capability < 90) return (Granularity){4, 2};
    return (Granularity){8, 8};
}

static CUdevResource make_resource(SmRange range, uint64_t split, unsigned unit)
{
    Origin origin = {ORIGIN_MARK, split, range};
    CUdevResource resource = {.type = CU_DEV_RESOURCE_TYPE_SM};
    memcpy(resource._internal_padding, &origin, sizeof origin);
    resource.sm = (CUdevSmResource){range.count, granularity(0).least, unit};
    return resource;
}

CUdevResource resource_of_range(SmRange range)
{
    unsigned unit = granularity(0).unit;
    while (range.count % unit) unit /= 2;
    return make_resource(range, 0, unit);
}

SmRange resource_of_device(const Device *device)
{
    return (SmRange){device->ordinal, 0, (unsigned)driver_multiprocessors()};
}

static bool read_origin(const CUdevResource *resource, Origin *origin)
{
    memcpy(origin, resource->_internal_padding, sizeof *origin);
    return resource->type == CU_DEV_RESOURCE_TYPE_SM && origin->mark == ORIGIN_MARK
           && origin->range.count == resource->sm.smCount && driver_device(origin->range.device);
}

CUresult cuDeviceGetDevResource(CUdevice ordinal, CUdevResource *out, CUdevResourceType type)
{
    TRY(driver_check());
    const Device *device = driver_device(ordinal);
    if (!device) return CUDA_ERROR_INVALID_DEVICE;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    *out = resource_of_range(resource_of_device(device));
    return CUDA_SUCCESS;
}

static CUresult refuse(CUresult error, const char *what)
{
    log_error("multiprocessors: %s", what);
    return error;
}

/* The size of the groups. */
static CUresult group_size(unsigned least, unsigned count, unsigned flags, Granularity *out)
{
    Granularity g = granularity(flags);
    unsigned wanted = least > g.least ? least : g.least, size = (wanted + g.unit - 1) / g.unit * g.unit;
    enum {
        KNOWN = CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING
                | CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE
    };
    if (flags & ~(unsigned)KNOWN) return CUDA_ERROR_INVALID_VALUE;
    if (flags & CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE && driver_settings()->capability < 90)
        return refuse(CUDA_ERROR_INVALID_VALUE, "clusters come with compute capability 9.0");
    if (least > count) return refuse(CUDA_ERROR_INVALID_VALUE, "a group shall have more than there are");
    if (size > count)
        return refuse(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, "there are too few for one group");
    *out = (Granularity){size, g.unit};
    return CUDA_SUCCESS;
}

CUresult cuDevSmResourceSplitByCount(CUdevResource *groups, unsigned *count, const CUdevResource *input,
                                     CUdevResource *remaining, unsigned flags, unsigned least)
{
    static _Atomic uint64_t last_split;
    Origin origin;
    Granularity each;
    TRY(driver_check());
    if (!count || !input) return CUDA_ERROR_INVALID_VALUE;
    if (input->type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    if (!read_origin(input, &origin)) return CUDA_ERROR_INVALID_VALUE;
    if (origin.split)
        return refuse(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION,
                      "groups are split again only once a green context was made of them");
    TRY(group_size(least, origin.range.count, flags, &each));
    unsigned most = origin.range.count / each.least, made = groups && *count < most ? *count : most;
    uint64_t split = atomic_fetch_add(&last_split, 1) + 1;
    SmRange range = {origin.range.device, origin.range.first, each.least}, left = origin.range;
    for (unsigned k = 0; groups && k < made; k++, range.first += each.least)
        groups[k] = make_resource(range, split, each.unit);
    left.first += made * each.least;
    left.count -= made * each.least;
    *count = made;
    if (remaining) *remaining = left.count ? make_resource(left, split, 1) : (CUdevResource){0};
    return CUDA_SUCCESS;
}

/* --- descriptors -------------------------------------------------------------------------------------- */

static CUdevResourceDesc descriptors;   /* under the driver's lock */

bool resource_is_descriptor(CUdevResourceDesc handle)
{
    driver_lock();
    CUdevResourceDesc found = descriptors;
    while (found && found != handle) found = found->next;
    driver_unlock();
    return found != NULL;
}

/* The one of that range: they are never freed, so each is made once. */
static CUdevResourceDesc descriptor_of(SmRange range)
{
    driver_lock();
    CUdevResourceDesc found = descriptors;
    while (found && memcmp(&found->range, &range, sizeof range) != 0) found = found->next;
    if (!found && (found = calloc(1, sizeof *found)) != NULL) {
        *found = (struct CUdevResourceDesc_st){descriptors, range};
        descriptors = found;
    }
    driver_unlock();
    return found;
}

/* Groups of one split lie beside each other. Their multiprocessors are counted; which of them it is, nothing
 * shows. */
static CUresult add_range(const CUdevResource *resource, const Origin *first, unsigned others, SmRange *sum)
{
    Origin origin;
    if (resource->type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    if (!read_origin(resource, &origin)) return CUDA_ERROR_INVALID_VALUE;
    if (others && (!origin.split || origin.split != first->split))
        return refuse(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION,
                      "the resources of a descriptor come from one split");
    if (origin.range.first < sum->first) sum->first = origin.range.first;
    sum->count += origin.range.count;
    return CUDA_SUCCESS;
}

/* Groups of one split that begin at the same place are the same. */
static bool is_twice(const CUdevResource *resources, unsigned k)
{
    Origin origin, other;
    if (!read_origin(&resources[k], &origin)) return false;
    for (unsigned j = 0; j < k; j++)
        if (read_origin(&resources[j], &other) && other.range.first == origin.range.first) return true;
    return false;
}

CUresult cuDevResourceGenerateDesc(CUdevResourceDesc *out, CUdevResource *resources, unsigned count)
{
    Origin first;
    TRY(driver_check());
    if (!out || !resources || !count) return CUDA_ERROR_INVALID_VALUE;
    if (resources->type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    if (!read_origin(resources, &first)) return CUDA_ERROR_INVALID_VALUE;
    SmRange sum = {first.range.device, first.range.first, 0};
    for (unsigned k = 0; k < count; k++) {
        if (is_twice(resources, k))
            return refuse(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, "a resource is there twice");
        TRY(add_range(&resources[k], &first, count - 1, &sum));
    }
    *out = descriptor_of(sum);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
