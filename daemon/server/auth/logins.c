#include "server/auth/logins.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/thread.h"

struct login_lane {
    struct login_step *first, **end;
    unsigned           count;
};

struct logins {
    struct lock    lock; /* guards all fields below */
    pthread_cond_t changed;
    struct login_lane    lane[LOGINS_LANES];
    unsigned       next_lane; /* the lane whose turn is next */
    unsigned       waiting;   /* in all lanes */
    unsigned       running;   /* threads that still run */
    bool           stopping;
    pthread_t      thread[LOGINS_THREADS];
};

/* --- lanes --- */

static void login_lane_push(struct logins *l, struct login_lane *lane, struct login_step *step) {
    step->next = NULL;
    *lane->end = step;
    lane->end = &step->next;
    lane->count++;
    l->waiting++;
}

static struct login_step *login_lane_pop(struct logins *l, struct login_lane *lane) {
    struct login_step *step = lane->first;
    lane->first = step->next;
    lane->end = lane->first != NULL ? lane->end : &lane->first;
    lane->count--;
    l->waiting--;
    return step;
}

static struct login_step *logins_next_step(struct logins *l) {
    for (unsigned i = 0; i < LOGINS_LANES && l->waiting > 0; i++) {
        struct login_lane *lane = &l->lane[l->next_lane];
        l->next_lane = (l->next_lane + 1) % LOGINS_LANES;
        if (lane->count > 0) {
            return login_lane_pop(l, lane);
        }
    }
    return NULL;
}

static struct login_lane *logins_longest_lane(struct logins *l) {
    struct login_lane *longest = &l->lane[0];
    for (unsigned i = 1; i < LOGINS_LANES; i++) {
        longest = l->lane[i].count > longest->count ? &l->lane[i] : longest;
    }
    return longest;
}

/* --- a step --- */

struct login_step *login_step_create(struct cyrus *dialogue, enum login_verb verb,
                                     const char *mechanism, size_t mechanism_bytes,
                                     const char *bytes, size_t n) {
    struct login_step *step = calloc(1, sizeof *step + n);
    if (step == NULL) {
        return NULL;
    }
    future_init(&step->future);
    step->dialogue = dialogue;
    step->verb = verb;
    if (mechanism_bytes > LOGIN_MECHANISM_BYTES) {
        mechanism_bytes = LOGIN_MECHANISM_BYTES;
    }
    memcpy(step->mechanism, mechanism, mechanism_bytes);
    memcpy(step->bytes, bytes, n);
    step->n = n;
    return step;
}

void login_step_release(struct login_step *step) {
    if (future_release(&step->future)) {
        cyrus_destroy(&step->dialogue);
        OPENSSL_cleanse(step->bytes, step->n);
        free(step);
    }
}

static void login_step_run(struct login_step *step) {
    if (step->dialogue == NULL) {
        step->dialogue = cyrus_create();
    }
    struct cyrus *dialogue = step->dialogue;
    if (dialogue == NULL) {
        return;
    }
    switch (step->verb) {
    case LOGIN_MECHANISMS:
        step->verdict = cyrus_mechanisms(dialogue, &step->text) ? CYRUS_PROVEN : CYRUS_REFUSED;
        return;
    case LOGIN_BEGIN:
        step->verdict =
            cyrus_begin(dialogue, step->mechanism, step->bytes, step->n, &step->text);
        break;
    case LOGIN_CONTINUE:
        step->verdict = cyrus_continue(dialogue, step->bytes, step->n, &step->text);
        break;
    }
    if (step->verdict == CYRUS_PROVEN) {
        cyrus_user(dialogue, step->user, sizeof step->user);
    }
}

/* --- the threads --- */

static void login_step_answer(struct login_step *step) {
    future_answer(&step->future);
    login_step_release(step);
}

static void *logins_main(void *arg) {
    struct logins *l = arg;
    thread_name("slated-login");
    lock_take(&l->lock);
    for (;;) {
        struct login_step *step = logins_next_step(l);
        bool refuse = l->stopping;
        if (step == NULL && refuse) {
            break;
        }
        if (step == NULL) {
            pthread_cond_wait(&l->changed, &l->lock.mutex);
            continue;
        }
        lock_release(&l->lock);
        if (!refuse && !future_is_cancelled(&step->future)) {
            login_step_run(step);
        }
        login_step_answer(step);
        lock_take(&l->lock);
    }
    l->running--;
    pthread_cond_broadcast(&l->changed);
    lock_release(&l->lock);
    return NULL;
}

static bool logins_start_threads(struct logins *l) {
    int error = 0;
    while (l->running < LOGINS_THREADS && error == 0) {
        lock_take(&l->lock);
        error = thread_start(&l->thread[l->running], logins_main, l);
        if (error == 0) {
            l->running++;
        }
        lock_release(&l->lock);
    }
    return error == 0;
}

struct logins *logins_create(const char **why) {
    *why = cyrus_start();
    if (*why != NULL) {
        return NULL;
    }
    struct logins *l = calloc(1, sizeof *l);
    if (l == NULL) {
        cyrus_stop();
        *why = "out of memory";
        return NULL;
    }
    lock_init(&l->lock);
    pthread_cond_init(&l->changed, NULL);
    for (unsigned i = 0; i < LOGINS_LANES; i++) {
        l->lane[i].end = &l->lane[i].first;
    }
    if (!logins_start_threads(l)) {
        logins_destroy(&l);
        *why = "no thread can be had";
    }
    return l;
}

/* Returns whether all threads have ended. */
static bool logins_end_threads(struct logins *l) {
    struct timespec until = clock_deadline(LOGINS_STOP_S);
    lock_take(&l->lock);
    unsigned count = l->running;
    l->stopping = true;
    pthread_cond_broadcast(&l->changed);
    while (l->running > 0 && pthread_cond_clockwait(&l->changed, &l->lock.mutex, CLOCK_MONOTONIC,
                                                    &until) != ETIMEDOUT) {
    }
    bool ended = l->running == 0;
    lock_release(&l->lock);
    for (unsigned i = 0; i < count; i++) {
        if (ended) {
            pthread_join(l->thread[i], NULL);
        } else {
            pthread_detach(l->thread[i]);
        }
    }
    return ended;
}

void logins_destroy(struct logins **taken) {
    struct logins *l = *taken;
    *taken = NULL;
    /* a thread that still runs uses lock and lanes: they are leaked */
    if (l != NULL && logins_end_threads(l)) {
        pthread_cond_destroy(&l->changed);
        lock_fini(&l->lock);
        free(l);
        cyrus_stop();
    }
}

bool logins_post(struct logins *l, struct login_step *step, uint64_t address_hash) {
    struct login_lane *lane = &l->lane[address_hash % LOGINS_LANES], *longest;
    struct login_step *refused = NULL;
    lock_take(&l->lock);
    bool room = l->waiting < LOGINS_WAITING;
    if (!room && (longest = logins_longest_lane(l))->count > lane->count) {
        refused = login_lane_pop(l, longest);
        room = true;
    }
    if (room) {
        future_hold(&step->future);
        login_lane_push(l, lane, step);
        pthread_cond_signal(&l->changed);
    }
    lock_release(&l->lock);
    if (refused != NULL) {
        login_step_answer(refused);
    }
    return room;
}
