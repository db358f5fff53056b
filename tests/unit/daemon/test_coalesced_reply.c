/* Replies that are made once for all sessions that request them at once: which session makes the reply, which wait, how long the reply is
 * valid, and which session takes over. */
#include "tap.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "server/coalesced_reply.h"

static void count_wake(void *arg) { ++*(unsigned *)arg; }

static struct coalesced_waiter seat_of(unsigned *woken) { return (struct coalesced_waiter){.wake = count_wake, .wake_arg = woken}; }

static _Atomic uint64_t now_us = 1000; /* the test's clock */

static void make(struct coalesced_reply *a, struct coalesced_waiter *seat, const char *text, uint64_t age_us) {
    struct text_out out;
    text_out_init(&out);
    text_out_str(&out, text);
    if (!coalesced_publish(a, seat, &out, age_us, now_us)) {
        abort();
    }
    text_out_fini(&out);
}

static bool reads(const struct coalesced_waiter *seat, const char *text) {
    return seat->text != NULL && seat->text->out.used == strlen(text) && memcmp(seat->text->out.bytes, text, strlen(text)) == 0;
}

TEST(test_one_session_makes_the_reply) {
    struct coalesced_reply a;
    unsigned woken = 0;
    struct coalesced_waiter one = seat_of(&woken), two = seat_of(&woken), three = seat_of(&woken);
    coalesced_reply_init(&a);
    is(coalesced_join(&a, &one, now_us), COALESCED_MAKE, "the first session to request it makes the reply");
    is(coalesced_join(&a, &two, now_us), COALESCED_WAIT, "the second waits");
    is(coalesced_join(&a, &two, now_us), COALESCED_WAIT, "also when it was woken too early");
    is(coalesced_join(&a, &three, now_us), COALESCED_WAIT, "and so does the third");
    coalesced_leave(&a, &three);
    make(&a, &one, "text", 0);
    is(woken, 1, "a session that still waits is woken, once");
    is(coalesced_join(&a, &two, now_us), COALESCED_READY, "and has the reply, even one that is valid for no later request");
    ok(reads(&one, "text") && reads(&two, "text"), "which is the same for both");
    is(coalesced_join(&a, &three, now_us), COALESCED_MAKE, "a later request makes another");
    make(&a, &three, "later", 500);
    ok(reads(&one, "text") && reads(&three, "later"), "those before keep theirs");
    coalesced_leave(&a, &one);
    now_us += 499;
    is(coalesced_join(&a, &one, now_us), COALESCED_READY, "a request within the time of validity has it");
    ok(reads(&one, "later"), "without being made again");
    coalesced_leave(&a, &one);
    now_us++;
    is(coalesced_join(&a, &one, now_us), COALESCED_MAKE, "a later request makes another");
    coalesced_leave(&a, &one);
    coalesced_leave(&a, &two);
    coalesced_leave(&a, &three);
    coalesced_reply_fini(&a);
}

TEST(test_the_age_is_bounded) {
    struct coalesced_reply a;
    unsigned woken = 0;
    struct coalesced_waiter one = seat_of(&woken);
    coalesced_reply_init(&a);
    coalesced_join(&a, &one, now_us);
    make(&a, &one, "dear", UINT64_MAX);
    is(one.text->until_us, now_us + COALESCED_AGE_MAX_US, "no answer serves for longer than a second");
    coalesced_leave(&a, &one);
    coalesced_reply_fini(&a);
}

TEST(test_another_takes_over) {
    struct coalesced_reply a;
    unsigned woken = 0;
    struct coalesced_waiter one = seat_of(&woken), two = seat_of(&woken), three = seat_of(&woken);
    coalesced_reply_init(&a);
    coalesced_join(&a, &one, now_us);
    coalesced_join(&a, &two, now_us);
    coalesced_join(&a, &three, now_us);
    coalesced_leave(&a, &one);
    is(woken, 2, "when the session that makes the reply leaves, all waiting ones are woken");
    is(coalesced_join(&a, &two, now_us), COALESCED_MAKE, "the first of them makes it");
    is(coalesced_join(&a, &three, now_us), COALESCED_WAIT, "the others go on waiting");
    make(&a, &two, "text", 0);
    ok(coalesced_join(&a, &three, now_us) == COALESCED_READY && reads(&three, "text"), "and have it");
    coalesced_leave(&a, &two);
    coalesced_leave(&a, &three);
    coalesced_reply_fini(&a);
}

/* --- many threads --- */

enum { ASKERS = 4, ROUNDS = 20000 };

struct asker {
    struct coalesced_reply *answer;
    sem_t                 woken;
    uint64_t              random;
    unsigned              had, made, wrong;
};

static void wake_asker(void *arg) { sem_post(&((struct asker *)arg)->woken); }

static bool ask_once(struct asker *k) {
    struct coalesced_waiter seat = {.wake = wake_asker, .wake_arg = k};
    enum coalesced_part part;
    now_us++;
    while ((part = coalesced_join(k->answer, &seat, now_us)) == COALESCED_WAIT) {
        sem_wait(&k->woken);
    }
    k->random = k->random * 6364136223846793005u + 1442695040888963407u;
    bool leaves = part == COALESCED_MAKE && k->random >> 62 == 0;
    if (part == COALESCED_MAKE && !leaves) {
        make(k->answer, &seat, "text", (k->random >> 60) * 20);
        k->made++;
    }
    k->wrong += !leaves && !reads(&seat, "text");
    coalesced_leave(k->answer, &seat);
    return !leaves;
}

static void *asker_main(void *arg) {
    struct asker *k = arg;
    for (unsigned i = 0; i < ROUNDS; i++) {
        k->had += ask_once(k);
    }
    return NULL;
}

TEST(test_many_sessions_request_it) {
    struct coalesced_reply a;
    static struct asker askers[ASKERS];
    pthread_t threads[ASKERS];
    unsigned had = 0, made = 0, wrong = 0;
    uint64_t seed = tap_seed();
    coalesced_reply_init(&a);
    for (unsigned i = 0; i < ASKERS; i++) {
        askers[i] = (struct asker){.answer = &a, .random = seed + i};
        sem_init(&askers[i].woken, 0, 0);
        if (pthread_create(&threads[i], NULL, asker_main, &askers[i]) != 0) {
            abort();
        }
    }
    for (unsigned i = 0; i < ASKERS; i++) {
        pthread_join(threads[i], NULL);
        had += askers[i].had;
        made += askers[i].made;
        wrong += askers[i].wrong;
    }
    is(wrong, 0, "%d threads: each request has a reply, %u of %u made by their own session", ASKERS, made, had);
    ok(made > 0 && made < had, "and some have another's");
    ok(a.waiting == NULL && !a.making, "nobody waits in the end");
    coalesced_reply_fini(&a);
}

int main(void) { return tap_main(); }
