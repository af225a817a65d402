/* Settings of core dumps, a process's and a context's. No dump is ever written: what would turn them on is
 * refused, all else is kept. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/log.h"
#include "api/context/context.h"

enum { TEXT_BYTES = 1024, SKIPS_ABORT = 1 << 4, LIGHTWEIGHT = 0x2f }; /* the last two are of the flags */

typedef struct CoredumpSettings {
    bool on_exception, user_trigger;
    unsigned flags;
    char file[TEXT_BYTES], pipe[TEXT_BYTES];
} CoredumpSettings;

/* A setting, by CUcoredumpSettings. */
typedef struct CoredumpSetting {
    size_t offset, size;
    bool of_context; /* contexts have it, too */
    bool turns_on;
    unsigned mask; /* a boolean kept as these bits of the flags; 0: it has a field of its own */
    bool inverted; /* the boolean is true when none of the bits is set */
} CoredumpSetting;

#define FIELD(field) offsetof(CoredumpSettings, field), sizeof((CoredumpSettings *)0)->field
static const CoredumpSetting settings[] = {
    [1] = {FIELD(on_exception), true, true, 0, false},
    [2] = {0, sizeof(bool), true, false, SKIPS_ABORT, true},
    [3] = {0, sizeof(bool), true, false, LIGHTWEIGHT, false},
    [4] = {FIELD(user_trigger), false, true, 0, false},
    [5] = {FIELD(file), true, false, 0, false},
    [6] = {FIELD(pipe), false, false, 0, false},
    [7] = {FIELD(flags), true, false, 0, false},
};

static pthread_mutex_t coredump_lock = PTHREAD_MUTEX_INITIALIZER;
static CoredumpSettings of_process; /* under the lock, as those of contexts */
static bool process_has_some;       /* the same */

static const CoredumpSetting *find_setting(unsigned id, bool of_context)
{
    const CoredumpSetting *setting = id && id < sizeof settings / sizeof *settings ? &settings[id] : NULL;
    return setting && (setting->of_context || !of_context) ? setting : NULL;
}

/* Whether a buffer of this size is right. Texts may be shorter than the setting; other values must have its
 * size. */
static bool fits(const CoredumpSetting *setting, size_t size)
{
    return setting->size == TEXT_BYTES ? size <= TEXT_BYTES : size == setting->size;
}

static CUresult get_setting(CoredumpSettings *from, const CoredumpSetting *setting, void *value, size_t *size)
{
    if (!value) {
        *size = setting->size;
        return CUDA_SUCCESS;
    }
    const char *field = (const char *)from + setting->offset;
    if (!fits(setting, *size) || (setting->size == TEXT_BYTES && strlen(field) >= *size))
        return CUDA_ERROR_INVALID_VALUE;
    if (setting->mask)
        *(bool *)value = setting->inverted ? !(from->flags & setting->mask)
                                           : (from->flags & setting->mask) == setting->mask;
    else
        memcpy(value, field, *size);
    return CUDA_SUCCESS;
}

static void put_field(CoredumpSettings *to, const CoredumpSetting *setting, const void *value, size_t size)
{
    char *field = (char *)to + setting->offset;
    memset(field, 0, setting->size);
    memcpy(field, value, size);
    if (setting->size == TEXT_BYTES) field[TEXT_BYTES - 1] = '\0';
}

static CUresult set_setting(CoredumpSettings *to, const CoredumpSetting *setting, void *value, size_t *size)
{
    if (!value) {
        *size = setting->size;
        return CUDA_SUCCESS;
    }
    if (!fits(setting, *size)) return CUDA_ERROR_INVALID_VALUE;
    bool is_true = setting->size == sizeof(bool) && *(const unsigned char *)value;
    if (setting->turns_on && is_true) {
        log_error("core dumps are not supported by the CPU device: its log says where a kernel failed");
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    if (setting->mask)
        to->flags = is_true == setting->inverted ? to->flags & ~setting->mask : to->flags | setting->mask;
    else
        put_field(to, setting, value, *size);
    return CUDA_SUCCESS;
}

CoredumpSettings *coredump_inherit(void)
{
    pthread_mutex_lock(&coredump_lock);
    CoredumpSettings *copy = process_has_some ? malloc(sizeof *copy) : NULL;
    if (copy) *copy = of_process;
    pthread_mutex_unlock(&coredump_lock);
    return copy;
}

/* The settings of the context; NULL if out of memory. */
static CoredumpSettings *of_locked(Context *context)
{
    if (!context->coredump) context->coredump = calloc(1, sizeof *context->coredump);
    return context->coredump;
}

typedef CUresult (*Access)(CoredumpSettings *settings, const CoredumpSetting *setting, void *value,
                           size_t *size);

static CUresult access_of_context(Access access, unsigned id, void *value, size_t *size)
{
    Context *context;
    const CoredumpSetting *setting = find_setting(id, true);
    TRY(context_enter_any(&context));
    if (!setting || !size) return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&coredump_lock);
    CoredumpSettings *own = of_locked(context);
    CUresult result = own ? access(own, setting, value, size) : CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_unlock(&coredump_lock);
    return result;
}

static CUresult access_of_process(Access access, unsigned id, void *value, size_t *size)
{
    const CoredumpSetting *setting = find_setting(id, false);
    TRY(driver_check());
    if (!setting || !size) return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&coredump_lock);
    CUresult result = access(&of_process, setting, value, size);
    process_has_some = process_has_some || access == set_setting;
    pthread_mutex_unlock(&coredump_lock);
    return result;
}

CUresult cuCoredumpGetAttribute(unsigned int id, void *value, size_t *size)
{
    return access_of_context(get_setting, id, value, size);
}

CUresult cuCoredumpGetAttributeGlobal(unsigned int id, void *value, size_t *size)
{
    return access_of_process(get_setting, id, value, size);
}

CUresult cuCoredumpSetAttribute(unsigned int id, void *value, size_t *size)
{
    return access_of_context(set_setting, id, value, size);
}

CUresult cuCoredumpSetAttributeGlobal(unsigned int id, void *value, size_t *size)
{
    return access_of_process(set_setting, id, value, size);
}
