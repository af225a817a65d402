/* An unnamed file in memory whose pages several processes can map.
 *
 * The one that makes it sends the others its process number, its descriptor and the file's inode; they open
 * it through the system's table of that process's descriptors, which is allowed to the same user. A program
 * may close descriptors that it does not know, and their numbers come again: so a descriptor is never used
 * without a look at what it is now.
 */
#ifndef DEVICE_EXEC_MEMORY_SHARED_FILE_H
#define DEVICE_EXEC_MEMORY_SHARED_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct SharedFile {
    int descriptor;
    dev_t device;
    ino_t inode;
    uint64_t size;
} SharedFile;

/* A new file of that length, all zeros; pages appear when they are touched. False where the system gives
 * none. */
bool shared_file_create(SharedFile *file, const char *name, uint64_t size);
#define SHARED_FILE_PROBLEM \
    "the system provides no shared memory (memfd_create without a limit on file sizes is needed)"
/* The file of another process. 0, or the errno of the failure: ESTALE when something else has that
 * number there now. */
int shared_file_open(SharedFile *file, pid_t process, int descriptor, uint64_t inode);
/* The file that a descriptor of this process is of, by a descriptor of its own. False if it is not of a
 * file. */
bool shared_file_take(SharedFile *file, int descriptor);
/* Whether the descriptor is still what it was. */
bool shared_file_is_open(const SharedFile *file);
/* Mappings stay. */
void shared_file_close(const SharedFile *file);

#endif
