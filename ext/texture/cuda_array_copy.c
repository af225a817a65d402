/* Copies between an Array and host memory, device memory or another Array, by byte offset into the Array. For
 * what has rows and planes there are Memcpy2D and Memcpy3D. */
#include "ext/texture/cuda_array.h"

#include "ext/convert/convert.h"
#include "ext/memory/copy.h"
#include "ext/errors.h"
#include "ext/wait.h"

/* One end of a copy that lies in an Array. */
typedef struct ArrayPlace {
    CUarray handle;
    size_t offset;
} ArrayPlace;

static int read_place(ModuleState *state, PyObject *array, const char *cuda_array_name, PyObject *index,
                      const char *index_name, ArrayPlace *out)
{
    return cuda_array_handle(state, array, cuda_array_name, &out->handle) < 0
                   || convert_size(index, index_name, &out->offset) < 0
               ? -1
               : 0;
}

/* Between an Array and device memory, of which pools are told. */
static PyObject *copy_device(PyObject *module, bool to_array, FAST_PARAMETERS)
{
    static const char *const to_names[] = {"ary", "index", "src", "len", NULL};
    static const char *const from_names[] = {"dest", "ary", "index", "len", NULL};
    ModuleState *state = module_state(module);
    int array = to_array ? 0 : 1, memory = to_array ? 2 : 0;
    PyObject *given[4];
    ArrayPlace place;
    CUdeviceptr device;
    CUstream stream;
    size_t size = 0;
    CUresult result = CUDA_SUCCESS;
    if (convert_arguments(to_array ? "memcpy_dtoa" : "memcpy_atod", to_array ? to_names : from_names, 4, args,
                          arg_count, keywords, given)
            < 0
        || read_place(state, given[array], "ary", given[array + 1], "index", &place) < 0
        || convert_size(given[3], "len", &size) < 0
        || convert_range(state, given[memory], to_array ? "src" : "dest", size, &device) < 0
        || copy_begin(state, false, NULL, &stream, given[memory], NULL) < 0)
        return NULL;
    if (size && to_array)
        CALL_WAITING(state, result, ON_STREAM(NULL),
                     driver.cuMemcpyDtoA(place.handle, place.offset, device, size));
    else if (size)
        CALL_WAITING(state, result, ON_STREAM(NULL),
                     driver.cuMemcpyAtoD(device, place.handle, place.offset, size));
    return none_or_raise(state, result, to_array ? "cuMemcpyDtoA" : "cuMemcpyAtoD");
}

/* Between an Array and a host buffer. */
static PyObject *copy_host(PyObject *module, bool to_array, FAST_PARAMETERS)
{
    static const char *const to_names[] = {"ary", "index", "src", NULL};
    static const char *const from_names[] = {"dest", "ary", "index", NULL};
    ModuleState *state = module_state(module);
    int array = to_array ? 0 : 1;
    PyObject *given[3];
    ArrayPlace place;
    HostBuffer host;
    CUresult result = CUDA_SUCCESS;
    if (convert_arguments(to_array ? "memcpy_htoa" : "memcpy_atoh", to_array ? to_names : from_names, 3, args,
                          arg_count, keywords, given)
            < 0
        || read_place(state, given[array], "ary", given[array + 1], "index", &place) < 0
        || (to_array ? buffers_read(given[2], "src", &host) : buffers_write(given[0], "dest", &host)) < 0)
        return NULL;
    if (host.size && to_array)
        CALL_WAITING(state, result, ON_STREAM(NULL),
                     driver.cuMemcpyHtoA(place.handle, place.offset, host.pointer, host.size));
    else if (host.size)
        CALL_WAITING(state, result, ON_STREAM(NULL),
                     driver.cuMemcpyAtoH(host.pointer, place.handle, place.offset, host.size));
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

PyDoc_STRVAR(memcpy_dtoa_doc,
             "memcpy_dtoa(ary, index, src, len)\n--\n\n"
             "Copy `len` bytes from the device to byte `index` of the Array `ary` (cuMemcpyDtoA).");
PyDoc_STRVAR(memcpy_atod_doc,
             "memcpy_atod(dest, ary, index, len)\n--\n\n"
             "Copy `len` bytes from byte `index` of the Array `ary` to the device (cuMemcpyAtoD).");
PyDoc_STRVAR(memcpy_htoa_doc,
             "memcpy_htoa(ary, index, src)\n--\n\n"
             "Copy the bytes of a contiguous host buffer to byte `index` of the Array `ary` (cuMemcpyHtoA).");
PyDoc_STRVAR(memcpy_atoh_doc,
             "memcpy_atoh(dest, ary, index)\n--\n\n"
             "Fill a contiguous, writable host buffer from byte `index` of the Array `ary` (cuMemcpyAtoH).");

PyDoc_STRVAR(
    memcpy_atoa_doc,
    "memcpy_atoa(dest, dest_index, src, src_index, len)\n--\n\n"
    "Copy `len` bytes from byte `src_index` of one Array to byte `dest_index` of another (cuMemcpyAtoA).");

static PyObject *memcpy_atoa(PyObject *module, FAST_PARAMETERS)
{
    static const char *const names[] = {"dest", "dest_index", "src", "src_index", "len", NULL};
    ModuleState *state = module_state(module);
    PyObject *given[5];
    ArrayPlace to, from;
    size_t size = 0;
    CUresult result = CUDA_SUCCESS;
    if (convert_arguments("memcpy_atoa", names, 5, args, arg_count, keywords, given) < 0
        || read_place(state, given[0], "dest", given[1], "dest_index", &to) < 0
        || read_place(state, given[2], "src", given[3], "src_index", &from) < 0
        || convert_size(given[4], "len", &size) < 0)
        return NULL;
    if (size)
        CALL_WAITING(state, result, ON_STREAM(NULL),
                     driver.cuMemcpyAtoA(to.handle, to.offset, from.handle, from.offset, size));
    return none_or_raise(state, result, "cuMemcpyAtoA");
}

#define COPY_ROW(python_name, name) {python_name, AS_METHOD(name), FAST_KEYWORDS, name##_doc}
static PyMethodDef functions[] = {
    COPY_ROW("memcpy_dtoa", memcpy_dtoa),    COPY_ROW("memcpy_atod", memcpy_atod),
    COPY_ROW("memcpy_htoa", memcpy_htoa),    COPY_ROW("memcpy_atoh", memcpy_atoh),
    COPY_ROW("memcpy_atoa", memcpy_atoa),    COPY_ROW("py_memcpy_htoa", memcpy_htoa),
    COPY_ROW("py_memcpy_atoh", memcpy_atoh), {NULL, NULL, 0, NULL},
};
#undef COPY_ROW

int cuda_array_copy_setup(PyObject *module, ModuleState *Py_UNUSED(state))
{
    return PyModule_AddFunctions(module, functions);
}
