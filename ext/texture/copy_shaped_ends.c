/* The two ends of a shaped copy: what the setters accept, and whether the copy stays within it. */
#include "ext/texture/copy_shaped.h"

#include "ext/base/errors.h"
#include "ext/base/numpy_api.h"
#include "ext/convert/buffers.h"
#include "ext/convert/convert.h"
#include "ext/memory/device_memory.h"
#include "ext/memory/device_pointer.h"

static const char *const side_names[] = {"src", "dst"};

/* ---- Host memory with strides ---- */

/* The bytes from the first element to the end of the one with the highest address. item: bytes of an element.
 */
static size_t span_after(int rank, const Py_ssize_t *shape, const Py_ssize_t *strides, size_t item)
{
    size_t span = item;
    for (int axis = 0; axis < rank; axis++) {
        if (shape[axis] == 0) return 0;
        if (strides[axis] > 0) span += (size_t)(shape[axis] - 1) * (size_t)strides[axis];
    }
    return span;
}

static size_t span_of_array(PyArrayObject *array)
{
    return span_after(PyArray_NDIM(array), PyArray_DIMS(array), PyArray_STRIDES(array),
                      (size_t)PyArray_ITEMSIZE(array));
}

/* The bytes of memory from the array's first element on: to the end of its base, as a view may be given as
 * the corner from which a part of its base is copied. */
static size_t bytes_after(PyArrayObject *array)
{
    const char *start = PyArray_DATA(array), *end = start + span_of_array(array);
    PyObject *base = PyArray_BASE(array);
    for (; base && PyArray_Check(base); base = PyArray_BASE((PyArrayObject *)base)) {
        const char *whole = PyArray_DATA((PyArrayObject *)base);
        if (whole <= start && end < whole + span_of_array((PyArrayObject *)base))
            end = whole + span_of_array((PyArrayObject *)base);
    }
    return (size_t)(end - start);
}

/* *out: the memory of any buffer, strided or not, from its first element on. -1 with an exception. */
static int get_strided(PyObject *object, const char *what, bool writable, HostBuffer *out)
{
    if (PyArray_Check(object)) {
        PyArrayObject *array = (PyArrayObject *)object;
        *out = (HostBuffer){PyArray_DATA(array), bytes_after(array), NULL};
        if (buffers_check_array(array, what, writable) < 0) return -1;
        out->owner = Py_NewRef(object);
        return 0;
    }
    PyObject *view = buffers_view(object, what);
    if (!view) return -1;
    const Py_buffer *buffer = PyMemoryView_GET_BUFFER(view);
    if ((writable && buffer->readonly) || buffer->suboffsets) {
        PyErr_Format(PyExc_BufferError, "%s: the buffer is %s", what,
                     buffer->suboffsets ? "not contiguous" : "read-only");
        Py_DECREF(view);
        return -1;
    }
    size_t size = buffer->strides
                      ? span_after(buffer->ndim, buffer->shape, buffer->strides, (size_t)buffer->itemsize)
                      : (size_t)buffer->len;
    *out = (HostBuffer){buffer->buf, size, view};
    return 0;
}

/* ---- Setting ---- */

static void set_type(ShapedCopyObject *self, ShapedSide side, CUmemorytype type)
{
    if (side == SHAPED_DST)
        self->copy.dstMemoryType = type;
    else
        self->copy.srcMemoryType = type;
}

static void set_device(ShapedCopyObject *self, ShapedSide side, CUdeviceptr address)
{
    if (side == SHAPED_DST)
        self->copy.dstDevice = address;
    else
        self->copy.srcDevice = address;
}

/* Sets the object and size of an end. Takes the caller's reference to the object. */
static void set_end(ShapedCopyObject *self, ShapedSide side, PyObject *object, size_t size)
{
    ShapedEnd *end = &self->ends[side];
    PyObject *before = end->object;
    end->object = object;
    end->size = size;
    Py_XDECREF(before);
}

int shaped_set_host(ShapedCopyObject *self, ShapedSide side, PyObject *buffer)
{
    HostBuffer host;
    if (get_strided(buffer, side_names[side], side == SHAPED_DST, &host) < 0) return -1;
    if (side == SHAPED_DST)
        self->copy.dstHost = host.pointer;
    else
        self->copy.srcHost = host.pointer;
    set_type(self, side, CU_MEMORYTYPE_HOST);
    set_end(self, side, host.owner, host.size);
    return 0;
}

int shaped_set_array(ShapedCopyObject *self, ShapedSide side, PyObject *array)
{
    CUarray handle;
    if (cuda_array_handle(self->state, array, side_names[side], &handle) < 0) return -1;
    if (side == SHAPED_DST)
        self->copy.dstArray = handle;
    else
        self->copy.srcArray = handle;
    set_type(self, side, CU_MEMORYTYPE_ARRAY);
    set_end(self, side, Py_NewRef(array), SIZE_MAX);
    return 0;
}

int shaped_set_address(ShapedCopyObject *self, ShapedSide side, PyObject *pointer)
{
    CUdeviceptr address;
    size_t size = SIZE_MAX;
    if (convert_pointer(self->state, pointer, &address) < 0) return -1;
    if (device_allocation_check(self->state, pointer)) size = device_allocation_cast(pointer)->size;
    set_device(self, side, address);
    set_end(self, side, PyLong_Check(pointer) ? NULL : Py_NewRef(pointer), size);
    return 0;
}

int shaped_set_device(ShapedCopyObject *self, ShapedSide side, PyObject *pointer)
{
    if (shaped_set_address(self, side, pointer) < 0) return -1;
    set_type(self, side, CU_MEMORYTYPE_DEVICE);
    return 0;
}

/* Takes a contiguous buffer or a device address. */
int shaped_set_unified(ShapedCopyObject *self, ShapedSide side, PyObject *buffer)
{
    HostBuffer memory;
    if (!PyObject_CheckBuffer(buffer)) {
        if (shaped_set_address(self, side, buffer) < 0) return -1;
        set_type(self, side, CU_MEMORYTYPE_UNIFIED);
        return 0;
    }
    int status = side == SHAPED_DST ? buffers_write(buffer, side_names[side], &memory)
                                    : buffers_read(buffer, side_names[side], &memory);
    if (status < 0) return -1;
    set_device(self, side, (CUdeviceptr)(uintptr_t)memory.pointer);
    set_type(self, side, CU_MEMORYTYPE_UNIFIED);
    set_end(self, side, memory.owner, memory.size);
    return 0;
}

int shaped_set_context(ShapedCopyObject *self, ShapedSide side, PyObject *context)
{
    if (context != Py_None && !PyObject_TypeCheck(context, self->state->Context_type)) {
        PyErr_Format(PyExc_TypeError, "%s_context must be a Context or None, not %s", side_names[side],
                     Py_TYPE(context)->tp_name);
        return -1;
    }
    if (context != Py_None && !context_check(context_cast(context), "Memcpy3DPeer")) return -1;
    Py_XSETREF(self->ends[side].context, context == Py_None ? NULL : Py_NewRef(context));
    return 0;
}

/* ---- Checking ---- */

/* The part of the driver's descriptor that is about one end: the copied part begins x bytes, y rows and z
 * planes after the address; pitch is in bytes, height in rows. */
typedef struct EndShape {
    CUmemorytype type;
    size_t x, y, z, pitch, height;
} EndShape;

static EndShape end_shape(const CUDA_MEMCPY3D_PEER *copy, ShapedSide side)
{
    if (side == SHAPED_DST)
        return (EndShape){copy->dstMemoryType, copy->dstXInBytes, copy->dstY,
                          copy->dstZ,          copy->dstPitch,    copy->dstHeight};
    return (EndShape){copy->srcMemoryType, copy->srcXInBytes, copy->srcY,
                      copy->srcZ,          copy->srcPitch,    copy->srcHeight};
}

/* Adds a * b to *sum. False when the result is too large. */
static bool add_product(size_t *sum, size_t a, size_t b)
{
    size_t product;
    return !__builtin_mul_overflow(a, b, &product) && !__builtin_add_overflow(*sum, product, sum);
}

/* How many bytes the memory of this end must have for the copy: up to the last byte that it touches. SIZE_MAX
 * when that is not a size. */
static size_t end_of_copy(const CUDA_MEMCPY3D_PEER *copy, const EndShape *end)
{
    size_t rows = copy->Height - 1, bytes = copy->WidthInBytes;
    size_t height = end->height ? end->height : copy->Height + end->y;
    size_t pitch = end->pitch ? end->pitch : copy->WidthInBytes + end->x;
    if (!add_product(&rows, 1, end->y) || !add_product(&rows, end->z, height)
        || !add_product(&rows, copy->Depth - 1, height) || !add_product(&bytes, 1, end->x)
        || !add_product(&bytes, rows, pitch))
        return SIZE_MAX;
    return bytes;
}

static int check_size(const CUDA_MEMCPY3D_PEER *copy, const EndShape *end, ShapedSide side, size_t size)
{
    if (!copy->WidthInBytes || !copy->Height || !copy->Depth || size == SIZE_MAX) return 0;
    size_t bytes = end_of_copy(copy, end);
    if (bytes <= size) return 0;
    PyErr_Format(PyExc_ValueError, "%s: the copy reaches up to byte %zu, but the memory has %zu bytes",
                 side_names[side], bytes, size);
    return -1;
}

/* -1 with an exception when the object of an end was freed since it was set, or is no Array but must be. */
static int check_alive(ShapedCopyObject *self, ShapedSide side, CUmemorytype type)
{
    PyObject *object = self->ends[side].object;
    CUarray handle;
    CUdeviceptr address;
    if (type == CU_MEMORYTYPE_ARRAY && (!object || !PyObject_TypeCheck(object, self->state->Array_type))) {
        raise_logic(self->state, "%s_memory_type is ARRAY, but set_%s_array was not called last",
                    side_names[side], side_names[side]);
        return -1;
    }
    if (type == CU_MEMORYTYPE_ARRAY) return cuda_array_handle(self->state, object, side_names[side], &handle);
    if (object && device_allocation_check(self->state, object))
        return device_allocation_address(device_allocation_cast(object), &address);
    return 0;
}

/* -1 with an exception when the end is not set, was freed, or is smaller than the copy. */
static int check_end(ShapedCopyObject *self, ShapedSide side)
{
    const char *name = side_names[side];
    EndShape end = end_shape(&self->copy, side);
    if (end.type == 0) {
        raise_logic(self->state,
                    "the copy has no %s: call set_%s_host, set_%s_device, set_%s_array or set_%s_unified",
                    name, name, name, name, name);
        return -1;
    }
    if (check_alive(self, side, end.type) < 0) return -1;
    return end.type == CU_MEMORYTYPE_ARRAY ? 0 : check_size(&self->copy, &end, side, self->ends[side].size);
}

int shaped_check(ShapedCopyObject *self)
{
    return check_end(self, SHAPED_SRC) < 0 ? -1 : check_end(self, SHAPED_DST);
}

PyObject *shaped_raise(ModuleState *state, const CUDA_MEMCPY3D_PEER *copy, CUresult result,
                       const char *routine)
{
    for (ShapedSide side = SHAPED_SRC; result == CUDA_ERROR_INVALID_VALUE && side <= SHAPED_DST; side++) {
        EndShape end = end_shape(copy, side);
        size_t row = end.x + copy->WidthInBytes;
        if (end.type != CU_MEMORYTYPE_ARRAY && end.pitch && end.pitch < row)
            return raise_driver(state, result, routine,
                                "%s_pitch is %zu bytes, but a row of the copy reaches up to byte %zu",
                                side_names[side], end.pitch, row);
    }
    return raise_driver(state, result, routine, NULL);
}
