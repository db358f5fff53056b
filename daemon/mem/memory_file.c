#include "mem/memory_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/failpoint.h"
#include "base/log.h"
#include "mem/item.h"
#include "mem/page.h"

/* ASCII, in the machine's byte order: before the head is complete, and after. */
#define MAGIC_NEW UINT64_C(0x77656e6c6174616c)
#define MAGIC UINT64_C(0x6d656d736c617465)
#define HUGE_BYTES ((size_t)2 << 20)
#define ANEW "; remove it to start with an empty cache"
#define MOVE ANEW ", or start a server as before and move its items with slatectl save and load"
#define STAYS "; start this one with the options of the server that runs, or end that one first"

static size_t memory_round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

__attribute__((format(printf, 3, 4))) static bool memory_refuse(char *why, const char *path,
                                                                const char *format, ...) {
    int len = snprintf(why, MEMORY_WHY_BYTES, "%s: ", path);
    va_list ap;
    va_start(ap, format);
    vsnprintf(why + len, (size_t)(MEMORY_WHY_BYTES - len), format, ap);
    va_end(ap);
    return false;
}

static uint64_t memory_shape_hash(const struct memory_shape *shape) {
    return XXH3_64bits_withSeed(shape, sizeof *shape, MAGIC);
}

void memory_head_seal(struct memory_head *h) { h->shape_check = memory_shape_hash(&h->shape); }

uint32_t memory_boot_hash(void) {
    char id[64];
    int  fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, id, sizeof id) : 0;
    if (fd >= 0) {
        close(fd);
    }
    return (uint32_t)XXH3_64bits(id, got > 0 ? (size_t)got : 0);
}

/* --- shapes --- */

/* The shape that this program makes, and the only one it reads. */
static struct memory_shape memory_own_shape(const struct memory_request *w) {
    return (struct memory_shape){
        .version = MEMORY_VERSION,
        .byte_order = 0x01020304, /* reads otherwise in another order */
        .item_bytes = sizeof(struct item),
        .tail_bytes = ITEM_TAIL_HEADER,
        .copy_bytes_max = ITEM_COPY_MAX,
        .page_bytes = PAGE_BYTES,
        .page_entry_bytes = sizeof(struct page),
        .store = w->store,
        .block_bytes = w->block_bytes,
        .chunk_bytes_max = w->chunk_bytes_max,
    };
}

static struct memory_shape memory_new_shape(const struct memory_request *w, size_t align_bytes) {
    struct memory_shape s = memory_own_shape(w);
    s.page_max = (uint32_t)(w->reserve_bytes >> PAGE_SHIFT);
    s.front_bytes = memory_round_up(w->front_bytes, sizeof(struct page));
    s.table_at = MEMORY_FRONT_AT + s.front_bytes;
    s.head_bytes = memory_round_up(s.table_at + s.page_max * sizeof(struct page), HUGE_BYTES);
    s.file_bytes = memory_round_up(s.head_bytes + ((size_t)s.page_max << PAGE_SHIFT), align_bytes);
    s.unit_shift = page_unit_shift(s.file_bytes + HUGE_BYTES);
    return s;
}

/* Whether the file's offsets are those that this program derives from the file's numbers. */
static bool memory_shape_adds_up(const struct memory_shape *s, size_t align_bytes) {
    struct memory_request like = {.reserve_bytes = (size_t)s->page_max << PAGE_SHIFT,
                                  .front_bytes = s->front_bytes,
                                  .store = s->store,
                                  .block_bytes = s->block_bytes,
                                  .chunk_bytes_max = s->chunk_bytes_max};
    struct memory_shape made = memory_new_shape(&like, align_bytes);
    return memcmp(&made, s, sizeof made) == 0;
}

/* instead: the end of the refusal, which names a remedy. */
static bool memory_shape_fits(const char *path, const struct memory_shape *s,
                              const struct memory_request *w, size_t align_bytes,
                              const char *instead, char *why) {
    struct memory_shape own = memory_own_shape(w);
    if (s->byte_order != own.byte_order) {
        return memory_refuse(why, path, "it was made by a machine of another byte order" ANEW);
    }
    if (s->version != own.version) {
        return memory_refuse(why, path,
                             "it was made by a slated with another layout of memory (version %u; "
                             "this one reads %u)%s",
                             s->version, own.version, instead);
    }
    if (s->item_bytes != own.item_bytes || s->tail_bytes != own.tail_bytes ||
        s->copy_bytes_max != own.copy_bytes_max || s->page_bytes != own.page_bytes ||
        s->page_entry_bytes != own.page_entry_bytes) {
        return memory_refuse(why, path, "it was made by a slated with another layout of items%s",
                             instead);
    }
    if (s->store != own.store || s->block_bytes != own.block_bytes) {
        return memory_refuse(why, path, "it holds the items of another store than --store=%s%s",
                             w->store_name, instead);
    }
    if (s->chunk_bytes_max != own.chunk_bytes_max) {
        return memory_refuse(why, path,
                             "its largest chunk is %u bytes, and -o slab_chunk_max is %u%s",
                             s->chunk_bytes_max, own.chunk_bytes_max, instead);
    }
    if (!memory_shape_adds_up(s, align_bytes)) {
        return memory_refuse(why, path, "its head is damaged (places)" ANEW);
    }
    if (((size_t)s->page_max << PAGE_SHIFT) < w->limit_bytes || s->front_bytes < w->front_bytes) {
        return memory_refuse(why, path,
                             "it has room for %u MB, and -m and --partitions need more%s",
                             s->page_max, instead);
    }
    return true;
}

/* --- the head --- */

/* The head's words but cas_most and those of each class. */
#define WORD(name) {#name, offsetof(struct memory_head, name)}
static const struct {
    const char *name;
    size_t      at;
} words[] = {WORD(state), WORD(boot), WORD(unix_at_0), WORD(last_s), WORD(flushed), WORD(ahead_s),
             WORD(flush_at_s), WORD(sizes_hash), WORD(cas_at), WORD(cas_step), WORD(cas_count),
             WORD(cas_valid)};
enum { WORDS = sizeof words / sizeof *words };

static ordered_word *memory_word_at(struct memory_head *h, unsigned i) {
    return (ordered_word *)(void *)((char *)h + words[i].at);
}

/* The name of a damaged word of the head; NULL: no word is damaged. */
static const char *memory_broken_word(struct memory_head *h) {
    uint32_t v;
    uint64_t cas;
    const char *bad = ordered_get_number(&h->cas_most, &cas) ? NULL : "cas_most";
    for (unsigned i = 0; i < WORDS; i++) {
        bad = ordered_get(memory_word_at(h, i), &v) ? bad : words[i].name;
    }
    for (unsigned i = 0; i < MEMORY_CLASSES; i++) {
        bad = ordered_get(&h->classes[i], &v) ? bad : "classes";
        bad = ordered_get(&h->policies[i], &v) ? bad : "policies";
    }
    return bad;
}

/* Writes the file's first word; on hugetlbfs, which takes no writes, through a mapping. */
static bool memory_write_first(const struct memory_file *f, uint64_t word) {
    ssize_t n = pwrite(f->fd, &word, sizeof word, 0);
    if (n == (ssize_t)sizeof word) {
        return true;
    }
    if (n >= 0 || errno != EINVAL) {
        errno = n >= 0 ? ENOSPC : errno;
        return false;
    }
    void *map = MAP_FAILED;
    if (memory_file_back(f, 0, f->map_align_bytes)) {
        map = mmap(NULL, f->map_align_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, f->fd, 0);
    }
    if (map == MAP_FAILED) {
        return false;
    }
    memcpy(map, &word, sizeof word);
    return munmap(map, f->map_align_bytes) == 0;
}

/* Gives a new file its shape. The owner then sets the words and calls memory_file_complete. */
static bool memory_file_create(struct memory_file *f, const struct memory_request *w, char *why) {
    f->shape = memory_new_shape(w, f->map_align_bytes);
    f->is_new = true;
    if (ftruncate(f->fd, 0) != 0 || ftruncate(f->fd, (off_t)f->shape.file_bytes) != 0 ||
        !memory_write_first(f, MAGIC_NEW)) {
        return memory_refuse(why, f->path, "cannot make a memory file: %s", strerror(errno));
    }
    failpoint_reach("file_sized");
    return true;
}

bool memory_file_fits(const struct memory_file *f, const struct memory_request *w,
                      char why[MEMORY_WHY_BYTES]) {
    struct memory_head *h = malloc(sizeof *h);
    bool read = h != NULL && pread(f->fd, h, sizeof *h, 0) == (ssize_t)sizeof *h;
    bool fits = read && h->magic == MAGIC && h->shape_check == memory_shape_hash(&h->shape)
                    ? memory_shape_fits(f->path, &h->shape, w, f->map_align_bytes, STAYS, why)
                    : memory_refuse(why, f->path, "it is no memory file of slated" STAYS);
    free(h);
    return fits;
}

static bool memory_file_recognise(struct memory_file *f, const struct memory_request *w,
                                  size_t file_bytes, char *why) {
    struct memory_head *h = malloc(sizeof *h);
    bool ok = false, is_head = h != NULL && pread(f->fd, h, sizeof *h, 0) == (ssize_t)sizeof *h;
    if (is_head && h->magic == MAGIC_NEW) { /* no item was ever stored */
        ok = memory_file_create(f, w, why);
    } else if (!is_head || h->magic != MAGIC) {
        memory_refuse(why, f->path, "it is no memory file of slated" ANEW);
    } else if (h->shape_check != memory_shape_hash(&h->shape)) {
        memory_refuse(why, f->path, "its head is damaged (shape)" ANEW);
    } else if (memory_shape_fits(f->path, &h->shape, w, f->map_align_bytes, MOVE, why)) {
        uint32_t state, boot;
        const char *bad = memory_broken_word(h);
        f->shape = h->shape;
        ordered_get(&h->state, &state);
        ordered_get(&h->boot, &boot);
        ok = bad == NULL || memory_refuse(why, f->path, "its head is damaged (%s)" ANEW, bad);
        if (file_bytes != h->shape.file_bytes) {
            ok = memory_refuse(why, f->path, "it has %zu bytes and should have %llu" ANEW,
                               file_bytes, (unsigned long long)h->shape.file_bytes);
        }
        if (ok && state != MEMORY_STOPPED && boot != memory_boot_hash()) {
            log_warn("%s: the machine went down while it was in use, and not all of it may have "
                     "been written: it starts empty",
                     f->path);
            ok = memory_file_create(f, w, why);
        }
    }
    free(h);
    return ok;
}

/* --- the file --- */

/* Finds out how large the file's pages are, and warns if the file is on something slow. */
static void memory_check_place(struct memory_file *f) {
    struct statfs fs;
    f->map_align_bytes = HUGE_BYTES;
    if (fstatfs(f->fd, &fs) != 0) {
        return;
    }
    if (fs.f_type == HUGETLBFS_MAGIC && (size_t)fs.f_bsize > HUGE_BYTES) {
        f->map_align_bytes = (size_t)fs.f_bsize;
    } else if (fs.f_type != HUGETLBFS_MAGIC && fs.f_type != TMPFS_MAGIC &&
               fs.f_type != RAMFS_MAGIC) {
        log_warn("%s is on a disk, unless that is mapped directly (DAX): the system will write the "
                 "cache to it",
                 f->path);
    }
}

/* A file of another user is refused: that user could read and change the items, and root would not
 * notice. */
static bool memory_file_lock(struct memory_file *f, char *why) {
    struct stat st;
    if (fstat(f->fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        return memory_refuse(why, f->path, "it is no file");
    }
    if (st.st_uid != geteuid()) {
        return memory_refuse(why, f->path,
                             "it belongs to another user (%u, and this process to %u)",
                             (unsigned)st.st_uid, (unsigned)geteuid());
    }
    if (flock(f->fd, LOCK_EX | LOCK_NB) != 0) {
        return memory_refuse(why, f->path,
                             errno == EWOULDBLOCK ? "another process has it" : "cannot lock it");
    }
    memory_check_place(f);
    return true;
}

struct memory_file *memory_file_of(int taken_fd, const char *path, char why[MEMORY_WHY_BYTES]) {
    struct memory_file *f = calloc(1, sizeof *f);
    char *copy = strdup(path);
    if (f == NULL || copy == NULL) {
        memory_refuse(why, path, "cannot open it: %s", strerror(ENOMEM));
        close(taken_fd);
        free(copy);
        free(f);
        return NULL;
    }
    f->path = copy;
    f->fd = taken_fd;
    if (!memory_file_lock(f, why)) {
        memory_file_close(&f);
    }
    return f;
}

struct memory_file *memory_file_open(const char *path, char why[MEMORY_WHY_BYTES]) {
    struct stat st;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) {
        memory_refuse(why, path, "cannot open it: %s", strerror(errno));
        return NULL;
    }
    struct memory_file *f = memory_file_of(fd, path, why);
    if (f != NULL && fstat(fd, &st) == 0 && (st.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        log_warn("%s: other users may write to it, and so change the cache or end the server",
                 path);
    }
    return f;
}

struct memory_file *memory_file_nameless(char why[MEMORY_WHY_BYTES]) {
    int fd = memfd_create("slated-memory", MFD_CLOEXEC);
    if (fd < 0) {
        memory_refuse(why, "memory", "cannot have a file without a name: %s", strerror(errno));
        return NULL;
    }
    return memory_file_of(fd, "memory", why);
}

bool memory_file_is_at(int fd, const char *path) {
    struct stat has, named;
    return fstat(fd, &has) == 0 && stat(path, &named) == 0 && has.st_dev == named.st_dev &&
           has.st_ino == named.st_ino;
}

bool memory_file_begin(struct memory_file *f, const struct memory_request *w,
                       char why[MEMORY_WHY_BYTES]) {
    struct stat st;
    if (fstat(f->fd, &st) != 0) {
        return memory_refuse(why, f->path, "cannot read its size: %s", strerror(errno));
    }
    return st.st_size == 0 ? memory_file_create(f, w, why)
                           : memory_file_recognise(f, w, (size_t)st.st_size, why);
}

/* Sets every word of the head, as of an empty file. */
static void memory_init_head(struct memory_file *f) {
    struct memory_head *h = f->head;
    for (unsigned i = 0; i < WORDS; i++) {
        ordered_set(memory_word_at(h, i), 0);
    }
    for (unsigned i = 0; i < MEMORY_CLASSES; i++) {
        ordered_set(&h->classes[i], 0);
        ordered_set(&h->policies[i], 0);
    }
    ordered_set(&h->flushed, UINT32_MAX);
    ordered_set_number(&h->cas_most, 0);
    h->shape = f->shape;
    memory_head_seal(h);
}

bool memory_file_map(struct memory_file *f, char *at) {
    if (!memory_file_back(f, 0, f->shape.table_at + f->shape.page_max * sizeof(struct page))) {
        return false;
    }
    void *map = mmap(at, f->shape.file_bytes, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_FIXED | MAP_NORESERVE, f->fd, 0);
    if (map == MAP_FAILED) {
        return false;
    }
    f->head = (struct memory_head *)map;
    if (f->is_new) {
        memory_init_head(f);
        failpoint_reach("head_made");
    }
    return true;
}

void memory_file_complete(struct memory_file *f) {
    atomic_store_explicit(&f->head->magic, MAGIC, memory_order_release);
}

bool memory_file_back(const struct memory_file *f, size_t at, size_t bytes) {
    int done;
    do {
        done = fallocate(f->fd, 0, (off_t)at, (off_t)bytes);
    } while (done != 0 && errno == EINTR);
    return done == 0 || errno == EOPNOTSUPP;
}

void memory_file_unback(const struct memory_file *f, size_t at, size_t bytes) {
    fallocate(f->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)at, (off_t)bytes);
}

void memory_file_sync(const struct memory_file *f) {
    msync(f->head, f->shape.file_bytes, MS_SYNC); /* does nothing for tmpfs and hugetlbfs */
}

void memory_file_close(struct memory_file **taken) {
    struct memory_file *f = *taken;
    *taken = NULL;
    if (f != NULL) {
        close(f->fd);
        free(f->path);
        free(f);
    }
}
