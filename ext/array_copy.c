/* Copies between an Array and host memory, device memory or another Array, by byte offset into the Array. For
 * what has rows and planes there are Memcpy2D and Memcpy3D. */
#include "ext/array.h"

#include "ext/buffers.h"
#include "ext/convert.h"
#include "ext/errors.h"

/* One end of a copy that lies in an Array. */
typedef struct ArrayPlace {
    CUarray handle;
    size_t offset;
} ArrayPlace;

static int read_place(ModuleState *state, PyObject *array, const char *array_name, PyObject *index,
                      const char *index_name, ArrayPlace *out)
{
    return cuda_array_handle(state, array, array_name, &out->handle) < 0
                   || convert_size(index, index_name, &out->offset) < 0
               ? -1
               : 0;
}

PyDoc_STRVAR(memcpy_dtoa_doc,
             "memcpy_dtoa(ary, index, src, len)\n--\n\n"
             "Copy `len` bytes from the device to byte `index` of the Array `ary` (cuMemcpyDtoA).");

static PyObject *memcpy_dtoa(PyObject *module, FAST_PARAMETERS)
{
    static const char *const names[] = {"ary", "index", "src", "len", NULL};
    ModuleState *state = module_state(module);
    PyObject *given[4];
    ArrayPlace place;
    CUdeviceptr src;
    size_t size = 0;
    CUresult result = CUDA_SUCCESS;
    if (convert_arguments("memcpy_dtoa", names, 4, args, arg_count, keywords, given) < 0
        || read_place(state, given[0], "ary", given[1], "index", &place) < 0
        || convert_size(given[3], "len", &size) < 0 || convert_range(state, given[2], "src", size, &src) < 0)
        return NULL;
    if (size) CALL_BLOCKING(state, result, driver.cuMemcpyDtoA(place.handle, place.offset, src, size));
    return none_or_raise(state, result, "cuMemcpyDtoA");
}

PyDoc_STRVAR(memcpy_atod_doc,
             "memcpy_atod(dest, ary, index, len)\n--\n\n"
             "Copy `len` bytes from byte `index` of the Array `ary` to the device (cuMemcpyAtoD).");

static PyObject *memcpy_atod(PyObject *module, FAST_PARAMETERS)
{
    static const char *const names[] = {"dest", "ary", "index", "len", NULL};
    ModuleState *state = module_state(module);
    PyObject *given[4];
    ArrayPlace place;
    CUdeviceptr dest;
    size_t size = 0;
    CUresult result = CUDA_SUCCESS;
    if (convert_arguments("memcpy_atod", names, 4, args, arg_count, keywords, given) < 0
        || read_place(state, given[1], "ary", given[2], "index", &place) < 0
        || convert_size(given[3], "len", &size) < 0 || convert_range(state, given[0], "dest", size, &dest) < 0)
        return NULL;
    if (size) CALL_BLOCKING(state, result, driver.cuMemcpyAtoD(dest, place.handle, place.offset, size));
    return none_or_raise(state, result, "cuMemcpyAtoD");
}

PyDoc_STRVAR(memcpy_htoa_doc,
             "memcpy_htoa(ary, index, src)\n--\n\n"
             "Copy the bytes of a contiguous host buffer to byte `index` of the Array `ary` (cuMemcpyHtoA).");

static PyObject *memcpy_htoa(PyObject *module, FAST_PARAMETERS)
{
    static const char *const names[] = {"ary", "index", "src", NULL};
    ModuleState *state = module_state(module);
    PyObject *given[3];
    ArrayPlace place;
    HostBuffer host;
    CUresult result = CUDA_SUCCESS;
    if (convert_arguments("memcpy_htoa", names, 3, args, arg_count, keywords, given) < 0
        || read_place(state, given[0], "ary", given[1], "index", &place) < 0
        || buffers_read(given[2], "src", &host) < 0)
        return NULL;
    if (host.size)
        CALL_BLOCKING(state, result, driver.cuMemcpyHtoA(place.handle, place.offset, host.pointer, host.size));
    buffers_release(&host);
    return none_or_raise(state, result, "cuMemcpyHtoA");
}

PyDoc_STRVAR(memcpy_atoh_doc,
             "memcpy_atoh(dest, ary, index)\n--\n\n"
             "Fill a contiguous, writable host buffer from byte `index` of the Array `ary` (cuMemcpyAtoH).");

static PyObject *memcpy_atoh(PyObject *module, FAST_PARAMETERS)
{
    static const char *const names[] = {"dest", "ary", "index", NULL};
    ModuleState *state = module_state(module);
    PyObject *given[3];
    ArrayPlace place;
    HostBuffer host;
    CUresult result = CUDA_SUCCESS;
    if (convert_arguments("memcpy_atoh", names, 3, args, arg_count, keywords, given) < 0
        || read_place(state, given[1], "ary", given[2], "index", &place) < 0
        || buffers_write(given[0], "dest", &host) < 0)
        return NULL;
    if (host.size)
        CALL_BLOCKING(state, result, driver.cuMemcpyAtoH(host.pointer, place.handle, place.offset, host.size));
    buffers_release(&host);
    return none_or_raise(state, result, "cuMemcpyAtoH");
}

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
        CALL_BLOCKING(state, result, driver.cuMemcpyAtoA(to.handle, to.offset, from.handle, from.offset, size));
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

int array_copy_setup(PyObject *module, ModuleState *Py_UNUSED(state))
{
    return PyModule_AddFunctions(module, functions);
}
