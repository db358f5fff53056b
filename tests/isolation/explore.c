#include "explore.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cache/cache.h"
#include "cache/pages/page_moves.h"

enum { CHOICES_MAX = 4096, PATH_BYTES = 2048, CLOCK_START_US = 1000 * 1000 };

enum actor_state { ACTOR_READY, ACTOR_ASLEEP, ACTOR_DONE };

struct actor {
    const struct scene *scene;
    unsigned         id;
    pthread_t        thread;
    sem_t            go;
    enum actor_state state;
    uint64_t         wake_us;
    unsigned         locks_held;
    const char      *point; /* the place where it yielded */
};

/* A place where more than one actor could have gone on. */
struct choice {
    uint8_t taken, options;
};

static struct {
    struct actor  actors[ACTORS_MAX];
    const struct scene *scene;
    sem_t         all_done;
    uint64_t      now_us;
    struct choice choices[CHOICES_MAX];
    unsigned      choice_count, depth; /* known from runs before; met in this run */
    unsigned      preemptions_left;
    char          path[PATH_BYTES];
    size_t        path_bytes;
    struct explored sum;
} world = {.now_us = CLOCK_START_US};

static _Thread_local struct actor *self; /* NULL: not an actor */

/* --- in an actor --- */

static void explore_await(sem_t *s) {
    while (sem_wait(s) != 0) {
        assert(errno == EINTR);
    }
}

static struct actor *explore_pass_on(struct actor *from);

static void explore_make_way(const char *point) {
    self->point = point;
    if (explore_pass_on(self) != self) {
        explore_await(&self->go);
    }
}

/* Yields, unless another actor might then wait for a lock that this actor holds. */
static void point(const char *name) {
    if (self != NULL && self->locks_held == 0) {
        explore_make_way(name);
    }
}

void explore_sleep_until(uint64_t wake_us) {
    if (self == NULL) {
        world.now_us = wake_us > world.now_us ? wake_us : world.now_us;
        return;
    }
    assert(self->locks_held == 0);
    self->wake_us = wake_us;
    self->state = ACTOR_ASLEEP;
    explore_make_way("sleeps");
}

static void *explore_actor_main(void *arg) {
    self = arg;
    explore_await(&self->go);
    self->scene->act(self->scene->arg, self->id);
    self->state = ACTOR_DONE;
    explore_pass_on(self);
    return NULL;
}

/* --- the product's calls, by the linker's --wrap --- */

int __real_pthread_mutex_lock(pthread_mutex_t *);
int __wrap_pthread_mutex_lock(pthread_mutex_t *);
int __wrap_pthread_mutex_lock(pthread_mutex_t *m) {
    point("lock");
    if (self != NULL) {
        self->locks_held++;
    }
    return __real_pthread_mutex_lock(m);
}

int __real_pthread_mutex_unlock(pthread_mutex_t *);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *m) {
    if (self != NULL) {
        self->locks_held--;
    }
    return __real_pthread_mutex_unlock(m);
}

uint64_t __wrap_clock_mono_us(void);
uint64_t __wrap_clock_mono_us(void) { return world.now_us; }

int __wrap_usleep(useconds_t us);
int __wrap_usleep(useconds_t us) {
    explore_sleep_until(world.now_us + us);
    return 0;
}

int __wrap_nanosleep(const struct timespec *t, struct timespec *left);
int __wrap_nanosleep(const struct timespec *t, struct timespec *left) {
    (void)left;
    explore_sleep_until(world.now_us + (uint64_t)t->tv_sec * 1000000 + (uint64_t)t->tv_nsec / 1000);
    return 0;
}

/* Places within a read without a lock: between look-up and copy, between copy and check. */
void __real_cache_read_copy(const struct cache_reader *, char *);
void __wrap_cache_read_copy(const struct cache_reader *, char *);
void __wrap_cache_read_copy(const struct cache_reader *r, char *to) {
    point("item found");
    __real_cache_read_copy(r, to);
}

bool __real_cache_read_end(struct cache_thread *, const struct cache_reader *, bool);
bool __wrap_cache_read_end(struct cache_thread *, const struct cache_reader *, bool);
bool __wrap_cache_read_end(struct cache_thread *ct, const struct cache_reader *r, bool mark_hit) {
    point("value copied");
    return __real_cache_read_end(ct, r, mark_hit);
}

/* A page on its way from class to class. */
bool __real_slab_drain_begin(struct slab *, uint32_t, unsigned, uint32_t);
bool __wrap_slab_drain_begin(struct slab *, uint32_t, unsigned, uint32_t);
bool __wrap_slab_drain_begin(struct slab *s, uint32_t page, unsigned class_id, uint32_t kept) {
    bool begun = __real_slab_drain_begin(s, page, class_id, kept);
    point("page drains");
    return begun;
}

bool __real_page_move_finish(struct moving_page *, struct cache_thread *, uint64_t);
bool __wrap_page_move_finish(struct moving_page *, struct cache_thread *, uint64_t);
bool __wrap_page_move_finish(struct moving_page *m, struct cache_thread *ct, uint64_t until_us) {
    point("page emptied");
    return __real_page_move_finish(m, ct, until_us);
}

void __real_slab_drain_end(struct slab *, uint32_t, unsigned);
void __wrap_slab_drain_end(struct slab *, uint32_t, unsigned);
void __wrap_slab_drain_end(struct slab *s, uint32_t page, unsigned to_class) {
    point("turns over");
    __real_slab_drain_end(s, page, to_class);
}

void __real_slab_page_withdraw(struct slab *, uint32_t);
void __wrap_slab_page_withdraw(struct slab *, uint32_t);
void __wrap_slab_page_withdraw(struct slab *s, uint32_t page) {
    point("turns over");
    __real_slab_page_withdraw(s, page);
}

void __real_cache_turns_note(const struct cache_thread *, uint64_t *);
void __wrap_cache_turns_note(const struct cache_thread *, uint64_t *);
void __wrap_cache_turns_note(const struct cache_thread *ct, uint64_t *seen) {
    __real_cache_turns_note(ct, seen);
    point("turns noted");
}

bool __real_cache_quiesce(struct cache_thread *, uint64_t);
bool __wrap_cache_quiesce(struct cache_thread *, uint64_t);
bool __wrap_cache_quiesce(struct cache_thread *ct, uint64_t deadline_us) {
    point("page emptied");
    bool quiet = __real_cache_quiesce(ct, deadline_us);
    point("turns over");
    return quiet;
}

/* A turn: within it, no page that the thread may read changes its class. */
void __real_cache_turn_end(struct cache_thread *);
void __wrap_cache_turn_end(struct cache_thread *);
void __wrap_cache_turn_end(struct cache_thread *ct) {
    __real_cache_turn_end(ct);
    point("turn ended");
}

/* --- choosing --- */

static void explore_print_switch(const struct actor *from, const struct actor *to) {
    const char *names[2] = {from != NULL ? from->scene->names[from->id] : "", to->scene->names[to->id]};
    int n = snprintf(world.path + world.path_bytes, PATH_BYTES - world.path_bytes, "%s%s%s%s%s", names[0], from != NULL ? " (" : "",
                     from != NULL ? (from->state == ACTOR_DONE ? "done" : from->point) : "", from != NULL ? ") > " : "", names[1]);
    size_t left = PATH_BYTES - world.path_bytes;
    world.path_bytes += (size_t)n < left ? (size_t)n : left - 1;
    if (world.path_bytes + 3 < PATH_BYTES) {
        memcpy(world.path + world.path_bytes, "; ", 3);
        world.path_bytes += 2;
    }
}

/* The choice of this run at this depth among `options`: from the path, the first one beyond the path. */
static unsigned explore_choose(unsigned options) {
    if (options == 1 || world.depth == CHOICES_MAX) {
        return 0;
    }
    if (world.depth == world.choice_count) {
        world.choices[world.choice_count++] = (struct choice){0, (uint8_t)options};
    }
    assert(world.choices[world.depth].options == options); /* otherwise a run is not repeatable */
    return world.choices[world.depth++].taken;
}

/* Sets the path for the next run: the deepest choice that has one more option takes it. False: no path is left. */
static bool explore_next_path(void) {
    while (world.choice_count > 0) {
        struct choice *c = &world.choices[world.choice_count - 1];
        if (++c->taken < c->options) {
            return true;
        }
        world.choice_count--;
    }
    return false;
}

static void explore_wake_earliest(const struct scene *s) {
    struct actor *first = NULL;
    for (unsigned i = 0; i < s->actor_count; i++) {
        struct actor *a = &world.actors[i];
        if (a->state == ACTOR_ASLEEP && (first == NULL || a->wake_us < first->wake_us)) {
            first = a;
        }
    }
    if (first != NULL) {
        first->state = ACTOR_READY;
    }
}

/* The actor that goes on after `last`; NULL: all are done. */
static struct actor *explore_next_actor(const struct scene *s, struct actor *last) {
    struct actor *options[ACTORS_MAX];
    unsigned n = 0;
    bool goes_on = last != NULL && last->state == ACTOR_READY;
    if (goes_on) {
        options[n++] = last;
    }
    for (unsigned i = 0; i < s->actor_count && !(goes_on && world.preemptions_left == 0); i++) {
        struct actor *a = &world.actors[i];
        if (a != last && a->state == ACTOR_READY) {
            options[n++] = a;
        }
    }
    if (n == 0) {
        explore_wake_earliest(s);
        for (unsigned i = 0; i < s->actor_count; i++) {
            if (world.actors[i].state == ACTOR_READY) {
                options[n++] = &world.actors[i];
            }
        }
        if (n == 0) {
            return NULL;
        }
    }
    struct actor *next = options[explore_choose(n)];
    world.preemptions_left -= goes_on && next != last;
    return next;
}

/* Another actor has run: a sleeper's condition may have become true. */
static void explore_wake_others(const struct scene *s, const struct actor *ran) {
    for (unsigned i = 0; i < s->actor_count; i++) {
        struct actor *a = &world.actors[i];
        if (a != ran && a->state == ACTOR_ASLEEP && ran->state != ACTOR_ASLEEP) {
            a->state = ACTOR_READY;
        }
    }
}

/* Hands the baton from its holder `from` to the next actor, which may be `from` itself. */
static struct actor *explore_pass_on(struct actor *from) {
    if (from != NULL) {
        explore_wake_others(world.scene, from);
        world.sum.points++;
    }
    struct actor *next = explore_next_actor(world.scene, from);
    if (next == NULL) {
        sem_post(&world.all_done);
        return NULL;
    }
    world.now_us = next->wake_us > world.now_us ? next->wake_us : world.now_us;
    next->wake_us = 0;
    if (next != from) {
        explore_print_switch(from, next);
        world.sum.switches++;
        sem_post(&next->go);
    }
    return next;
}

static void explore_run_once(const struct scene *s, unsigned preemptions) {
    world.scene = s;
    world.depth = 0;
    world.preemptions_left = preemptions;
    world.path_bytes = 0;
    world.path[0] = 0;
    for (unsigned i = 0; i < s->actor_count; i++) {
        struct actor *a = &world.actors[i];
        *a = (struct actor){.scene = s, .id = i};
        sem_init(&a->go, 0, 0);
        pthread_create(&a->thread, NULL, explore_actor_main, a);
    }
    explore_pass_on(NULL);
    explore_await(&world.all_done);
    for (unsigned i = 0; i < s->actor_count; i++) {
        pthread_join(world.actors[i].thread, NULL);
        sem_destroy(&world.actors[i].go);
    }
}

struct explored explore(const struct scene *s, unsigned preemptions, unsigned long runs_most) {
    sem_init(&world.all_done, 0, 0);
    world.choice_count = 0;
    world.sum = (struct explored){0};
    while (!world.sum.complete && world.sum.runs < runs_most && s->open(s->arg)) {
        explore_run_once(s, preemptions);
        world.sum.runs++;
        s->close(s->arg, world.path);
        world.sum.complete = !explore_next_path();
    }
    sem_destroy(&world.all_done);
    return world.sum;
}
