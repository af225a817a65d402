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
/* Opens a file of another process by its descriptor there. 0, or the errno of the failure: ESTALE when the
 * descriptor is now of another file. */
int shared_file_open(SharedFile *file, pid_t process, int descriptor, uint64_t inode);
/* The file of a descriptor of this process; *file gets a duplicate of the descriptor. False if it is not
 * a regular file. */
bool shared_file_take(SharedFile *file, int descriptor);
/* Whether the descriptor is still of this file. */
bool shared_file_is_open(const SharedFile *file);
/* Closes the descriptor, unless it is of another file now; mappings of the file stay. */
void shared_file_close(const SharedFile *file);

#endif
