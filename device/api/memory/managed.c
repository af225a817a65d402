/* Managed memory: advice, prefetches and discards.
 *
 * Host and devices share the memory, so no pages are moved. The advice for each part of a range is kept,
 * because programs query it. A discard makes memory unwritten, for PYCUDA_CPU_CHECK=initcheck.
 */
#include <stdlib.h>
#include <string.h>

#include "api/memory/memory.h"
#include "api/stream/stream.h"
#include "exec/code/code.h"

#define PAGE_BYTES UINT64_C(4096)

/* Bytes [start, end) with the same advice. A location of type NONE is not set. */
typedef struct AdvicePart {
    uint64_t start, end;
    bool read_mostly, host_accesses;
    uint64_t accessed_by;  /* bit d: device d */
    CUmemLocation preferred, prefetched;
} AdvicePart;

/* A range that advice was given for: its parts, in order and without gaps. */
typedef struct RangeRecord {
    struct RangeRecord *next;
    uint64_t base, id;     /* of the MemoryRange */
    size_t count;          /* of parts */
    AdvicePart *parts;
} RangeRecord;

typedef struct AddressSpan {
    uint64_t start, end;
} AddressSpan;

static pthread_mutex_t records_lock = PTHREAD_MUTEX_INITIALIZER;
static RangeRecord *records;
static const CUmemLocation nowhere = {CU_MEM_LOCATION_TYPE_NONE, CU_DEVICE_INVALID};

/* ---- Parts ---- */

/* Whether the record's range was freed. */
static bool is_gone(const RangeRecord *record)
{
    MemoryRange range;
    return !memory_map_find_for_call(driver_memory(), record->base, 1, &range) || range.id != record->id;
}

static void sweep_locked(void)
{
    for (RangeRecord **link = &records; *link;) {
        RangeRecord *record = *link;
        if (!is_gone(record)) {
            link = &record->next;
            continue;
        }
        *link = record->next;
        free(record->parts);
        free(record);
    }
}

void managed_sweep(void)
{
    pthread_mutex_lock(&records_lock);
    sweep_locked();
    pthread_mutex_unlock(&records_lock);
}

static RangeRecord *find_locked(const MemoryRange *range)
{
    RangeRecord *record = records;
    while (record && record->id != range->id) record = record->next;
    return record;
}

/* The record of the range, made if there is none; NULL if out of memory. */
static RangeRecord *record_of_locked(const MemoryRange *range)
{
    RangeRecord *record = find_locked(range);
    if (record) return record;
    sweep_locked();
    record = calloc(1, sizeof *record);
    AdvicePart *parts = calloc(1, sizeof *parts);
    if (!record || !parts) {
        free(record);
        free(parts);
        return NULL;
    }
    *parts = (AdvicePart){.start = range->base, .end = range->base + range->size};
    parts->preferred = parts->prefetched = nowhere;
    *record =
        (RangeRecord){.next = records, .base = range->base, .id = range->id, .count = 1, .parts = parts};
    records = record;
    return record;
}

/* Divides the record so that one of its parts starts at `place`. False if out of memory. */
static bool split_locked(RangeRecord *record, uint64_t place)
{
    size_t at = 0;
    while (at < record->count && record->parts[at].end <= place) at++;
    if (at == record->count || record->parts[at].start == place) return true;
    AdvicePart *parts = realloc(record->parts, (record->count + 1) * sizeof *parts);
    if (!parts) return false;
    record->parts = parts;
    memmove(parts + at + 1, parts + at, (record->count - at) * sizeof *parts);
    parts[at].end = parts[at + 1].start = place;
    record->count++;
    return true;
}

static bool overlaps(const AdvicePart *part, AddressSpan span)
{
    return part->start < span.end && part->end > span.start;
}

/* Calls `change` with `what` for every part in the span, which is extended to whole pages, as on a GPU. */
static CUresult advise_range(const MemoryRange *range, uint64_t address, uint64_t size,
                             void (*change)(AdvicePart *part, const void *what), const void *what)
{
    uint64_t end = (address + size + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1), last = range->base + range->size;
    AddressSpan span = {address & ~(PAGE_BYTES - 1), end < last ? end : last};
    if (span.start < range->base) span.start = range->base;
    pthread_mutex_lock(&records_lock);
    RangeRecord *record = record_of_locked(range);
    bool ok = record && split_locked(record, span.start) && split_locked(record, span.end);
    for (size_t i = 0; ok && i < record->count; i++)
        if (overlaps(&record->parts[i], span)) change(&record->parts[i], what);
    pthread_mutex_unlock(&records_lock);
    return ok ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* ---- Advice and prefetches ---- */

static bool find_managed(CUdeviceptr address, size_t count, MemoryRange *range)
{
    return count && memory_map_find_for_call(driver_memory(), address, count, range)
           && memory_is_managed(range->kind);
}

static CUresult check_managed(CUdeviceptr address, size_t count, MemoryRange *range)
{
    Context *context;
    TRY(context_enter(&context));
    return find_managed(address, count, range) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult check_location(const CUmemLocation *location)
{
    switch (location->type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
        return driver_device(location->id) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT: return CUDA_SUCCESS;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA: return location->id ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

static CUmemLocation location_of(CUdevice device)
{
    bool host = device == CU_DEVICE_CPU;
    return (CUmemLocation){host ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE, host ? 0 : device};
}

typedef struct Advice {
    CUmem_advise what;
    CUmemLocation location;
} Advice;

static void apply_advice(AdvicePart *part, const void *closure)
{
    const Advice *advice = closure;
    bool host = advice->location.type != CU_MEM_LOCATION_TYPE_DEVICE;
    bool sets = advice->what == CU_MEM_ADVISE_SET_ACCESSED_BY;
    uint64_t bit = host ? 0 : UINT64_C(1) << advice->location.id;
    switch (advice->what) {
    case CU_MEM_ADVISE_SET_READ_MOSTLY:
    case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
        part->read_mostly = advice->what == CU_MEM_ADVISE_SET_READ_MOSTLY;
        break;
    case CU_MEM_ADVISE_SET_PREFERRED_LOCATION: part->preferred = advice->location; break;
    case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION: part->preferred = nowhere; break;
    default:
        if (host) part->host_accesses = sets;
        part->accessed_by = sets ? part->accessed_by | bit : part->accessed_by & ~bit;
    }
}

static void prefetch(AdvicePart *part, const void *location)
{
    part->prefetched = *(const CUmemLocation *)location;
}

CUresult cuMemAdvise_v2(CUdeviceptr address, size_t count, CUmem_advise advice, CUmemLocation location)
{
    MemoryRange range;
    TRY(check_managed(address, count, &range));
    if (advice < CU_MEM_ADVISE_SET_READ_MOSTLY || advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY)
        return CUDA_ERROR_INVALID_VALUE;
    bool has_location =
        advice > CU_MEM_ADVISE_UNSET_READ_MOSTLY && advice != CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION;
    if (has_location) TRY(check_location(&location));
    return advise_range(&range, address, count, apply_advice, &(Advice){advice, location});
}

CUresult cuMemAdvise(CUdeviceptr address, size_t count, CUmem_advise advice, CUdevice device)
{
    return cuMemAdvise_v2(address, count, advice, location_of(device));
}

/* ---- Batches in the order of a stream ---- */

/* Ranges to prefetch, to discard, or both. */
typedef struct RangeBatch {
    const CUdeviceptr *addresses;
    const size_t *sizes;
    const size_t *first; /* of each location: the number of the first range that it is for */
    size_t count, location_count; /* of ranges; of locations */
    const CUmemLocation *locations; /* NULL: no prefetch */
    bool discard;
} RangeBatch;

/* The batch as a task. It has an effect with initcheck only: discarded memory is unwritten, prefetched memory
 * counts as written. */
typedef struct RangeBatchTask {
    Task task;
    bool discard, prefetch;
    size_t count;
    AddressSpan spans[];
} RangeBatchTask;

static void run_batch(Task *self, Stream *stream)
{
    const RangeBatchTask *task = (const RangeBatchTask *)self;
    (void)stream;
    for (size_t i = 0; i < task->count; i++) {
        uint64_t start = task->spans[i].start, size = task->spans[i].end - start;
        if (task->discard) memory_map_discarded(driver_memory(), start, size);
        if (task->prefetch && !task->discard) memory_map_written(driver_memory(), start, size);
    }
}

static void free_batch(Task *self) { free(self); }

static CUresult submit_batch(Stream *stream, const RangeBatch *batch)
{
    if (!(driver_settings()->checks & CHECK_INIT)) return CUDA_SUCCESS;
    RangeBatchTask *task = calloc(1, sizeof *task + batch->count * sizeof *task->spans);
    if (!task) return CUDA_ERROR_OUT_OF_MEMORY;
    task->task = (Task){.run = run_batch, .release = free_batch};
    task->discard = batch->discard;
    task->prefetch = batch->locations != NULL;
    task->count = batch->count;
    for (size_t i = 0; i < batch->count; i++)
        task->spans[i] = (AddressSpan){batch->addresses[i], batch->addresses[i] + batch->sizes[i]};
    queue_submit(stream, &task->task, NULL);
    return CUDA_SUCCESS;
}

/* Checks the locations, and that their first ranges are in ascending order from 0. */
static CUresult check_locations(const RangeBatch *batch)
{
    if (!batch->locations) return CUDA_SUCCESS;
    if (!batch->first || !batch->location_count || batch->location_count > batch->count || batch->first[0])
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t k = 0; k < batch->location_count; k++) {
        bool ordered = batch->first[k] < batch->count && (!k || batch->first[k] > batch->first[k - 1]);
        if (!ordered) return CUDA_ERROR_INVALID_VALUE;
        TRY(check_location(&batch->locations[k]));
    }
    return CUDA_SUCCESS;
}

static CUresult prefetch_or_discard(Stream *stream, const RangeBatch *batch)
{
    MemoryRange range;
    if (!batch->count || !batch->addresses || !batch->sizes) return CUDA_ERROR_INVALID_VALUE;
    TRY(check_locations(batch));
    for (size_t i = 0; i < batch->count; i++)
        if (!find_managed(batch->addresses[i], batch->sizes[i], &range)) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0, k = 0; i < batch->count && batch->locations; i++) {
        if (k + 1 < batch->location_count && batch->first[k + 1] == i) k++;
        if (find_managed(batch->addresses[i], batch->sizes[i], &range))
            TRY(advise_range(&range, batch->addresses[i], batch->sizes[i], prefetch, &batch->locations[k]));
    }
    return submit_batch(stream, batch);
}

/* allow_legacy: the legacy stream is valid, as for the call for one range; in batches it is an error. */
static CUresult perform_in(CUstream handle, unsigned long long flags, bool allow_legacy,
                           const RangeBatch *batch)
{
    Stream *stream;
    TRY(stream_enter(handle, &stream));
    bool valid = !flags && (allow_legacy || !stream->legacy);
    CUresult result = valid ? prefetch_or_discard(stream, batch) : CUDA_ERROR_INVALID_VALUE;
    PUT(stream);
    return result;
}

CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, size_t count, CUmemLocation location, unsigned int flags,
                               CUstream stream)
{
    size_t first = 0;
    RangeBatch batch = {.addresses = &address,
                        .sizes = &count,
                        .first = &first,
                        .count = 1,
                        .location_count = 1,
                        .locations = &location};
    return perform_in(stream, flags, true, &batch);
}

CUresult cuMemPrefetchAsync(CUdeviceptr address, size_t count, CUdevice device, CUstream stream)
{
    return cuMemPrefetchAsync_v2(address, count, location_of(device), 0, stream);
}

CUresult cuMemPrefetchBatchAsync(CUdeviceptr *addresses, size_t *sizes, size_t count,
                                 CUmemLocation *locations, size_t *first, size_t location_count,
                                 unsigned long long flags, CUstream stream)
{
    TRY(driver_check());
    if (!locations) return CUDA_ERROR_INVALID_VALUE;
    RangeBatch batch = {.addresses = addresses,
                        .sizes = sizes,
                        .first = first,
                        .count = count,
                        .location_count = location_count,
                        .locations = locations};
    return perform_in(stream, flags, false, &batch);
}

CUresult cuMemDiscardBatchAsync(CUdeviceptr *addresses, size_t *sizes, size_t count, unsigned long long flags,
                                CUstream stream)
{
    RangeBatch batch = {.addresses = addresses, .sizes = sizes, .count = count, .discard = true};
    return perform_in(stream, flags, false, &batch);
}

/* Memory that is prefetched after a discard may be accessed again, but its contents are undefined. */
CUresult cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr *addresses, size_t *sizes, size_t count,
                                           CUmemLocation *locations, size_t *first, size_t location_count,
                                           unsigned long long flags, CUstream stream)
{
    TRY(driver_check());
    if (!locations) return CUDA_ERROR_INVALID_VALUE;
    RangeBatch batch = {.addresses = addresses,
                        .sizes = sizes,
                        .first = first,
                        .count = count,
                        .location_count = location_count,
                        .locations = locations,
                        .discard = true};
    return perform_in(stream, flags, false, &batch);
}

/* ---- Queries ---- */

static bool is_same(CUmemLocation a, CUmemLocation b) { return a.type == b.type && a.id == b.id; }

/* The advice that all parts in the span have in common. */
static AdvicePart sum_up(const MemoryRange *range, AddressSpan span)
{
    AdvicePart sum = {.preferred = nowhere, .prefetched = nowhere};
    pthread_mutex_lock(&records_lock);
    const RangeRecord *record = find_locked(range);
    bool first = true;
    for (size_t i = 0; record && i < record->count; i++) {
        const AdvicePart *part = &record->parts[i];
        if (!overlaps(part, span)) continue;
        if (first) sum = *part;
        first = false;
        sum.read_mostly &= part->read_mostly;
        sum.host_accesses &= part->host_accesses;
        sum.accessed_by &= part->accessed_by;
        if (!is_same(sum.preferred, part->preferred)) sum.preferred = nowhere;
        if (!is_same(sum.prefetched, part->prefetched)) sum.prefetched = nowhere;
    }
    pthread_mutex_unlock(&records_lock);
    return sum;
}

/* The location as an ordinal, CU_DEVICE_CPU or, if it is not set, CU_DEVICE_INVALID. */
static int device_of(CUmemLocation location)
{
    bool host = location.type != CU_MEM_LOCATION_TYPE_DEVICE && location.type != CU_MEM_LOCATION_TYPE_NONE;
    return host ? CU_DEVICE_CPU : location.id;
}

/* Writes `capacity` ordinals: those that the memory is accessed by, then CU_DEVICE_INVALID. */
static void list_devices(const AdvicePart *sum, int32_t *out, size_t capacity)
{
    size_t count = 0;
    for (int d = 0; d < DRIVER_MAX_DEVICES && count < capacity; d++)
        if (sum->accessed_by >> d & 1) out[count++] = d;
    if (sum->host_accesses && count < capacity) out[count++] = CU_DEVICE_CPU;
    while (count < capacity) out[count++] = CU_DEVICE_INVALID;
}

static CUresult answer_attribute(const AdvicePart *sum, CUmem_range_attribute attribute, void *data,
                                 size_t size)
{
    int32_t value;
    if (!data) return CUDA_ERROR_INVALID_VALUE;
    switch (attribute) {
    case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY:
        if (!size || size % sizeof value) return CUDA_ERROR_INVALID_VALUE;
        list_devices(sum, data, size / sizeof value);
        return CUDA_SUCCESS;
    case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY: value = sum->read_mostly; break;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION: value = device_of(sum->preferred); break;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION: value = device_of(sum->prefetched); break;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE: value = (int32_t)sum->preferred.type; break;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID: value = sum->preferred.id; break;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE: value = (int32_t)sum->prefetched.type; break;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID: value = sum->prefetched.id; break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    if (size != sizeof value) return CUDA_ERROR_INVALID_VALUE;
    memcpy(data, &value, sizeof value);
    return CUDA_SUCCESS;
}

CUresult cuMemRangeGetAttributes(void **data, size_t *sizes, CUmem_range_attribute *attributes, size_t count,
                                 CUdeviceptr address, size_t length)
{
    MemoryRange range;
    TRY(driver_check());
    if (!data || !sizes || !attributes || !count || !find_managed(address, length, &range))
        return CUDA_ERROR_INVALID_VALUE;
    AdvicePart sum = sum_up(&range, (AddressSpan){address, address + length});
    for (size_t i = 0; i < count; i++) TRY(answer_attribute(&sum, attributes[i], data[i], sizes[i]));
    return CUDA_SUCCESS;
}

CUresult cuMemRangeGetAttribute(void *data, size_t size, CUmem_range_attribute attribute, CUdeviceptr address,
                                size_t length)
{
    return cuMemRangeGetAttributes(&data, &size, &attribute, 1, address, length);
}
