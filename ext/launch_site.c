/* See launch_site.h. */
#include "ext/launch_site.h"

#include <stdio.h>
#include <string.h>

#include "core/driver_table.h"

/* More than can be queued and not done; and code objects of which it is known whose they are. */
enum { SITES = 4096, KNOWN = 64 };

typedef struct LaunchSite {
    uint64_t number; /* of the launch; 0: none yet */
    PyCodeObject *code; /* owned */
    int place;
} LaunchSite;

typedef struct LaunchSites {
    LaunchSite ring[SITES]; /* by number */
    struct {
        PyCodeObject *code; /* owned */
        bool ours;
    } known[KNOWN];
} LaunchSites;

void launch_sites_open(ModuleState *state)
{
    if (!state->sites && driver_numbers_launches()) state->sites = PyMem_RawCalloc(1, sizeof(LaunchSites));
}

void launch_sites_close(ModuleState *state)
{
    for (int i = 0; state->sites && i < SITES; i++) Py_CLEAR(state->sites->ring[i].code);
    for (int i = 0; state->sites && i < KNOWN; i++) Py_CLEAR(state->sites->known[i].code);
    PyMem_RawFree(state->sites);
    state->sites = NULL;
}

/* Whether the frame is of a module of this package. */
static bool asks_is_ours(PyFrameObject *frame)
{
    PyObject *globals = PyObject_GetAttrString((PyObject *)frame, "f_globals");
    PyObject *name = globals && PyDict_Check(globals) ? PyDict_GetItemString(globals, "__name__") : NULL;
    const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    bool ours = text && strncmp(text, "pycuda.", 7) == 0;
    Py_XDECREF(globals);
    PyErr_Clear();
    return ours;
}

static bool is_ours(LaunchSites *sites, PyFrameObject *frame, PyCodeObject *code)
{
    size_t slot = ((uintptr_t)code >> 6) % KNOWN;
    if (sites->known[slot].code == code) return sites->known[slot].ours;
    bool ours = asks_is_ours(frame);
    Py_XSETREF(sites->known[slot].code, (PyCodeObject *)Py_NewRef((PyObject *)code));
    sites->known[slot].ours = ours;
    return ours;
}

/* The place is an instruction, or in older versions the line. */
static int place_of(PyFrameObject *frame)
{
#if PY_VERSION_HEX >= 0x030B0000
    return PyFrame_GetLasti(frame);
#else
    return PyFrame_GetLineNumber(frame);
#endif
}

static int line_of(const LaunchSite *site)
{
#if PY_VERSION_HEX >= 0x030B0000
    return PyCode_Addr2Line(site->code, site->place);
#else
    return site->place;
#endif
}

/* The innermost frame that is not of this package, or NULL; and its code. Both new references. */
static PyFrameObject *users_frame(LaunchSites *sites, PyCodeObject **code)
{
    PyFrameObject *frame = (PyFrameObject *)Py_XNewRef((PyObject *)PyEval_GetFrame());
    while (frame && (*code = PyFrame_GetCode(frame)) && is_ours(sites, frame, *code)) {
        PyFrameObject *back = PyFrame_GetBack(frame);
        Py_DECREF((PyObject *)*code);
        Py_DECREF((PyObject *)frame);
        frame = back;
    }
    return frame;
}

void launch_site_keep(ModuleState *state)
{
    uint64_t number = driver_launch_number();
    LaunchSite *site = &state->sites->ring[number % SITES];
    PyCodeObject *code;
    if (!number || site->number == number) return;
    PyFrameObject *frame = users_frame(state->sites, &code);
    if (!frame) return;
    site->number = number;
    site->place = place_of(frame);
    Py_DECREF((PyObject *)frame);
    Py_XSETREF(site->code, code);
}

void launch_site_tell(ModuleState *state, char *out, size_t size)
{
    uint64_t number = state->sites ? driver_failed_launch() : 0;
    const LaunchSite *site = number ? &state->sites->ring[number % SITES] : NULL;
    PyObject *file =
        site && site->number == number ? PyObject_GetAttrString((PyObject *)site->code, "co_filename") : NULL;
    const char *name = file ? PyUnicode_AsUTF8(file) : NULL;
    out[0] = '\0';
    if (name) snprintf(out, size, " (launched by %.600s, line %d)", name, line_of(site));
    PyErr_Clear();
    Py_XDECREF(file);
}
