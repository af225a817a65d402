/* User objects: objects of the program to which graphs have references. After the last one a destructor is
 * called. */
#ifndef DEVICE_GRAPH_USER_OBJECT_H
#define DEVICE_GRAPH_USER_OBJECT_H

#include "api/base/objects.h"

typedef struct CUuserObject_st UserObject;

typedef struct UserReference {
    UserObject *object; /* a reference of the registry's kind (object_hold) */
    unsigned count;     /* references as the program counts them; may be 0 */
} UserReference;

/* The references of one graph or executable graph. */
typedef struct UserReferences {
    UserReference *list; /* owned */
    size_t count;
} UserReferences;

/* Makes *to references to the same objects, with the same counts; false if out of memory. */
bool user_references_copy(UserReferences *to, const UserReferences *from);
/* Drops all references and empties the list. May call destructors of the program: not under a lock. */
void user_references_drop(UserReferences *references);

#endif
