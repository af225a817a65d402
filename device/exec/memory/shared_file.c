/* Files in memory, shared with other processes. See shared_file.h. */
#define _GNU_SOURCE
#include "exec/memory/shared_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* Sets the fields from the file of file->descriptor. False if that is not a regular file. */
static bool take_facts(SharedFile *file)
{
    struct stat facts;
    if (fstat(file->descriptor, &facts) || !S_ISREG(facts.st_mode)) return false;
    file->device = facts.st_dev;
    file->inode = facts.st_ino;
    file->size = (uint64_t)facts.st_size;
    return true;
}

/* The length never changes afterwards. In a process with a limit on the length of files no file is
 * created, because ftruncate() beyond the limit would end the process by SIGXFSZ. */
bool shared_file_create(SharedFile *file, const char *name, uint64_t size)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur != RLIM_INFINITY) return false;
    file->descriptor = memfd_create(name, MFD_CLOEXEC);
    if (file->descriptor < 0) return false;
    if (!ftruncate(file->descriptor, (off_t)size) && take_facts(file)) return true;
    close(file->descriptor);
    return false;
}

int shared_file_open(SharedFile *file, pid_t process, int descriptor, uint64_t inode)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)process, descriptor);
    file->descriptor = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file->descriptor < 0) return errno;
    if (take_facts(file) && (uint64_t)file->inode == inode) return 0;
    close(file->descriptor);
    return ESTALE;
}

bool shared_file_take(SharedFile *file, int descriptor)
{
    file->descriptor = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    if (file->descriptor < 0) return false;
    if (take_facts(file)) return true;
    close(file->descriptor);
    return false;
}

bool shared_file_is_open(const SharedFile *file)
{
    struct stat facts;
    return !fstat(file->descriptor, &facts) && facts.st_dev == file->device && facts.st_ino == file->inode;
}

void shared_file_close(const SharedFile *file)
{
    if (shared_file_is_open(file)) close(file->descriptor);
}
