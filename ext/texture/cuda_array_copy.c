/* Copies between an Array and host memory, device memory or another Array, by byte offset into the Array. For
 * what has rows and planes there are Memcpy2D and Memcpy3D. */
#include "ext/texture/cuda_array.h"

#include "ext/base/driver_calls.h"
#include "ext/convert/convert.h"
#include "ext/memory/copy.h"
#include "ext/memory/device_pointer.h"

/* One end of a copy that lies in an Array. */
typedef struct ArrayPlace {
    CUarray handle;
    size_t offset;
} ArrayPlace;

/* *out: the place in an Array that two arguments mean. -1 with an exception that names the parameter. */
static int read_place(ModuleState *state, PyObject *array, const char *cuda_array_name, PyObject *index,
                      const char *index_name, ArrayPlace *out)
{
    return cuda_array_handle(state, array, cuda_array_name, &out->handle) < 0
                   || convert_size(index, index_name, &out->offset) < 0
               ? -1
               : 0;
}

PyDoc_STRVAR(memcpy_dtoa_doc, "memcpy_dtoa(ary, index, src, len)\n--\n\n"
                              "Copy from the device to an Array.\n"
                              "\nParameters\n----------\n"
                              "ary : Array\n"
                              "index : int\n    Byte of the Array to begin at.\n"
                              "src : device address\n"
                              "len : int\n    Bytes.\n"
                              "\nNotes\n-----\n"
                              "Calls cuMemcpyDtoA.");

PyDoc_STRVAR(memcpy_atod_doc, "memcpy_atod(dest, ary, index, len)\n--\n\n"
                              "Copy from an Array to the device.\n"
                              "\nParameters\n----------\n"
                              "dest : device address\n"
                              "ary : Array\n"
                              "index : int\n    Byte of the Array to begin at.\n"
                              "len : int\n    Bytes.\n"
                              "\nNotes\n-----\n"
                              "Calls cuMemcpyAtoD.");

PyDoc_STRVAR(memcpy_htoa_doc, "memcpy_htoa(ary, index, src)\n--\n\n"
                              "Copy from the host to an Array.\n"
                              "\nParameters\n----------\n"
                              "ary : Array\n"
                              "index : int\n    Byte of the Array to begin at.\n"
                              "src : bytes-like\n    Contiguous.\n"
                              "\nNotes\n-----\n"
                              "Calls cuMemcpyHtoA.");

PyDoc_STRVAR(memcpy_atoh_doc, "memcpy_atoh(dest, ary, index)\n--\n\n"
                              "Copy from an Array to the host.\n"
                              "\nParameters\n----------\n"
                              "dest : bytes-like\n    Contiguous and writable: all of it is filled.\n"
                              "ary : Array\n"
                              "index : int\n    Byte of the Array to begin at.\n"
                              "\nNotes\n-----\n"
                              "Calls cuMemcpyAtoH.");

/* Copies between an Array and device memory, whose use is noted in pooled memory. */
static PyObject *copy_device(PyObject *module, bool to_array, FAST_PARAMETERS)
{
    ModuleState *state = module_state(module);
    int array_at = to_array ? 0 : 1, memory_at = to_array ? 2 : 0;
    PyObject *given[4];
    ArrayPlace place;
    CUdeviceptr device;
    CUstream stream;
    Kept kept;
    size_t size = 0;
    CUresult result = CUDA_SUCCESS;
    if (convert_arguments(to_array ? memcpy_dtoa_doc : memcpy_atod_doc, args, arg_count, keywords,
                          GIVEN(given))
            < 0
        || read_place(state, given[array_at], "ary", given[array_at + 1], "index", &place) < 0
        || convert_size(given[3], "len", &size) < 0
        || convert_range(state, given[memory_at], to_array ? "src" : "dest", size, &device) < 0
        || copy_begin(state, false, NULL, &stream, given[memory_at], NULL, &kept) < 0)
        return NULL;
    if (size && to_array)
        result = try_cuMemcpyDtoA(state, place.handle, place.offset, device, size);
    else if (size)
        result = try_cuMemcpyAtoD(state, device, place.handle, place.offset, size);
    return none_or_raise(state, result, to_array ? "cuMemcpyDtoA" : "cuMemcpyAtoD");
}

/* Copies between an Array and a host buffer. */
static PyObject *copy_host(PyObject *module, bool to_array, FAST_PARAMETERS)
{
    ModuleState *state = module_state(module);
    int array_at = to_array ? 0 : 1;
    PyObject *given[3];
    ArrayPlace place;
    HostBuffer host;
    CUresult result = CUDA_SUCCESS;
    if (convert_arguments(to_array ? memcpy_htoa_doc : memcpy_atoh_doc, args, arg_count, keywords,
                          GIVEN(given))
            < 0
        || read_place(state, given[array_at], "ary", given[array_at + 1], "index", &place) < 0
        || (to_array ? buffers_read(given[2], "src", &host) : buffers_write(given[0], "dest", &host)) < 0)
        return NULL;
    if (host.size && to_array)
        result = try_cuMemcpyHtoA(state, place.handle, place.offset, host.pointer, host.size);
    else if (host.size)
        result = try_cuMemcpyAtoH(state, host.pointer, place.handle, place.offset, host.size);
    buffers_release(&host);
    return none_or_raise(state, result, to_array ? "cuMemcpyHtoA" : "cuMemcpyAtoH");
}

#define DIRECTION(name, copy, to_array) \
    static PyObject *name(PyObject *module, FAST_PARAMETERS) \
    { \
        return copy(module, to_array, args, arg_count, keywords); \
    }
DIRECTION(memcpy_dtoa, copy_device, true)
DIRECTION(memcpy_atod, copy_device, false)
DIRECTION(memcpy_htoa, copy_host, true)
DIRECTION(memcpy_atoh, copy_host, false)
#undef DIRECTION

PyDoc_STRVAR(memcpy_atoa_doc, "memcpy_atoa(dest, dest_index, src, src_index, len)\n--\n\n"
                              "Copy from one Array to another.\n"
                              "\nParameters\n----------\n"
                              "dest : Array\n"
                              "dest_index : int\n    Byte of dest to begin at.\n"
                              "src : Array\n"
                              "src_index : int\n    Byte of src to begin at.\n"
                              "len : int\n    Bytes.\n"
                              "\nNotes\n-----\n"
                              "Calls cuMemcpyAtoA.");

static PyObject *memcpy_atoa(PyObject *module, FAST_PARAMETERS)
{
    ModuleState *state = module_state(module);
    PyObject *dest, *dest_index, *src, *src_index;
    ArrayPlace to, from;
    size_t size = 0;
    CUresult result = CUDA_SUCCESS;
    if (READ_ARGUMENTS(memcpy_atoa_doc, INTO(&dest), INTO(&dest_index), INTO(&src), INTO(&src_index),
                       INTO(&size))
            < 0
        || read_place(state, dest, "dest", dest_index, "dest_index", &to) < 0
        || read_place(state, src, "src", src_index, "src_index", &from) < 0)
        return NULL;
    if (size) result = try_cuMemcpyAtoA(state, to.handle, to.offset, from.handle, from.offset, size);
    return none_or_raise(state, result, "cuMemcpyAtoA");
}

#define COPY_ROW(name) {#name, AS_METHOD(name), FAST_KEYWORDS, name##_doc}
PyMethodDef cuda_array_copy_functions[] = {
    COPY_ROW(memcpy_dtoa), COPY_ROW(memcpy_atod), COPY_ROW(memcpy_htoa),
    COPY_ROW(memcpy_atoh), COPY_ROW(memcpy_atoa), {NULL, NULL, 0, NULL},
};
#undef COPY_ROW
