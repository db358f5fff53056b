/* The threads of a process as actors, of which one runs at a time, until it waits or yields. The seed draws the next one.
 * The world's time passes when all actors wait, up to the next time that one of them waits for; each reading of the clock
 * adds a microsecond.
 *
 * system.c puts these functions in the place of the system's calls that wait, and of those that read the time. */
#ifndef SLATE_WORLD_ACTOR_H
#define SLATE_WORLD_ACTOR_H
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { ACTORS_MAX = 512 };
#define WORLD_FOREVER UINT64_MAX
#define WORLD_UNIX_S UINT64_C(1800000000) /* the system's time when the world begins: January 2027 */

struct world_server;

struct actor {
    bool      used, done, joined; /* joined: the thread is joined or detached */
    pthread_t thread;
    void   *(*run)(void *);
    void     *arg;
    uint32_t  go;               /* a futex; 1: the actor may run */
    bool      waits;
    bool    (*is_ready)(void *); /* the condition that the actor waits for; NULL: only fds and a time */
    void     *ready_arg;
    const struct pollfd *fds;    /* or for one of these */
    unsigned  fd_count;
    bool      has_fd;           /* one of them was ready at the last poll */
    uint64_t  until_us;
    const void *condition;      /* the condition variable that the actor waits for */
    uint64_t  worked_us;        /* the thread's own processor time */
    unsigned  reads;            /* of the clock, since its last wait */
    struct world_server *server; /* NULL: none */
};

/* The calling thread becomes the first actor. Once. */
void     world_begin(void);
/* Draws anew from this seed. A thread yields before one lock of so many; 0: before none. */
void     world_seed(uint64_t seed, uint64_t switches);
/* The world's time follows real time until as many calls had false as true. */
void     world_goes_with_real_time(bool);
bool     world_is_empty(void);   /* true without another actor */
void     world_fds_changed(void); /* an actor's descriptor may be ready now */
uint64_t world_random(void);
uint64_t world_random_step(uint64_t *);
uint64_t world_now_us(void);     /* since the world's beginning */
uint64_t world_read_us(void);    /* the same, and a microsecond passes */
uint64_t world_work_us(void);    /* likewise, of the calling thread */

struct actor *actor_self(void);
/* Lets others run until `is_ready` returns true or the time has come (false). May return early: the caller checks again. */
bool actor_wait(bool (*is_ready)(void *), void *arg, uint64_t until_us);
bool actor_wait_for_fds(const struct pollfd *, unsigned count, uint64_t until_us);
void actor_yield(void); /* lets another run, perhaps */
void actor_may_make_way(void); /* likewise, as often as world_seed says */
/* Wakes one of the actors that wait for a condition variable, or all. */
void actor_wake(const void *condition, bool all);

int actor_start(pthread_t *, const pthread_attr_t *, void *(*run)(void *), void *arg);
int actor_join(pthread_t, void **result);
int actor_detach(pthread_t);

/* Fires timers that are descriptors. Returns when the next is due. */
uint64_t system_timers(uint64_t now_us);

/* The system's own function of this name, behind that of system.c. */
void *world_real(const char *name);
#define REAL(name) \
    ({ \
        static __typeof__(&name) real_##name; \
        real_##name = real_##name ? real_##name : (__typeof__(&name))world_real(#name); \
        real_##name; \
    })
#endif
