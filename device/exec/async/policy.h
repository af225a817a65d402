/* Cache policies as createpolicy makes them: opaque to programs, with the bits that a GPU puts there. */
#ifndef DEVICE_EXEC_ASYNC_POLICY_H
#define DEVICE_EXEC_ASYNC_POLICY_H

/* Insn.mods of createpolicy: a secondary and a primary priority, as in bits 56 to 58 of a policy. */
enum {
    POLICY_SECONDARY_FIRST = 1 << 8, /* evict_first; without it the secondary priority is unchanged */
    POLICY_PRIMARY_FIRST = 1 << 9, /* evict_first; without these three the primary one is unchanged */
    POLICY_PRIMARY_LAST = 2 << 9,
    POLICY_PRIMARY_NORMAL = 3 << 9,
    POLICY_MODS = 7 << 8, /* the mask of all */
    POLICY_MODS_SHIFT = 56 - 8 /* from mods to the policy */
};

#endif
