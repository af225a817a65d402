/* The heap of device-side malloc: blocks of a power of two bytes, a list of free ones for each size.
 *
 * What is known of the blocks is kept outside the heap's memory, so that a kernel that writes past a block
 * cannot harm the allocator. When the last block is freed the whole heap is fresh again.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "exec/runtime/runtime.h"

/* The class of a block is the logarithm of its size; the smallest block is a unit. */
enum { UNIT_BITS = 4, CLASSES = 48, MAX_ALIGN = 4096 };

struct DeviceHeap {
    pthread_mutex_t lock;
    uint64_t base, size;
    uint64_t used;              /* bytes ever cut from the start */
    uint64_t live;              /* blocks in use */
    uint32_t free_list[CLASSES]; /* first free unit + 1 of each class */
    uint32_t *next_free;        /* by unit: next free unit + 1 */
    uint8_t *class_of;          /* by first unit of a block in use: class + 1 */
};

DeviceHeap *device_heap_create(uint64_t base, uint64_t size)
{
    DeviceHeap *heap = calloc(1, sizeof *heap);
    size_t units = (size_t)(size >> UNIT_BITS) + 1;
    if (!heap) return NULL;
    heap->base = base;
    heap->size = size;
    heap->next_free = calloc(units, sizeof *heap->next_free);
    heap->class_of = calloc(units, 1);
    if (!heap->next_free || !heap->class_of || size >> UNIT_BITS > UINT32_MAX - 2) {
        free(heap->next_free);
        free(heap->class_of);
        free(heap);
        return NULL;
    }
    pthread_mutex_init(&heap->lock, NULL);
    return heap;
}

void device_heap_destroy(DeviceHeap *heap)
{
    if (!heap) return;
    pthread_mutex_destroy(&heap->lock);
    free(heap->next_free);
    free(heap->class_of);
    free(heap);
}

static unsigned class_for(uint64_t size, uint64_t align)
{
    unsigned class = UNIT_BITS;
    while (((uint64_t)1 << class) < size || ((uint64_t)1 << class) < align) class ++;
    return class;
}

/* An address from the list of the class, or cut from what was never used; 0 when full. */
static uint64_t take_locked(DeviceHeap *heap, unsigned class)
{
    uint64_t size = (uint64_t)1 << class, align = size < MAX_ALIGN ? size : MAX_ALIGN;
    uint64_t start = (heap->base + heap->used + align - 1) & ~(align - 1);
    uint32_t unit = heap->free_list[class];
    if (unit) {
        heap->free_list[class] = heap->next_free[unit - 1];
        return heap->base + ((uint64_t)(unit - 1) << UNIT_BITS);
    }
    if (size > heap->size || start - heap->base > heap->size - size) return 0;
    heap->used = start - heap->base + size;
    return start;
}

uint64_t device_heap_alloc(DeviceHeap *heap, uint64_t size, uint64_t align)
{
    uint64_t address;
    unsigned class;
    if (size == 0 || size > heap->size || align > MAX_ALIGN) return 0;
    class = class_for(size, align);
    pthread_mutex_lock(&heap->lock);
    address = take_locked(heap, class);
    if (address) {
        heap->class_of[(address - heap->base) >> UNIT_BITS] = (uint8_t)(class + 1);
        heap->live++;
    }
    pthread_mutex_unlock(&heap->lock);
    return address;
}

static void put_back_locked(DeviceHeap *heap, uint64_t unit)
{
    unsigned class = heap->class_of[unit] - 1u;
    heap->class_of[unit] = 0;
    heap->next_free[unit] = heap->free_list[class];
    heap->free_list[class] = (uint32_t)unit + 1;
    if (--heap->live) return;
    memset(heap->free_list, 0, sizeof heap->free_list);
    heap->used = 0;
}

bool device_heap_free(DeviceHeap *heap, uint64_t address)
{
    uint64_t offset = address - heap->base;
    bool found = false;
    pthread_mutex_lock(&heap->lock);
    if (offset < heap->size && offset % (1u << UNIT_BITS) == 0 && heap->class_of[offset >> UNIT_BITS]) {
        put_back_locked(heap, offset >> UNIT_BITS);
        found = true;
    }
    pthread_mutex_unlock(&heap->lock);
    return found;
}
