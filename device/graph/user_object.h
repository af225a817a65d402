/* The program's own objects that graphs hold: a count of references and what to call after the last. */
#ifndef DEVICE_GRAPH_USER_OBJECT_H
#define DEVICE_GRAPH_USER_OBJECT_H

#include "api/base/objects.h"

typedef struct CUuserObject_st UserObject;

typedef struct UserReference {
    UserObject *object;
    unsigned count;
} UserReference;

typedef struct UserReferences {
    UserReference *list;
    size_t count;
} UserReferences;

/* The same references once more; false if out of memory. */
bool user_references_copy(UserReferences *to, const UserReferences *from);
/* May call the program: not under a lock. */
void user_references_drop(UserReferences *references);

#endif
