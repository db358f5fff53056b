/* A thread that another one can make rest. It calls rest_here() between two pieces of its work, and
 * stays there while the other asks it to. Each of the two sees what the other did before.
 *
 * Threading: one thread rests, one asks. Cost of rest_here: a load. */
#ifndef SLATE_BASE_REST_H
#define SLATE_BASE_REST_H
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct rest {
    _Atomic bool    asked;
    bool            rests;
    pthread_mutex_t mutex;
    pthread_cond_t  changed;
};

void rest_init(struct rest *);
void rest_fini(struct rest *);

void rest_ask(struct rest *); /* also before the thread is started */
/* Whether the thread rests within so many microseconds. If not, it is still asked to. */
bool rest_await(struct rest *, uint64_t most_us);
void rest_end(struct rest *);

void rest_until_end(struct rest *);
static inline bool rest_is_asked(const struct rest *r) {
    return atomic_load_explicit(&r->asked, memory_order_relaxed);
}
static inline void rest_here(struct rest *r) {
    if (rest_is_asked(r)) {
        rest_until_end(r);
    }
}
#endif
