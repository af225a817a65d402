/* Parameters of nodes, read from what Python gives. */
#include "ext/graph/graph.h"

#include "ext/base/errors.h"
#include "ext/convert/convert.h"
#include "ext/memory/device_pointer.h"

int graph_read_fill(ModuleState *state, PyObject *const *given, CUDA_MEMSET_NODE_PARAMS *fill)
{
    unsigned long long data = 0;
    *fill = (CUDA_MEMSET_NODE_PARAMS){.elementSize = 4, .height = 1};
    if (convert_size(given[2], "size", &fill->width) < 0
        || convert_unsigned(given[3], "itemsize", &fill->elementSize) < 0)
        return -1;
    if (fill->elementSize != 1 && fill->elementSize != 2 && fill->elementSize != 4) {
        PyErr_Format(PyExc_ValueError, "itemsize must be 1, 2 or 4, not %u", fill->elementSize);
        return -1;
    }
    if (convert_bits(given[1], "data", 8 * (int)fill->elementSize, &data) < 0
        || convert_range(state, given[0], "dest", fill->width * fill->elementSize, &fill->dst) < 0)
        return -1;
    fill->value = (unsigned)data;
    return 0;
}

/* ---- Copies ---- */

static bool is_host_memory(ModuleState *state, PyObject *value)
{
    return PyObject_CheckBuffer(value) && !PyObject_TypeCheck(value, state->DeviceAllocation_type);
}

/* Reads one end of a copy that is host memory: end->host is lent, and is_host set. A device address is left
 * to fill_shape(). -1 with an exception. */
static int read_end(ModuleState *state, PyObject *value, const char *what, bool writable, GraphCopyEnd *end)
{
    if (!is_host_memory(state, value)) return 0;
    int failed = writable ? buffers_write(value, what, &end->host) : buffers_read(value, what, &end->host);
    end->is_host = failed == 0;
    return failed;
}

/* *size: the argument `size`, or without one that of the host memory, which must have so many bytes. -1 with
 * an exception. */
static int read_size(PyObject *given, const GraphCopyEnd *dest, const GraphCopyEnd *src, size_t *size)
{
    bool known = given && given != Py_None;
    if (!known && !dest->is_host && !src->is_host) {
        PyErr_SetString(PyExc_TypeError, "size is needed for copies between device addresses");
        return -1;
    }
    *size = dest->is_host ? dest->host.size : src->host.size;
    if (known && convert_size(given, "size", size) < 0) return -1;
    if ((!dest->is_host || *size <= dest->host.size) && (!src->is_host || *size <= src->host.size)) return 0;
    PyErr_Format(PyExc_ValueError, "%s has fewer than %zu bytes",
                 dest->is_host && *size > dest->host.size ? "dest" : "src", *size);
    return -1;
}

static int fill_shape(ModuleState *state, PyObject *const *given, GraphCopyEnd *dest, GraphCopyEnd *src,
                      CUDA_MEMCPY3D *shape)
{
    size_t size;
    if (read_size(given[2], dest, src, &size) < 0) return -1;
    if (!dest->is_host && convert_range(state, given[0], "dest", size, &dest->device) < 0) return -1;
    if (!src->is_host && convert_range(state, given[1], "src", size, &src->device) < 0) return -1;
    *shape = (CUDA_MEMCPY3D){.WidthInBytes = size, .Height = 1, .Depth = 1};
    shape->dstMemoryType = dest->is_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    shape->dstHost = dest->host.pointer;
    shape->dstDevice = dest->device;
    shape->srcMemoryType = src->is_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    shape->srcHost = src->host.pointer;
    shape->srcDevice = src->device;
    return 0;
}

void graph_copy_clear(GraphCopy *copy)
{
    if (copy->dest.is_host) buffers_release(&copy->dest.host);
    if (copy->src.is_host) buffers_release(&copy->src.host);
}

int graph_read_copy(ModuleState *state, PyObject *const *given, GraphCopy *out)
{
    *out = (GraphCopy){.objects = {given[0], given[1]}};
    if (read_end(state, given[0], "dest", true, &out->dest) == 0
        && read_end(state, given[1], "src", false, &out->src) == 0
        && fill_shape(state, given, &out->dest, &out->src, &out->shape) == 0) {
        if (out->dest.is_host) out->objects[0] = out->dest.host.owner;
        if (out->src.is_host) out->objects[1] = out->src.host.owner;
        return 0;
    }
    graph_copy_clear(out);
    return -1;
}
