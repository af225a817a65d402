/* Memory of another process: what mem_get_ipc_handle gives there, IPCMemoryHandle opens here. Events do the
 * same by methods of their own. */
#include "ext/base/driver_calls.h"
#include "ext/base/types.h"
#include "ext/context/owner.h"
#include "ext/convert/buffers.h"
#include "ext/convert/convert.h"
#include "ext/memory/device_memory.h"
#include "ext/memory/device_pointer.h"

PyDoc_STRVAR(mem_get_ipc_handle_doc,
             "mem_get_ipc_handle(devptr)\n--\n\n"
             "Make the handle by which another process opens an allocation with IPCMemoryHandle.\n"
             "\nParameters\n----------\n"
             "devptr : device address\n"
             "\nReturns\n-------\n"
             "bytearray\n"
             "\nNotes\n-----\n"
             "Calls cuIpcGetMemHandle.");

static PyObject *mem_get_ipc_handle(PyObject *module, FAST_PARAMETERS)
{
    ModuleState *state = module_state(module);
    PyObject *given[1];
    CUipcMemHandle handle;
    CUdeviceptr pointer;
    if (convert_arguments(mem_get_ipc_handle_doc, args, arg_count, keywords, GIVEN(given)) < 0
        || convert_pointer(state, given[0], &pointer) < 0)
        return NULL;
    return gpu_cuIpcGetMemHandle(state, &handle, pointer) < 0
               ? NULL
               : PyByteArray_FromStringAndSize((const char *)&handle, sizeof handle);
}

/* Begins as every PointerHolderBase does: with the list of weak references. */
typedef struct IPCMemoryObject {
    OWNER_HEAD
    CUdeviceptr pointer;
} IPCMemoryObject;

static IPCMemoryObject *ipc_cast(PyObject *object) { return (IPCMemoryObject *)object; }

PyDoc_STRVAR(ipc_doc, "IPCMemoryHandle(ipc_handle, flags=1)\n--\n\n"
                      "Device memory of another process, taken wherever a DeviceAllocation is. int() is its\n"
                      "address.\n"
                      "\nParameters\n----------\n"
                      "ipc_handle : bytes or bytearray\n"
                      "    What mem_get_ipc_handle returned there (the keyword may be ``handle``).\n"
                      "flags : ipc_mem_flags\n    1 is LAZY_ENABLE_PEER_ACCESS.\n"
                      "\nNotes\n-----\n"
                      "Calls cuIpcOpenMemHandle.");

static PyObject *ipc_tp_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    ModuleState *state = state_of_type(type);
    PyObject *ipc_handle;
    CUipcMemHandle handle;
    unsigned flags = CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS;
    if (READ_CALL(ipc_doc, INTO(&ipc_handle), INTO(&flags)) < 0
        || buffers_copy_exactly(state, ipc_handle, "ipc_handle", "the IPC handle of memory", &handle,
                                sizeof handle)
               < 0)
        return NULL;
    PyObject *self = owner_new(state, type);
    if (!self) return NULL;
    CUresult result = try_cuIpcOpenMemHandle(state, &ipc_cast(self)->pointer, handle, flags);
    return owner_finish(self, result, "cuIpcOpenMemHandle", &state->live_IPCMemoryHandle);
}

/* The work that was queued on the memory is done when it is unmapped: its owner may then use it for others.
 */
static void close_handle(PyObject *self)
{
    IPCMemoryObject *memory = ipc_cast(self);
    const char *routine;
    ContextScope scope;
    LIVE_LESS(memory->state, IPCMemoryHandle);
    if (!context_enter_scope(memory->context, &scope)) return;
    CUresult waited = wait_for_release(memory->state, &routine);
    CUresult closed = once_cuIpcCloseMemHandle(memory->state, memory->pointer);
    context_leave_scope(&scope);
    report_driver(memory->state, waited, routine);
    if (waited == CUDA_SUCCESS) report_driver(memory->state, closed, "cuIpcCloseMemHandle");
}

static void ipc_dealloc(PyObject *self) { owner_dealloc(self, ipc_dealloc, close_handle); }

static PyObject *ipc_get_pointer(PyObject *self, PyObject *Py_UNUSED(none))
{
    IPCMemoryObject *memory = ipc_cast(self);
    if (atomic_load(&memory->freed)) return raise_logic(memory->state, "the IPCMemoryHandle was closed");
    return context_check(memory->context, "IPCMemoryHandle") ? PyLong_FromUnsignedLongLong(memory->pointer)
                                                             : NULL;
}

static PyObject *ipc_close(PyObject *self, PyObject *Py_UNUSED(none))
{
    if (owner_release(self, close_handle)) Py_RETURN_NONE;
    return raise_driver(ipc_cast(self)->state, CUDA_ERROR_INVALID_HANDLE, "ipc_mem_handle::close",
                        "it was already closed");
}

/* Does nothing: tp_new has opened the handle. A subclass may call super().__init__ with its arguments. */
static int ipc_init(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(args), PyObject *Py_UNUSED(kwargs))
{
    return 0;
}

static PyMethodDef ipc_methods[] = {
    {"close", ipc_close, METH_NOARGS,
     "close($self)\n--\n\n"
     "Unmap the memory now.\n"
     "\nRaises\n------\n"
     "LogicError\n    The second time.\n"
     "\nNotes\n-----\n"
     "Calls cuIpcCloseMemHandle."},
    {"get_pointer", ipc_get_pointer, METH_NOARGS,
     "get_pointer($self)\n--\n\n"
     "The device address in this process.\n"
     "\nReturns\n-------\n"
     "int\n"
     "\nRaises\n------\n"
     "LogicError\n    It was closed."},
    {NULL, NULL, 0, NULL},
};

const TypeSpec IPCMemoryHandle_spec = {
    TYPE_WITH_WEAK_REFERENCES("pycuda.driver.IPCMemoryHandle", IPCMemoryObject, 0, ipc_doc),
    .tp_new = ipc_tp_new,
    .tp_init = ipc_init,
    .tp_dealloc = ipc_dealloc,
    TYPE_TABLES(ipc_methods, NULL, NULL),
};

PyMethodDef ipc_functions[] = {
    {"mem_get_ipc_handle", AS_METHOD(mem_get_ipc_handle), FAST_KEYWORDS, mem_get_ipc_handle_doc},
    {NULL, NULL, 0, NULL},
};
