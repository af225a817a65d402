/* Attributes of streams. They are stored and returned; only the priority has an effect here. */
#include <stdlib.h>
#include <string.h>

#include "api/stream/stream.h"

/* CUlaunchAttributeID. FENCE_DOMAINS is the map of memory synchronization domains, FENCE_DOMAIN the logical
 * one. */
enum {
    ACCESS_WINDOW = 1,
    WAIT_POLICY = 3,
    PRIORITY = 8,
    FENCE_DOMAINS = 9,
    FENCE_DOMAIN = 10,
    ATTRIBUTES = 11 /* above all IDs */
};
enum { POLICY_UNSET = -1, POLICY_AUTO = 1, POLICY_LAST = 4 }; /* CUsynchronizationPolicy */
enum { DOMAINS = 2 }; /* logical domains */

/* The bytes of CUlaunchAttributeValue that each attribute has; 0: streams have no such attribute. */
static const unsigned char sizes[ATTRIBUTES] =
    {[ACCESS_WINDOW] = 32, [WAIT_POLICY] = 4, [PRIORITY] = 4, [FENCE_DOMAINS] = 2, [FENCE_DOMAIN] = 4};

/* What was set of a stream. */
struct StreamAttributes {
    unsigned set; /* bit id: values[id] was set */
    CUlaunchAttributeValue values[ATTRIBUTES];
};

static pthread_mutex_t lock =
    PTHREAD_MUTEX_INITIALIZER; /* for the attributes and priorities of all streams */

static bool is_stream_attribute(unsigned id) { return id < ATTRIBUTES && sizes[id]; }

/* The value that was set, or else that of new streams: no policy, and the domain map 0, 1. An integer value
 * is in the union's member `cooperative`, a byte in `pad`. */
static CUlaunchAttributeValue value_locked(const Stream *stream, unsigned id)
{
    CUlaunchAttributeValue value = {0};
    if (id == WAIT_POLICY) value.cooperative = POLICY_UNSET;
    if (id == FENCE_DOMAINS) value.pad[1] = 1;
    if (stream->attributes && stream->attributes->set >> id & 1) value = stream->attributes->values[id];
    if (id == PRIORITY) value.priority = stream->priority;
    return value;
}

static bool is_valid(unsigned id, const CUlaunchAttributeValue *value)
{
    switch (id) {
    case WAIT_POLICY: return value->cooperative >= POLICY_AUTO && value->cooperative <= POLICY_LAST;
    case FENCE_DOMAIN: return value->cooperative >= 0 && value->cooperative < DOMAINS;
    default: return true;
    }
}

static CUresult set_locked(Stream *stream, unsigned id, CUlaunchAttributeValue value)
{
    if (id == PRIORITY) value.priority = queue_priority(value.priority);
    if (!stream->attributes) stream->attributes = calloc(1, sizeof *stream->attributes);
    if (!stream->attributes) return CUDA_ERROR_OUT_OF_MEMORY;
    stream->attributes->set |= 1u << id;
    stream->attributes->values[id] = value;
    if (id == PRIORITY) stream->priority = value.priority;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetAttribute(CUstream handle, unsigned int id, CUlaunchAttributeValue *out)
{
    Stream *stream;
    TRY(driver_check());
    if (!out || !is_stream_attribute(id)) return CUDA_ERROR_INVALID_VALUE;
    TRY(stream_enter_itself(handle, &stream));
    pthread_mutex_lock(&lock);
    CUlaunchAttributeValue value = value_locked(stream, id);
    memcpy(out, &value, sizes[id]);
    pthread_mutex_unlock(&lock);
    PUT(stream);
    return CUDA_SUCCESS;
}

CUresult cuStreamSetAttribute(CUstream handle, unsigned int id, const CUlaunchAttributeValue *value)
{
    Stream *stream;
    TRY(driver_check());
    CUlaunchAttributeValue own = {0};
    if (!value || !is_stream_attribute(id) || !is_valid(id, value)) return CUDA_ERROR_INVALID_VALUE;
    memcpy(&own, value, sizes[id]);
    TRY(stream_enter_itself(handle, &stream));
    pthread_mutex_lock(&lock);
    CUresult result = set_locked(stream, id, own);
    pthread_mutex_unlock(&lock);
    PUT(stream);
    return result;
}

static CUresult copy_attributes(Stream *to, const Stream *from)
{
    CUresult result = CUDA_SUCCESS;
    if (to->object.context != from->object.context) return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    for (unsigned id = 0; id < ATTRIBUTES && !result; id++)
        if (is_stream_attribute(id)) result = set_locked(to, id, value_locked(from, id));
    pthread_mutex_unlock(&lock);
    return result;
}

CUresult cuStreamCopyAttributes(CUstream to_handle, CUstream from_handle)
{
    Stream *to, *from;
    TRY(stream_enter_itself(to_handle, &to));
    CUresult result = stream_enter_itself(from_handle, &from);
    if (!result) {
        result = copy_attributes(to, from);
        PUT(from);
    }
    PUT(to);
    return result;
}
