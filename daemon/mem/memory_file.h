/* A memory file: the arena as a file that can be mapped (tmpfs, hugetlbfs, DAX), so that it
 * outlives the process that fills it.
 *
 *   0      MEMORY_NOTES_AT  MEMORY_FRONT_AT      shape.table_at  shape.head_bytes
 *   | head | notes          | the cache's front  | page table    | page 0 | page 1 | ...
 *
 * The head says what is in it: a shape, which never changes once the file is made and is sealed by
 * a checksum, and words that do change (mem/kept.h). A file whose head is not whole, or that this
 * program would read otherwise than it was written, is refused with a sentence. What lies in pages
 * is looked at when it is adopted (cache/adopt/).
 *
 * One process has it at a time, by a lock that ends with the process. Threading: opening and
 * closing are the owner's; the words' rules are in kept.h. Errors: a sentence. */
#ifndef SLATE_MEM_MEMORY_FILE_H
#define SLATE_MEM_MEMORY_FILE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mem/class_set.h"
#include "mem/kept.h"

/* Of the head, of struct page, of items and tails: to be raised with each change of them. */
enum { MEMORY_VERSION = 1 };
enum { MEMORY_WHY_BYTES = 512, MEMORY_NOTES_AT = 32 << 10, MEMORY_FRONT_AT = 64 << 10 };

struct memory_shape { /* fields that are not the program's but the file's come last */
    uint32_t version;        /* MEMORY_VERSION */
    uint32_t byte_order;     /* MEMORY_BYTE_ORDER */
    uint32_t item_bytes;     /* of an item's header without CAS */
    uint32_t tail_bytes;     /* of a tail's header */
    uint32_t copy_bytes_max; /* larger values have a count in their items */
    uint32_t page_bytes;
    uint32_t page_entry_bytes; /* of the page table */
    uint32_t store;            /* which kind of store, by the cache's number */
    uint32_t block_bytes;      /* of the block store */
    uint32_t chunk_bytes_max;  /* the largest chunk of every geometry */
    uint32_t unit_shift;       /* of references */
    uint32_t page_max;         /* in the page table */
    uint64_t front_bytes;      /* room for the cache's front */
    uint64_t table_at, head_bytes, file_bytes;
};

enum memory_state {
    MEMORY_SERVING = 1, /* or its process was killed */
    MEMORY_STOPPED,     /* all in it is settled, and was written to whatever is below the file */
};

enum { MEMORY_CLASSES = CLASS_SET_IDS };

struct memory_head {
    _Atomic uint64_t    magic; /* the last that is written when the file is made */
    struct memory_shape shape;
    uint64_t            shape_check; /* the shape's hash */
    kept_word           state;       /* enum memory_state */
    kept_word           boot;        /* a hash of the machine's boot id */
    kept_word           unix_at_0;   /* unix time of cache time 0 */
    kept_word           last_s;      /* a cache time that has been */
    /* of the items' clock (cache/partition.h); and cache time of a flush to come */
    kept_word           flushed, ahead_s, flush_at_s;
    kept_word           asked;       /* a hash of the chunk sizes that the options made */
    /* where the last CAS of each partition is counted: place in the file, bytes from one to the
     * next, how many; and whether they are to be believed */
    kept_word           cas_at, cas_step, cas_count, cas_valid;
    struct kept_number  cas_most;    /* no CAS up to it may be given again */
    kept_word           classes[MEMORY_CLASSES];  /* MEMORY_CLASS of each id; chunk_bytes 0: none */
    kept_word           policies[MEMORY_CLASSES]; /* hashes of policies' names; [0]: the whole's */
};
_Static_assert(sizeof(struct memory_head) <= MEMORY_NOTES_AT, "the head has its place");

#define MEMORY_CLASS(chunk_bytes, state) ((uint32_t)(state) << 24 | (uint32_t)(chunk_bytes))
static inline uint32_t memory_class_bytes(uint32_t word) { return word & 0xffffff; }
static inline unsigned memory_class_state(uint32_t word) { return word >> 24; }

/* What whoever opens a file wants of it. */
struct memory_wish {
    size_t      limit_bytes;   /* of pages; a file with room for fewer is refused */
    size_t      reserve_bytes; /* a new file has room for so many */
    size_t      front_bytes;
    uint32_t    store, block_bytes, chunk_bytes_max;
    const char *store_name;
};

struct memory_file {
    char               *path;       /* for sentences; its own */
    int                 fd;
    /* it is another process's still: until memory_file_may_own the mapping cannot be written, and
     * until memory_file_own nobody does */
    bool                borrowed;
    bool                is_new;     /* nothing is in it */
    bool                has_small_pages; /* which may be joined (mem/join.h): it is on tmpfs */
    size_t              map_align_bytes;
    struct memory_shape shape;
    struct memory_head *head;       /* mapped by the arena; NULL before */
};

/* Opens a file, or makes one, and locks it: from now on no other process has it. NULL: `why` says
 * why not, beginning with the path. */
struct memory_file *memory_file_open(const char *path, char why[MEMORY_WHY_BYTES]);
/* One that another process has and is about to hand over. `name` is what sentences call it; the
 * descriptor is the file's from now on. NULL: `why`. */
struct memory_file *memory_file_borrow(int taken_fd, const char *name, char why[MEMORY_WHY_BYTES]);
/* One that has no name and goes with the last process that has it. NULL: `why`. */
struct memory_file *memory_file_nameless(char why[MEMORY_WHY_BYTES]);
/* Whether the path names the file that the descriptor is of. */
bool memory_file_is_at(int fd, const char *path);
/* Makes the mapping writable. False: the system refuses, and errno. */
bool memory_file_may_own(struct memory_file *);
/* After that, once the other process has left it: it is this one's. */
void memory_file_own(struct memory_file *);
/* It is another process's now: what this one still writes is seen by nobody but itself. False: the
 * system refuses, and this process must not write another byte to it. */
bool memory_file_leave(struct memory_file *);
/* Looks at what is in it, or lays it out anew. False: `why`, as above. */
bool memory_file_begin(struct memory_file *, const struct memory_wish *,
                       char why[MEMORY_WHY_BYTES]);
/* Maps it at an address that is a multiple of map_align_bytes, within what is the caller's. False:
 * errno. */
bool memory_file_map(struct memory_file *, char *at);
/* Once the owner has set what must be known from the start: from now on it is a memory file. */
void memory_file_made(struct memory_file *);
/* Backs bytes of it with memory. False: there is none, and errno. Without this a store into them
 * could end the process. */
bool memory_file_back(const struct memory_file *, size_t at, size_t bytes);
void memory_file_unback(const struct memory_file *, size_t at, size_t bytes);
/* Makes the checksum of the head's shape that of what it says. */
void memory_head_seal(struct memory_head *);
/* Between two: whatever is written before is below the file before what is written after; for media
 * that outlive the machine's memory. */
void memory_file_sync(const struct memory_file *);
void memory_file_close(struct memory_file **); /* unlocks; the mapping is the arena's */
uint32_t memory_boot(void);                    /* a hash of this boot's id */
#endif
