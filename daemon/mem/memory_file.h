/* A memory file: the arena as a file that can be mapped (tmpfs, hugetlbfs, DAX), so that it
 * outlives the process that fills it.
 *
 *   0      MEMORY_BLOBS_AT  MEMORY_FRONT_AT      shape.table_at  shape.head_bytes
 *   | head | notes          | the cache's front  | page table    | page 0 | page 1 | ...
 *
 * The head describes the file. Its shape never changes once the file is made, and is sealed by a
 * checksum; its words do change (mem/ordered_store.h). A file with a damaged head, or with another
 * shape than this program's, is refused with a sentence. The contents of pages are checked when the
 * cache adopts them (cache/persist/).
 *
 * One process has the file at a time, by a lock that ends with the process. Threading: the owner
 * opens and closes the file; ordered_store.h has the rules for the words. Errors: a sentence. */
#ifndef SLATE_MEM_MEMORY_FILE_H
#define SLATE_MEM_MEMORY_FILE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mem/class_set.h"
#include "mem/ordered_store.h"

/* The version of the head, of struct page, and of items and tails. Raise it with each change of
 * these. */
enum { MEMORY_VERSION = 1 };
enum { MEMORY_WHY_BYTES = 512, MEMORY_BLOBS_AT = 32 << 10, MEMORY_FRONT_AT = 64 << 10 };

struct memory_shape { /* first the program's constants, then the file's own numbers */
    uint32_t version;        /* MEMORY_VERSION */
    uint32_t byte_order;     /* MEMORY_BYTE_ORDER */
    uint32_t item_bytes;     /* an item's header without CAS */
    uint32_t tail_bytes;     /* a tail's header */
    uint32_t copy_bytes_max; /* items with larger values have a count of borrowers */
    uint32_t page_bytes;
    uint32_t page_entry_bytes; /* an entry of the page table */
    uint32_t store;            /* the kind of store, by the cache's number */
    uint32_t block_bytes;      /* of the block store; see cache/alloc/slab_store.c */
    uint32_t chunk_bytes_max;  /* the largest chunk of every geometry */
    uint32_t unit_shift;       /* unit of references */
    uint32_t page_max;         /* pages in the page table */
    uint64_t front_bytes;      /* room for the cache's front */
    uint64_t table_at, head_bytes, file_bytes;
};

enum memory_state {
    MEMORY_SERVING = 1, /* a process serves from the file, or was killed meanwhile */
    MEMORY_STOPPED, /* all is complete and written to the medium below the file */
};

enum { MEMORY_CLASSES = CLASS_SET_IDS };

struct memory_head {
    _Atomic uint64_t    magic; /* written last when the file is made */
    struct memory_shape shape;
    uint64_t            shape_check; /* a hash of the shape */
    ordered_word           state;       /* enum memory_state */
    ordered_word           boot;        /* a hash of the machine's boot id */
    ordered_word           unix_at_0;   /* unix time at cache time 0 */
    ordered_word           last_s;      /* a cache time in the past */
    /* of the items' clock (cache/partition.h), and the cache time of a flush that is still to
     * come */
    ordered_word           flushed, ahead_s, flush_at_s;
    ordered_word           sizes_hash;  /* a hash of the chunk sizes that the options gave */
    /* The last CAS of each partition: where in the file the first one is, the bytes from one to the
     * next, how many there are, and whether they are valid. */
    ordered_word           cas_at, cas_step, cas_count, cas_valid;
    struct ordered_number  cas_most;    /* no CAS up to this one may be given out again */
    /* MEMORY_CLASS of each id; chunk_bytes 0: no class */
    ordered_word           classes[MEMORY_CLASSES];
    /* hashes of the policies' names, by class; [0]: of the whole cache */
    ordered_word           policies[MEMORY_CLASSES];
};
_Static_assert(sizeof(struct memory_head) <= MEMORY_BLOBS_AT, "the head has its place");

#define MEMORY_CLASS(chunk_bytes, state) ((uint32_t)(state) << 24 | (uint32_t)(chunk_bytes))
static inline uint32_t memory_class_bytes(uint32_t word) { return word & 0xffffff; }
static inline unsigned memory_class_state(uint32_t word) { return word >> 24; }

/* The requirements of a file's opener. */
struct memory_request {
    size_t      limit_bytes;   /* of pages; a file with room for less is refused */
    size_t      reserve_bytes; /* of pages; a new file gets room for so much */
    size_t      front_bytes;
    uint32_t    store, block_bytes, chunk_bytes_max;
    const char *store_name;
};

struct memory_file {
    char               *path;       /* owned; for sentences */
    int                 fd;
    bool                is_new;     /* the file is empty */
    size_t              map_align_bytes;
    struct memory_shape shape;
    struct memory_head *head;       /* mapped by the arena; NULL before that */
};

/* Opens a file, or makes one, and locks it against other processes. NULL: `why` has the reason,
 * beginning with the path. */
struct memory_file *memory_file_open(const char *path, char why[MEMORY_WHY_BYTES]);
/* Makes the struct of an open file, of which another process has another descriptor: the lock goes
 * over with the descriptor. `path` is the file's name in sentences. Owns the descriptor, also on
 * failure. NULL: `why` has the reason. */
struct memory_file *memory_file_of(int taken_fd, const char *path, char why[MEMORY_WHY_BYTES]);
/* Makes a file without a name, which vanishes with the last process that has it. NULL: `why` has
 * the reason. */
struct memory_file *memory_file_nameless(char why[MEMORY_WHY_BYTES]);
/* Whether the path names the file of this descriptor. */
bool memory_file_is_at(int fd, const char *path);
/* Whether memory_file_begin would accept the shape of a file that another process serves from.
 * Changes nothing. False: `why` has the reason, beginning with the path. */
bool memory_file_fits(const struct memory_file *, const struct memory_request *,
                      char why[MEMORY_WHY_BYTES]);
/* Reads the head, or lays a new file out. False: `why` has the reason, beginning with the path. */
bool memory_file_begin(struct memory_file *, const struct memory_request *,
                       char why[MEMORY_WHY_BYTES]);
/* Maps the file at an address that is a multiple of map_align_bytes, inside a mapping of the
 * caller. False: errno. */
bool memory_file_map(struct memory_file *, char *at);
/* Marks the file as complete: the owner has set the words that a reader needs from the start. */
void memory_file_complete(struct memory_file *);
/* Backs bytes of the file with memory. False: the system has none, see errno. A store into bytes
 * without backing could end the process. */
bool memory_file_back(const struct memory_file *, size_t at, size_t bytes);
void memory_file_unback(const struct memory_file *, size_t at, size_t bytes);
/* Computes the head's checksum anew from its shape. */
void memory_head_seal(struct memory_head *);
/* Writes the file to its medium: stores before this call reach it before later stores do. */
void memory_file_sync(const struct memory_file *);
void memory_file_close(struct memory_file **); /* unlocks the file; the arena unmaps it */
uint32_t memory_boot_hash(void);                    /* a hash of this boot's id */
#endif
