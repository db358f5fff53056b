#include "actor.h"

#include <dlfcn.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "server.h"

enum {
    READS_MOST = 100, /* readings of the clock by the first actor, which may wait for others without a call that waits */
    NAP_US = 200,
    FDS_MAX = 2048, /* descriptors that actors wait for */
};

static struct {
    struct actor actors[ACTORS_MAX];
    unsigned     count; /* slots ever used */
    uint64_t     now_us, random, switches;
    unsigned     real; /* the number of actors that want the world's time to follow real time */
    uint64_t     ahead_us; /* while real > 0: how far real time is ahead of the world's time */
    bool         fds_changed; /* since the last poll */
} world = {.now_us = 1, .random = 1};

static _Thread_local struct actor *self;

void *world_real(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (found == NULL) {
        fprintf(stderr, "world: the system has no %s\n", name);
        abort();
    }
    return found;
}

struct actor *actor_self(void) { return self; }

void world_fds_changed(void) { world.fds_changed = true; }

uint64_t world_now_us(void) { return world.now_us; }

static uint64_t actor_real_us(void) {
    struct timespec t;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 * 1000 + (uint64_t)t.tv_nsec / 1000;
}

void world_goes_with_real_time(bool is_real) {
    world.ahead_us = world.real == 0 ? actor_real_us() - world.now_us : world.ahead_us;
    world.real += is_real ? 1u : -1u;
}

bool world_is_empty(void) {
    for (struct actor *a = world.actors; a < world.actors + world.count; a++) {
        if (a != self && a->used && !a->done) {
            return false;
        }
    }
    return true;
}

uint64_t world_random_step(uint64_t *x) { /* xorshift64 */
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    return *x;
}

uint64_t world_random(void) { return world_random_step(&world.random); }

uint64_t world_read_us(void) {
    if (self == &world.actors[0] && ++self->reads > READS_MOST) {
        actor_yield();
    }
    return world.now_us++;
}

uint64_t world_work_us(void) {
    world.now_us++;
    return self != NULL ? self->worked_us++ : 0;
}

/* --- the running actor --- */

static bool actor_is_held(const struct actor *a) { return a->server != NULL && world_server_is_held(a->server); }

static bool actor_may_run(struct actor *a) {
    return !actor_is_held(a) && (!a->waits || a->has_fd || a->until_us <= world.now_us ||
                           (a->is_ready != NULL && a->is_ready(a->ready_arg)));
}

/* Polls the descriptors of all waiting actors, by one call. */
static void actor_poll_all(void) {
    static struct pollfd fds[FDS_MAX];
    const struct timespec none = {0};
    unsigned n = 0;
    for (struct actor *a = world.actors; a < world.actors + world.count; a++) {
        for (unsigned i = 0; a->used && a->waits && i < a->fd_count; i++) {
            if (n == FDS_MAX) {
                fprintf(stderr, "world: more than %d descriptors are waited for\n", FDS_MAX);
                abort();
            }
            fds[n++] = a->fds[i];
        }
    }
    syscall(SYS_ppoll, fds, n, &none, NULL, 0);
    n = 0;
    for (struct actor *a = world.actors; a < world.actors + world.count; a++) {
        a->has_fd = false;
        for (unsigned i = 0; a->used && a->waits && i < a->fd_count; i++) {
            a->has_fd = fds[n++].revents != 0 || a->has_fd;
        }
    }
    world.fds_changed = false;
}

static void actor_print_stuck(void) {
    fprintf(stderr, "world: every thread waits, and none for a time\n");
    abort();
}

/* When this returns, another process may have sent bytes to an actor. */
static void actor_nap(void) {
    const struct timespec t = {.tv_nsec = NAP_US * 1000};
    syscall(SYS_nanosleep, &t, NULL);
    world.fds_changed = true;
    uint64_t now_us = actor_real_us() - world.ahead_us;
    world.now_us = now_us > world.now_us ? now_us : world.now_us;
}

/* The actors that may run. `next_us` becomes the earliest time that another one waits for. */
static unsigned actor_find_ready(struct actor *may[ACTORS_MAX], uint64_t *next_us) {
    unsigned n = 0;
    *next_us = system_timers(world.now_us);
    if (world.fds_changed) {
        actor_poll_all();
    }
    for (struct actor *a = world.actors; a < world.actors + world.count; a++) {
        if (a->used && !a->done) {
            if (actor_may_run(a)) {
                may[n++] = a;
            } else if (a->until_us > world.now_us && a->until_us < *next_us) {
                *next_us = a->until_us;
            }
        }
    }
    return n;
}

/* Draws one of the actors that may run. With none, time passes. */
static struct actor *actor_choose(void) {
    struct actor *may[ACTORS_MAX];
    uint64_t next_us;
    world.fds_changed = world.fds_changed || world.real > 0;
    for (;;) {
        bool looked = world.fds_changed;
        unsigned n = actor_find_ready(may, &next_us);
        if (n > 0) {
            return n == 1 ? may[0] : may[world_random() % n];
        }
        if (!looked) { /* a call that system.c does not replace may have changed it */
            world.fds_changed = true;
        } else if (world.real > 0) {
            actor_nap();
        } else if (next_us == WORLD_FOREVER) {
            actor_print_stuck();
        } else {
            world.now_us = next_us;
        }
    }
}

static void actor_await_go(struct actor *a) {
    while (__atomic_exchange_n(&a->go, 0, __ATOMIC_ACQUIRE) == 0) {
        syscall(SYS_futex, &a->go, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    }
}

static void actor_let_go(struct actor *a) {
    __atomic_store_n(&a->go, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &a->go, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void actor_make_way(void) {
    struct actor *me = self, *next = actor_choose();
    if (next != me) {
        actor_let_go(next);
        actor_await_go(me);
    }
    me->reads = 0;
}

void actor_yield(void) {
    if (self != NULL) {
        actor_make_way();
    }
}

void actor_may_make_way(void) {
    if (world.switches > 0 && world_random() % world.switches == 0) {
        actor_yield();
    }
}

static bool actor_wait_here(struct actor *me, uint64_t until_us) {
    if (me == NULL) { /* before the world begins */
        return false;
    }
    me->until_us = until_us;
    me->waits = true;
    actor_make_way();
    me->waits = false;
    me->is_ready = NULL;
    me->fd_count = 0;
    me->has_fd = false;
    return world.now_us < until_us;
}

bool actor_wait(bool (*is_ready)(void *), void *arg, uint64_t until_us) {
    if (self != NULL) {
        self->is_ready = is_ready;
        self->ready_arg = arg;
    }
    return actor_wait_here(self, until_us);
}

bool actor_wait_for_fds(const struct pollfd *fds, unsigned count, uint64_t until_us) {
    if (self != NULL) {
        self->fds = fds;
        self->fd_count = count;
        world.fds_changed = true;
    }
    return actor_wait_here(self, until_us);
}

void actor_wake(const void *condition, bool all) {
    for (struct actor *a = world.actors; a < world.actors + world.count; a++) {
        if (a->used && a->condition == condition) {
            a->condition = NULL;
            if (!all) {
                return;
            }
        }
    }
}

/* --- threads --- */

static struct actor *actor_take_slot(void) {
    for (struct actor *a = world.actors; a < world.actors + ACTORS_MAX; a++) {
        if (!a->used || (a->done && a->joined)) {
            unsigned slot = (unsigned)(a - world.actors);
            world.count = slot >= world.count ? slot + 1 : world.count;
            return a;
        }
    }
    fprintf(stderr, "world: more than %d threads\n", ACTORS_MAX);
    abort();
}

static struct actor *actor_find_thread(pthread_t thread) {
    for (struct actor *a = world.actors; a < world.actors + world.count; a++) {
        if (a->used && !a->joined && pthread_equal(a->thread, thread)) {
            return a;
        }
    }
    return NULL;
}

void world_seed(uint64_t seed, uint64_t switches) {
    world.switches = switches;
    world.random = seed * 2 + 1;
    for (int i = 0; i < 8; i++) {
        world_random();
    }
}

/* On one processor a thread goes on where another stops without waking a second one. */
void world_begin(void) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    self = actor_take_slot();
    *self = (struct actor){.used = true, .thread = pthread_self()};
}

static void *actor_main(void *arg) {
    self = arg;
    actor_await_go(self);
    void *result = self->run(self->arg);
    self->done = true;
    actor_let_go(actor_choose());
    return result;
}

int actor_start(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg) {
    struct actor *a = actor_take_slot();
    *a = (struct actor){.used = true, .run = run, .arg = arg, .server = self->server};
    int error = REAL(pthread_create)(&a->thread, attr, actor_main, a);
    *thread = a->thread;
    a->used = error == 0;
    return error;
}

static bool actor_is_done(void *actor) { return ((struct actor *)actor)->done; }

int actor_join(pthread_t thread, void **result) {
    struct actor *a = actor_find_thread(thread);
    while (a != NULL && !a->done) {
        actor_wait(actor_is_done, a, WORLD_FOREVER);
    }
    int error = REAL(pthread_join)(thread, result);
    if (a != NULL) {
        a->joined = true;
    }
    return error;
}

int actor_detach(pthread_t thread) {
    struct actor *a = actor_find_thread(thread);
    if (a != NULL) {
        a->joined = true;
    }
    return REAL(pthread_detach)(thread);
}
