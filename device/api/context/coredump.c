/* Settings of core dumps, of the process and of each context. No dump is ever written: turning dumps on is
 * refused; all other settings are kept and returned. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/log.h"
#include "api/context/context.h"

enum { TEXT_BYTES = 1024 };

/* CUcoredumpGenerationFlags: CU_COREDUMP_SKIP_ABORT, CU_COREDUMP_LIGHTWEIGHT_FLAGS. */
enum { SKIPS_ABORT = 1 << 4, LIGHTWEIGHT = 0x2f };

/* CUcoredumpSettings. */
enum {
    ENABLE_ON_EXCEPTION = 1,
    TRIGGER_HOST = 2,
    IS_LIGHTWEIGHT = 3,
    ENABLE_USER_TRIGGER = 4,
    DUMP_FILE = 5,
    TRIGGER_PIPE = 6,
    GENERATION_FLAGS = 7
};

typedef struct CoredumpSettings {
    bool on_exception, user_trigger;
    unsigned flags;
    char file[TEXT_BYTES], pipe[TEXT_BYTES];
} CoredumpSettings;

typedef struct CoredumpSetting {
    size_t offset, size; /* of its field in CoredumpSettings; the offset counts only if mask is 0 */
    bool of_context;     /* contexts have this setting as well as the process */
    bool turns_on;       /* true would turn dumps on */
    unsigned mask; /* a boolean that is these bits of the flags; 0: the setting has a field */
    bool inverted; /* the boolean is true when none of the bits is set */
} CoredumpSetting;

#define FIELD(field) .offset = offsetof(CoredumpSettings, field), .size = sizeof((CoredumpSettings *)0)->field
#define BITS(bits) .size = sizeof(bool), .mask = (bits)
static const CoredumpSetting settings[] = {
    [ENABLE_ON_EXCEPTION] = {FIELD(on_exception), .of_context = true, .turns_on = true},
    [TRIGGER_HOST] = {BITS(SKIPS_ABORT), .of_context = true, .inverted = true},
    [IS_LIGHTWEIGHT] = {BITS(LIGHTWEIGHT), .of_context = true},
    [ENABLE_USER_TRIGGER] = {FIELD(user_trigger), .turns_on = true},
    [DUMP_FILE] = {FIELD(file), .of_context = true},
    [TRIGGER_PIPE] = {FIELD(pipe)},
    [GENERATION_FLAGS] = {FIELD(flags), .of_context = true},
};

static pthread_mutex_t coredump_lock = PTHREAD_MUTEX_INITIALIZER;
/* Both under the lock, as the settings of contexts. */
static CoredumpSettings process_settings;
static bool process_has_settings; /* the program has set some of them */

/* The setting with that number; NULL if it is unknown, or is wanted of a context, which does not have it. */
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

/* Without a value only the size is returned. */
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

/* Without a value the size is returned. */
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
    CoredumpSettings *copy = process_has_settings ? malloc(sizeof *copy) : NULL;
    if (copy) *copy = process_settings;
    pthread_mutex_unlock(&coredump_lock);
    return copy;
}

/* The settings of the context; NULL if out of memory. */
static CoredumpSettings *context_settings_locked(Context *context)
{
    if (!context->coredump) context->coredump = calloc(1, sizeof *context->coredump);
    return context->coredump;
}

/* get_setting() or set_setting(). */
typedef CUresult (*Access)(CoredumpSettings *settings, const CoredumpSetting *setting, void *value,
                           size_t *size);

static CUresult access_context(Access access, unsigned id, void *value, size_t *size)
{
    Context *context;
    const CoredumpSetting *setting = find_setting(id, true);
    TRY(context_enter_any(&context));
    if (!setting || !size) return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&coredump_lock);
    CoredumpSettings *own = context_settings_locked(context);
    CUresult result = own ? access(own, setting, value, size) : CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_unlock(&coredump_lock);
    return result;
}

static CUresult access_process(Access access, unsigned id, void *value, size_t *size)
{
    const CoredumpSetting *setting = find_setting(id, false);
    TRY(driver_check());
    if (!setting || !size) return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&coredump_lock);
    CUresult result = access(&process_settings, setting, value, size);
    process_has_settings = process_has_settings || access == set_setting;
    pthread_mutex_unlock(&coredump_lock);
    return result;
}

CUresult cuCoredumpGetAttribute(unsigned int id, void *value, size_t *size)
{
    return access_context(get_setting, id, value, size);
}

CUresult cuCoredumpGetAttributeGlobal(unsigned int id, void *value, size_t *size)
{
    return access_process(get_setting, id, value, size);
}

CUresult cuCoredumpSetAttribute(unsigned int id, void *value, size_t *size)
{
    return access_context(set_setting, id, value, size);
}

CUresult cuCoredumpSetAttributeGlobal(unsigned int id, void *value, size_t *size)
{
    return access_process(set_setting, id, value, size);
}
