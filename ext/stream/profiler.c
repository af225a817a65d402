/* Profiler control: starts and stops the recording of an attached profiler. */
#include "ext/convert/driver_method.h"

PyDoc_STRVAR(initialize_profiler_doc, "initialize_profiler(config_file, output_file, output_mode)\n--\n\n"
                                      "Set up the profiler that drivers up to CUDA 11 had built in.\n"
                                      "\nParameters\n----------\n"
                                      "config_file : str\n"
                                      "output_file : str\n"
                                      "output_mode : profiler_output_mode\n"
                                      "\nRaises\n------\n"
                                      "LogicError\n    The driver has none.\n"
                                      "\nNotes\n-----\n"
                                      "Calls cuProfilerInitialize.");

static PyObject *initialize_profiler(PyObject *module, FAST_PARAMETERS)
{
    ModuleState *state = module_state(module);
    PyObject *config_file, *output_file, *config = NULL, *output = NULL, *answer = NULL;
    unsigned mode = 0;
    CUresult result;
    if (READ_ARGUMENTS(initialize_profiler_doc, INTO(&config_file), INTO(&output_file), INTO(&mode)) < 0
        || !PyUnicode_FSConverter(config_file, &config))
        return NULL;
    if (PyUnicode_FSConverter(output_file, &output)) {
        const char *from = PyBytes_AS_STRING(config), *to = PyBytes_AS_STRING(output);
        result = try_cuProfilerInitialize(state, from, to, mode);
        answer = none_or_raise(state, result, "cuProfilerInitialize");
        Py_DECREF(output);
    }
    Py_DECREF(config);
    return answer;
}

#define ASK(...) DRIVER_METHOD_OF_NOTHING(ModuleState *state = module_state(self), __VA_ARGS__)
ASK(start_profiler, cuProfilerStart, "", "Start the profiler of this process.\n", (state),
    Py_NewRef(Py_None), )
ASK(stop_profiler, cuProfilerStop, "", "Stop the profiler of this process.\n", (state), Py_NewRef(Py_None), )
#undef ASK

PyDoc_STRVAR(stop_doc, "stop()\n--\n\n"
                       "The older name of stop_profiler.");

PyMethodDef profiler_functions[] = {
    {"initialize_profiler", AS_METHOD(initialize_profiler), FAST_KEYWORDS, initialize_profiler_doc},
    {"start_profiler", start_profiler, METH_NOARGS, start_profiler_doc},
    {"stop_profiler", stop_profiler, METH_NOARGS, stop_profiler_doc},
    {"stop", stop_profiler, METH_NOARGS, stop_doc},
    {NULL, NULL, 0, NULL},
};
