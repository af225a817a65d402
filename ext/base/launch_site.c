/* See launch_site.h. */
#include "ext/base/launch_site.h"

#include <stdio.h>
#include <string.h>

#include "core/driver_table.h"

enum {
    SITES = 4096,       /* more than the launches that can be queued and not done */
    KNOWN = 64,         /* entries of the cache of is_ours() */
    CODE_ALIGNMENT = 6, /* bits by which addresses of code objects are shifted to index that cache */
    SITE_TEXT_SIZE = 640
};

/* Consecutive launches from one place: those of a loop are one LaunchSite. */
typedef struct LaunchSite {
    uint64_t first, last; /* numbers of the launches; 0: none yet */
    PyCodeObject *code; /* owned */
    int place; /* place_in_frame() */
} LaunchSite;

typedef struct LaunchSites {
    const CpuLaunchNumbers *numbers;
    bool reported; /* the CPU device reports faults itself, and needs the place of each launch at once */
    LaunchSite *newest; /* in `ring` */
    LaunchSite ring[SITES];
    struct {
        PyCodeObject *code; /* owned */
        bool ours;
    } known[KNOWN];
} LaunchSites;

void launch_sites_open(ModuleState *state)
{
    const CpuLaunchNumbers *numbers = driver_launch_numbers();
    if (state->sites || !numbers || !(state->sites = PyMem_RawCalloc(1, sizeof(LaunchSites)))) return;
    state->sites->numbers = numbers;
    state->sites->reported = numbers->reported();
    state->sites->newest = state->sites->ring;
}

void launch_sites_close(ModuleState *state)
{
    for (int i = 0; state->sites && i < SITES; i++) Py_CLEAR(state->sites->ring[i].code);
    for (int i = 0; state->sites && i < KNOWN; i++) Py_CLEAR(state->sites->known[i].code);
    PyMem_RawFree(state->sites);
    state->sites = NULL;
}

/* Whether the frame is of a module of this package. */
static bool is_frame_of_package(PyFrameObject *frame)
{
    PyObject *globals = PyObject_GetAttrString((PyObject *)frame, "f_globals");
    PyObject *name = globals && PyDict_Check(globals) ? PyMapping_GetItemString(globals, "__name__") : NULL;
    const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    bool ours = text && strncmp(text, "pycuda.", 7) == 0;
    Py_XDECREF(name);
    Py_XDECREF(globals);
    PyErr_Clear();
    return ours;
}

/* is_frame_of_package() of the frame that runs this code, cached by the code object. */
static bool is_ours(LaunchSites *sites, PyFrameObject *frame, PyCodeObject *code)
{
    size_t slot = ((uintptr_t)code >> CODE_ALIGNMENT) % KNOWN;
    if (sites->known[slot].code == code) return sites->known[slot].ours;
    bool ours = is_frame_of_package(frame);
    Py_XSETREF(sites->known[slot].code, (PyCodeObject *)Py_NewRef((PyObject *)code));
    sites->known[slot].ours = ours;
    return ours;
}

/* Where the frame is: the offset of an instruction, or, before Python 3.11, the line. */
static int place_in_frame(PyFrameObject *frame)
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

/* The innermost frame that is not of this package, and its code; both new references. NULL when there is no
 * such frame. */
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

/* Writes file and line of a site. False when the file has no name. */
static bool describe(const LaunchSite *site, char *out, size_t size)
{
    PyObject *file = PyObject_GetAttrString((PyObject *)site->code, "co_filename");
    const char *name = file ? PyUnicode_AsUTF8(file) : NULL;
    if (name) snprintf(out, size, "%.600s, line %d", name, line_of(site));
    PyErr_Clear();
    Py_XDECREF(file);
    return name != NULL;
}

/* Makes a copy of `begun` the newest site, which replaces the oldest one of a full ring. Takes its reference
 * to the code. */
static void begin_site(LaunchSites *sites, const LaunchSite *begun)
{
    LaunchSite *site = sites->newest;
    if (site->code) site = site == sites->ring + SITES - 1 ? sites->ring : site + 1;
    PyCodeObject *previous = site->code;
    *site = *begun;
    sites->newest = site;
    Py_XDECREF((PyObject *)previous);
}

/* Notes a launch from another place than the one before. Not inlined, so that the usual case stays short. */
__attribute__((noinline)) static void keep_other(LaunchSites *sites, uint64_t number)
{
    LaunchSite site = {.first = number, .last = number};
    PyFrameObject *frame = users_frame(sites, &site.code);
    char text[SITE_TEXT_SIZE];
    if (!frame) return;
    site.place = place_in_frame(frame);
    Py_DECREF((PyObject *)frame);
    begin_site(sites, &site);
    if (sites->reported && describe(sites->newest, text, sizeof text))
        sites->numbers->came_from(number, text);
}

/* True if the launch comes from the same place as the one before: then it is counted there. */
static bool is_next(LaunchSites *sites, uint64_t number)
{
    LaunchSite *newest = sites->newest;
    PyFrameObject *frame = PyEval_GetFrame();
    if (newest->last + 1 != number || sites->reported || !frame) return false;
    PyCodeObject *code = PyFrame_GetCode(frame);
    bool next = code == newest->code && place_in_frame(frame) == newest->place;
    if (next) newest->last = number;
    Py_DECREF((PyObject *)code);
    return next;
}

void launch_site_keep(ModuleState *state)
{
    uint64_t number = state->sites->numbers->take();
    if (number && !is_next(state->sites, number)) keep_other(state->sites, number);
}

/* The site of the launch with this number, or NULL. */
static const LaunchSite *find_site(const LaunchSites *sites, uint64_t number)
{
    const LaunchSite *site = sites->newest;
    for (int i = 0; i < SITES; i++, site = site == sites->ring ? site + SITES - 1 : site - 1)
        if (site->first <= number && number <= site->last) return site;
    return NULL;
}

void launch_site_describe(ModuleState *state, char *out, size_t size)
{
    uint64_t number = state->sites ? state->sites->numbers->failed() : 0;
    const LaunchSite *site = number ? find_site(state->sites, number) : NULL;
    char text[SITE_TEXT_SIZE];
    out[0] = '\0';
    if (site && describe(site, text, sizeof text)) snprintf(out, size, " (launched by %s)", text);
}
