/* Device resources: multiprocessors, split into groups as an H200's driver splits them.
 *
 * A GPU is built of processing clusters of multiprocessors. From compute capability 9.0 on a group has at
 * least eight multiprocessors of one processing cluster, so that a portable cluster of blocks fits into it.
 * The processing clusters have different sizes, not all multiples of eight, so there are fewer such groups
 * than the number of multiprocessors allows: 15 of an H200's 132.
 *
 * A CUdevResource is a value that the program copies. Its padding says where it came from (Origin). */
#include "api/context/resource.h"

#include <stdlib.h>
#include <string.h>

#include "api/base/log.h"

/* The contents of CUdevResource._internal_padding. */
typedef struct Origin {
    uint64_t signature;
    uint64_t split; /* number of the split that made it; 0: of a device or a context, which may be split */
    SmRange range;
} Origin;
#define ORIGIN_SIGNATURE UINT64_C(0x736d2d72616e6765)
_Static_assert(sizeof(Origin) <= sizeof(((CUdevResource *)0)->_internal_padding), "the padding holds it");

enum { GROUP_MULTIPROCESSORS = 8 };

/* A group has at least min_count multiprocessors, and a multiple of unit. */
typedef struct Granularity {
    unsigned min_count, unit;
} Granularity;

static Granularity split_granularity(unsigned flags)
{
    int capability = driver_settings()->capability;
    if (capability < 70) return (Granularity){1, 1};
    if (flags & CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING) return (Granularity){2, 2};
    if (capability < 80) return (Granularity){2, 2};
    if (capability < 90) return (Granularity){4, 2};
    return (Granularity){GROUP_MULTIPROCESSORS, GROUP_MULTIPROCESSORS};
}

/* How many groups of 8 neighbors there are among `count` multiprocessors, where a group lies within one
 * processing cluster. An H200 does not report the sizes of its clusters; these fit its answers. */
static unsigned count_groups_of_8(unsigned count)
{
    static const uint8_t sizes[] = {18, 18, 18, 16, 16, 16, 16, 14};
    unsigned groups_of_8 = 0;
    for (size_t k = 0; count; k = (k + 1) % sizeof sizes) {
        unsigned here = count < sizes[k] ? count : sizes[k];
        groups_of_8 += here / GROUP_MULTIPROCESSORS;
        count -= here;
    }
    return groups_of_8;
}

/* alignment: CUdevSmResource.smCoscheduledAlignment. */
static CUdevResource make_resource(SmRange range, uint64_t split, unsigned alignment)
{
    Origin origin = {ORIGIN_SIGNATURE, split, range};
    CUdevResource resource = {.type = CU_DEV_RESOURCE_TYPE_SM};
    memcpy(resource._internal_padding, &origin, sizeof origin);
    resource.sm = (CUdevSmResource){range.count, split_granularity(0).min_count, alignment};
    return resource;
}

/* The alignment is the unit of groups, also where the range itself is not a multiple of it, as an H200's
 * 132. */
CUdevResource resource_of_range(SmRange range) { return make_resource(range, 0, split_granularity(0).unit); }

SmRange resource_of_device(const Device *device)
{
    unsigned count = (unsigned)driver_multiprocessors();
    return (SmRange){device->ordinal, count, count_groups_of_8(count)};
}

/* False if the resource was not made by make_resource(), or its count was changed. */
static bool read_origin(const CUdevResource *resource, Origin *origin)
{
    memcpy(origin, resource->_internal_padding, sizeof *origin);
    return resource->type == CU_DEV_RESOURCE_TYPE_SM && origin->signature == ORIGIN_SIGNATURE
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

static CUresult log_error_of_split(CUresult error, const char *what)
{
    log_error("multiprocessors: %s", what);
    return error;
}

/* The size of the groups, and how many there can be. */
typedef struct Division {
    unsigned size, max_groups;
} Division;

/* How the range is cut into groups of at least min_count; an error if no group fits. */
static CUresult divide_range(const SmRange *range, unsigned min_count, unsigned flags, Division *out)
{
    enum {
        ALONE = CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING,
        CLUSTERS = CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE
    };
    Granularity g = split_granularity(flags);
    unsigned wanted = min_count > g.min_count ? min_count : g.min_count,
             size = (wanted + g.unit - 1) / g.unit * g.unit;
    if ((flags & (ALONE | CLUSTERS)) == (ALONE | CLUSTERS))
        return log_error_of_split(CUDA_ERROR_INVALID_VALUE, "the two flags exclude each other");
    if (flags & CLUSTERS && driver_settings()->capability < 90)
        return log_error_of_split(CUDA_ERROR_INVALID_VALUE, "clusters need compute capability 9.0");
    if (min_count > range->count)
        return log_error_of_split(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION,
                                  "a group cannot have more multiprocessors than there are");
    if (size > range->count) size = range->count;
    unsigned max_groups = size ? range->count / size : 0;
    if (g.unit == GROUP_MULTIPROCESSORS && range->groups_of_8 < max_groups) max_groups = range->groups_of_8;
    if (!max_groups)
        return log_error_of_split(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION,
                                  "too few are adjacent for a group");
    *out = (Division){size, max_groups};
    return CUDA_SUCCESS;
}

CUresult cuDevSmResourceSplitByCount(CUdevResource *groups, unsigned *count, const CUdevResource *input,
                                     CUdevResource *remaining, unsigned flags, unsigned min_count)
{
    static _Atomic uint64_t last_split;
    Origin origin;
    Division each;
    TRY(driver_check());
    if (!count || !input) return CUDA_ERROR_INVALID_VALUE;
    if (input->type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    if (!read_origin(input, &origin)) return CUDA_ERROR_INVALID_VALUE;
    if (origin.split)
        return log_error_of_split(
            CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION,
            "groups can be split again only once a green context was created from them");
    TRY(divide_range(&origin.range, min_count, flags, &each));
    unsigned made = groups && *count < each.max_groups ? *count : each.max_groups;
    uint64_t split = atomic_fetch_add(&last_split, 1) + 1;
    SmRange group = {origin.range.device, each.size, each.size / GROUP_MULTIPROCESSORS}, left = origin.range;
    if (made && group.groups_of_8 > left.groups_of_8 / made) group.groups_of_8 = left.groups_of_8 / made;
    for (unsigned k = 0; groups && k < made; k++) groups[k] = make_resource(group, split, 0);
    left.count -= made * group.count;
    left.groups_of_8 -= made * group.groups_of_8;
    if (left.groups_of_8 > left.count / GROUP_MULTIPROCESSORS)
        left.groups_of_8 = left.count / GROUP_MULTIPROCESSORS;
    *count = made;
    if (remaining) *remaining = left.count ? make_resource(left, split, 0) : (CUdevResource){0};
    return CUDA_SUCCESS;
}

/* --- descriptors -------------------------------------------------------------------------------------- */

static CUdevResourceDesc descriptors; /* under the driver's lock */

bool resource_is_descriptor(CUdevResourceDesc handle)
{
    driver_lock();
    CUdevResourceDesc found = descriptors;
    while (found && found != handle) found = found->next;
    driver_unlock();
    return found != NULL;
}

/* The descriptor for a range. Descriptors are never freed, so one is made for each range. */
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

/* The manual wants the resources to be of one split. An H200's driver takes those of several, and the same
 * one twice; all are counted. */
static CUresult add_range(const CUdevResource *resource, SmRange *sum)
{
    Origin origin;
    if (resource->type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    if (!read_origin(resource, &origin)) return CUDA_ERROR_INVALID_VALUE;
    if (sum->count && origin.range.device != sum->device)
        return log_error_of_split(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION,
                                  "the resources of a descriptor must be of one device");
    sum->device = origin.range.device;
    sum->count += origin.range.count;
    sum->groups_of_8 += origin.range.groups_of_8;
    return CUDA_SUCCESS;
}

CUresult cuDevResourceGenerateDesc(CUdevResourceDesc *out, CUdevResource *resources, unsigned count)
{
    SmRange sum = {0};
    TRY(driver_check());
    if (!out || !resources || !count) return CUDA_ERROR_INVALID_VALUE;
    for (unsigned k = 0; k < count; k++) TRY(add_range(&resources[k], &sum));
    *out = descriptor_of(sum);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
