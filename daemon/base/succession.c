#include "base/succession.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The other process must not cut the file: a look at it would then end this process. */
enum { SEALS = F_SEAL_SHRINK | F_SEAL_GROW };

static bool map(struct succession *s) {
    void *at = mmap(NULL, sizeof *s->word, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
    s->word = at != MAP_FAILED ? at : NULL;
    return s->word != NULL;
}

static bool fail_closed(struct succession *s) {
    int saved = errno;
    succession_close(s);
    errno = saved;
    return false;
}

bool succession_make(struct succession *s) {
    *s = (struct succession){
        .fd = memfd_create("slated-succession", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
    bool made = s->fd >= 0 && ftruncate(s->fd, sizeof *s->word) == 0 &&
                fcntl(s->fd, F_ADD_SEALS, SEALS) == 0 && map(s);
    return made || fail_closed(s);
}

bool succession_join(struct succession *s, int taken_fd) {
    struct stat st;
    *s = (struct succession){.fd = taken_fd};
    int seals = fcntl(s->fd, F_GET_SEALS);
    if (seals < 0 || (seals & SEALS) != SEALS || fstat(s->fd, &st) != 0 ||
        st.st_size != sizeof *s->word) {
        errno = EINVAL;
        return fail_closed(s);
    }
    return map(s) || fail_closed(s);
}

void succession_close(struct succession *s) {
    if (s->word != NULL) {
        munmap((void *)s->word, sizeof *s->word);
    }
    if (s->fd >= 0) {
        close(s->fd);
    }
    *s = (struct succession){.fd = -1};
}

static bool change(struct succession *s, uint32_t was, enum succession_side to) {
    return atomic_compare_exchange_strong_explicit(s->word, &was, to, memory_order_acq_rel,
                                                   memory_order_acquire);
}

bool succession_take(struct succession *s, enum succession_side side) {
    return change(s, SUCCESSION_OPEN, side);
}

bool succession_serve(struct succession *s) {
    return change(s, SUCCESSION_NEXT, SUCCESSION_NEXT_SERVES);
}

bool succession_take_back(struct succession *s) {
    return change(s, SUCCESSION_NEXT, SUCCESSION_FIRST);
}

enum succession_side succession_look(const struct succession *s) {
    return (enum succession_side)atomic_load_explicit(s->word, memory_order_acquire);
}
