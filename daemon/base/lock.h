/* The project's mutex: a pthread mutex that, where asserts are on, proves that a thread holds one
 * at a time.
 *
 * There is no lock order in Slate because no thread ever holds two of these. Threading: any. Cost:
 * that of an uncontended pthread mutex, 15 to 20 ns for a pair of calls. */
#ifndef SLATE_BASE_LOCK_H
#define SLATE_BASE_LOCK_H
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>

struct lock {
    pthread_mutex_t mutex;
};

#ifndef NDEBUG
extern _Thread_local const struct lock *lock_owned; /* the one this thread holds, or NULL */
static inline bool lock_held(const struct lock *l) { return lock_owned == l; }
static inline bool lock_none_held(void) { return lock_owned == NULL; }
#endif

static inline void lock_init(struct lock *l) { pthread_mutex_init(&l->mutex, NULL); }
static inline void lock_fini(struct lock *l) { pthread_mutex_destroy(&l->mutex); }

static inline void lock_take(struct lock *l) {
    assert(lock_none_held());
    pthread_mutex_lock(&l->mutex);
#ifndef NDEBUG
    lock_owned = l;
#endif
}

static inline void lock_release(struct lock *l) {
    assert(lock_held(l));
#ifndef NDEBUG
    lock_owned = NULL;
#endif
    pthread_mutex_unlock(&l->mutex);
}
#endif
