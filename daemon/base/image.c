#include "base/image.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROOM_LEAST = 64 * 1024 };

static bool fail(struct image *i) {
    i->failed = true;
    return false;
}

/* Makes room for so many bytes, perhaps at another address. */
static bool grow(struct image *i, size_t size) {
    if (ftruncate(i->fd, (off_t)size) != 0) {
        return fail(i);
    }
    void *map = i->bytes == NULL
                    ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, i->fd, 0)
                    : mremap(i->bytes, i->size, size, MREMAP_MAYMOVE);
    if (map == MAP_FAILED) {
        return fail(i);
    }
    i->bytes = map;
    i->size = size;
    return true;
}

bool image_make(struct image *i, size_t room_bytes) {
    *i = (struct image){.fd = memfd_create("slated-image", MFD_CLOEXEC)};
    if (i->fd < 0 || !grow(i, room_bytes > ROOM_LEAST ? room_bytes : ROOM_LEAST)) {
        int saved = errno;
        image_close(i);
        errno = saved;
        return false;
    }
    /* only a request: memory that is not backed now is backed when it is written */
    madvise(i->bytes, i->size, MADV_POPULATE_WRITE);
    return true;
}

bool image_open(struct image *i, int taken_fd) {
    struct stat st;
    *i = (struct image){.fd = taken_fd, .reads = true};
    if (fstat(taken_fd, &st) == 0 && st.st_size > 0) {
        void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED | MAP_POPULATE, taken_fd,
                         0);
        i->bytes = map != MAP_FAILED ? map : NULL;
        i->size = (size_t)st.st_size;
    }
    if (i->bytes == NULL) {
        int saved = errno;
        image_close(i);
        errno = saved;
        return false;
    }
    return true;
}

bool image_finish(struct image *i) {
    size_t size = i->at > 0 ? i->at : 1;
    return !i->failed && (ftruncate(i->fd, (off_t)size) == 0 || fail(i));
}

void image_close(struct image *i) {
    if (i->bytes != NULL) {
        munmap(i->bytes, i->size);
    }
    if (i->fd >= 0) {
        close(i->fd);
    }
    *i = (struct image){.fd = -1};
}

/* Each part begins at a multiple of 8, the alignment of the widest number in it. */
static size_t padded(size_t bytes) { return (bytes + 7) & ~(size_t)7; }

void image_put(struct image *i, const void *from, size_t bytes) {
    size_t size = i->size;
    while (size - i->at < padded(bytes)) {
        size *= 2;
    }
    if (!i->failed && (size == i->size || grow(i, size)) && bytes > 0) {
        memcpy(i->bytes + i->at, from, bytes);
        i->at += padded(bytes);
    }
}

const void *image_part(struct image *i, size_t bytes) {
    if (i->failed || bytes > SIZE_MAX - 8 || padded(bytes) > i->size - i->at) {
        fail(i);
        return NULL;
    }
    const void *part = i->bytes + i->at;
    i->at += padded(bytes);
    return part;
}

bool image_take(struct image *i, void *to, size_t bytes) {
    const void *from = image_part(i, bytes);
    if (from == NULL) {
        memset(to, 0, bytes);
        return false;
    }
    memcpy(to, from, bytes);
    return true;
}

uint64_t image_take_u64(struct image *i) {
    uint64_t v;
    image_take(i, &v, sizeof v);
    return v;
}
