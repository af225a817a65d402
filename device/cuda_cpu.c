/* cuda-cpu: runs a program with the CPU device as its driver.
 *
 * The libraries in this program's folder come first on LD_LIBRARY_PATH, the options become the CPU device's
 * settings, and the program takes this one's place: its exit status and signals are its own. Before that the
 * library is initialized here, so that a setting that it refuses is reported in words: most programs show
 * only the number of the error. A library is loaded into the program that answers for NVRTC and nvJitLink.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/cpu_device.h"

enum { EXIT_USAGE = 2, EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127 };

/* An option with a value, for a setting; or without one (no `value`), where the setting becomes `fixed`. */
typedef struct Option {
    const char *name, *value, *variable, *fixed, *help;
} Option;

static const Option options[] = {
    {"--devices", "N", "PYCUDA_CPU_DEVICES", NULL, "how many devices there are (1)"},
    {"--threads", "N", "PYCUDA_CPU_THREADS", NULL, "worker threads (one for each processor)"},
    {"--capability", "X.Y", "PYCUDA_CPU_COMPUTE_CAPABILITY", NULL, "the compute capability of the devices"},
    {"--memory", "SIZE", "PYCUDA_CPU_MEMORY", NULL, "the memory of a device: 512M, 4G"},
    {"--checks", "LIST", "PYCUDA_CPU_CHECK", NULL, "racecheck, initcheck, initcheck-shared, synccheck"},
    {"--faults", "WORD", "PYCUDA_CPU_FAULTS", NULL, "report: go on after accesses that are not valid (stop)"},
    {"--log", NULL, "PYCUDA_CPU_LOG", "stderr", "print why calls and kernels fail to stderr"},
};
enum { OPTION_COUNT = sizeof options / sizeof *options };

/* What programs read that look for the driver elsewhere; `file`: the library's path, else its folder's. */
static const struct {
    const char *variable;
    bool file;
} places[] = {
    {"PYCUDA_DRIVER", true},
    {"NUMBA_CUDA_DRIVER", true},
    {"TRITON_LIBCUDA_PATH", false},
};

/* Answers where a program asks for machine code (toolkit/preload.c). */
#define PRELOADED "libcuda-preload.so"

static int usage(FILE *to, int status)
{
    fputs("usage: cuda-cpu [options] [--] command [argument ...]\n"
          "       cuda-cpu --path\n\n"
          "Runs a program on the CPU device, which it finds as libcuda.so.1 and libcuda.so.\n\n",
          to);
    for (const Option *option = options; option < options + OPTION_COUNT; option++)
        fprintf(to, "  %-12s %-5s %s\n", option->name, option->value ? option->value : "", option->help);
    fputs("  --path             print the folder of the libraries\n"
          "  -h, --help         print this\n",
          to);
    return status;
}

static int refuse(const char *problem, const char *what)
{
    fprintf(stderr, "cuda-cpu: %s%s\n", problem, what);
    return EXIT_USAGE;
}

/* The folder of this program, without a slash at its end. False where /proc does not say it. */
static bool find_folder(char folder[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", folder, PATH_MAX - 1);
    if (length <= 0) return false;
    folder[length] = '\0';
    *strrchr(folder, '/') = '\0';
    return true;
}

/* The option that the argument names, alone or with "=value"; NULL: none. */
static const Option *find_option(const char *argument, const char **value)
{
    size_t length = strcspn(argument, "=");
    *value = argument[length] ? argument + length + 1 : NULL;
    for (const Option *option = options; option < options + OPTION_COUNT; option++)
        if (strlen(option->name) == length && !strncmp(option->name, argument, length)) return option;
    return NULL;
}

/* Sets the variables of the options before the command; *next: the first argument after them. 0, or the exit
 * status. */
static int read_options(char **arguments, char ***next)
{
    for (; *arguments && **arguments == '-'; arguments++) {
        const char *value;
        if (!strcmp(*arguments, "--")) {
            arguments++;
            break;
        }
        const Option *option = find_option(*arguments, &value);
        if (!option) return refuse("no such option: ", *arguments);
        if (!option->value && value) return refuse("no value belongs to ", option->name);
        if (option->value && !value && !(value = *++arguments))
            return refuse("a value is missing: ", option->name);
        setenv(option->variable, option->value ? value : option->fixed, true);
    }
    *next = arguments;
    return 0;
}

/* Whether the list has the entry; with `first` only as its first. */
static bool has_entry(const char *list, const char *entry, bool first)
{
    size_t length = strlen(entry);
    for (;;) {
        size_t size = strcspn(list, ":");
        if (size == length && !strncmp(list, entry, length)) return true;
        if (first || !list[size]) return false;
        list += size + 1;
    }
}

/* Puts the entry before, or after, what the list has, if it is not there already. False if out of memory. */
static bool add_to_list(const char *variable, const char *entry, bool before)
{
    const char *list = getenv(variable);
    if (!list || !*list) return setenv(variable, entry, true) == 0;
    if (has_entry(list, entry, before)) return true;
    size_t size = strlen(entry) + strlen(list) + 2;
    char *joined = malloc(size);
    if (!joined) return false;
    snprintf(joined, size, "%s:%s", before ? entry : list, before ? list : entry);
    int result = setenv(variable, joined, true);
    free(joined);
    return result == 0;
}

/* A path with a space in it would be two: then the library is found by its name, in the folder that comes
 * first. It goes last, as a sanitizer's must be first. */
static bool set_preload(const char *folder)
{
    char text[PATH_MAX + sizeof "/" PRELOADED];
    snprintf(text, sizeof text, "%s/" PRELOADED, folder);
    return add_to_list("LD_PRELOAD", strchr(folder, ' ') ? PRELOADED : text, false);
}

static bool set_places(const char *folder)
{
    char text[PATH_MAX + sizeof "/libcuda.so.1"];
    if (!add_to_list("LD_LIBRARY_PATH", folder, true) || !set_preload(folder)) return false;
    setenv("PYCUDA_DEVICE", "cpu", true);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(text, sizeof text, places[i].file ? "%s/libcuda.so.1" : "%s", folder);
        setenv(places[i].variable, text, true);
    }
    return true;
}

/* False where LD_LIBRARY_PATH and LD_PRELOAD cannot name the folder. */
static bool check_folder(const char *folder)
{
    if (!strpbrk(folder, ":;")) return true;
    refuse("LD_LIBRARY_PATH cannot have a folder with a colon or a semicolon in its name, install the CPU "
           "device elsewhere: ",
           folder);
    return false;
}

/* Whether the CPU device accepts its settings; no device is one that it does. */
static bool check_library(const char *folder)
{
    char path[PATH_MAX + sizeof "/libcuda.so.1"];
    snprintf(path, sizeof path, "%s/libcuda.so.1", folder);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        refuse("the CPU device's library cannot be opened: ", dlerror());
        return false;
    }
    CUresult (*init)(unsigned) = NULL;
    CpuDeviceTableFn table = NULL;
    *(void **)&init = dlsym(library, "cuInit");
    *(void **)&table = dlsym(library, "cpuDeviceTable");
    if (!init || !table) {
        refuse("this is not the CPU device's library: ", path);
        return false;
    }
    const CpuDeviceTable *device = table(); /* before init, which else prints its texts */
    if (init(0) == CUDA_SUCCESS || !*device->init_problem()) return true;
    refuse("", device->init_problem());
    return false;
}

int main(int count, char **arguments)
{
    char folder[PATH_MAX], **command = NULL;
    if (!find_folder(folder)) return refuse("/proc/self/exe does not say where this program is", "");
    if (count == 2 && (!strcmp(arguments[1], "--help") || !strcmp(arguments[1], "-h")))
        return usage(stdout, 0);
    if (count == 2 && !strcmp(arguments[1], "--path")) return puts(folder) < 0;
    int status = read_options(arguments + 1, &command);
    if (status) return status;
    if (!*command) return usage(stderr, EXIT_USAGE);
    if (!check_folder(folder) || !check_library(folder)) return EXIT_USAGE;
    if (!set_places(folder)) return refuse("not enough memory", "");
    execvp(*command, command);
    status = errno == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
    fprintf(stderr, "cuda-cpu: %s: %s\n", *command, strerror(errno));
    return status;
}
