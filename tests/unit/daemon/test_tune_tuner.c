/* Tasks of the tuner's thread other than moves: crawling, sweeping, settings, trials of modes, the pause for a takeover, and its
 * statistics. Run under TSan too. */
#include "tap.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>

#include "control/automove/eviction.h"
#include "control_fixture.h"
#include "tune_fixture.h"

static struct tuner_config config(const char *mode) {
    struct tuner_config tc = rig_tuning();
    tc.automove = mode;
    tc.by_hand = false;
    tc.settings.crawler = true;
    tc.settings.crawler_sleep_us = 100;
    return tc;
}

/* --- waiting for the thread, which sleeps after each change --- */

static pthread_mutex_t rests_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t  rests_begin = PTHREAD_COND_INITIALIZER;
static uint64_t        rests_count;

/* Replaces the C library's function, in which the tuner's thread rests. */
int begin_rest(struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask) __asm__("ppoll");
int begin_rest(struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask) {
    struct timespec rest = timeout != NULL ? *timeout : (struct timespec){0}; /* the kernel writes to this address */
    pthread_mutex_lock(&rests_lock);
    rests_count++;
    pthread_cond_broadcast(&rests_begin);
    pthread_mutex_unlock(&rests_lock);
    return (int)syscall(SYS_ppoll, fds, count, timeout != NULL ? &rest : NULL, mask, _NSIG / 8);
}

/* Waits for a rest after the one that *seen counts, 0 at first. Check for a change after this call, not before. */
static bool rests_after(uint64_t *seen) {
    pthread_mutex_lock(&rests_lock);
    while (rests_count == *seen) {
        pthread_cond_wait(&rests_begin, &rests_lock);
    }
    *seen = rests_count;
    pthread_mutex_unlock(&rests_lock);
    return true;
}

/* Waits until so many crawls have ended. */
static bool crawls(struct tuner *t, uint64_t starts) {
    struct tuner_facts f;
    uint64_t seen = 0;
    do {
        tuner_facts(t, &f);
    } while ((f.crawler_starts < starts || f.crawling) && rests_after(&seen));
    return true;
}

/* Waits until so many items are left. */
static bool leaves(struct cache *c, uint64_t items) {
    struct cache_facts f;
    uint64_t seen = 0;
    do {
        cache_facts(c, &f);
    } while (f.items != items && rests_after(&seen));
    return true;
}

/* Every other item expires at this time. */
static void store_mortals(struct cache_thread *ct, uint32_t exptime_s) {
    static const char value[100];
    cache_turn_begin(ct);
    for (uint64_t i = 0; i < 20000; i++) {
        struct key key = FIXTURE_KEY(i);
        struct cache_store s = {.mode = CACHE_SET, .value = value, .value_bytes = sizeof value, .exptime_s = i % 2 ? exptime_s : 0};
        cache_store(ct, &key, &s, NULL);
    }
    cache_turn_end(ct);
}

TEST(test_sweeps) {
    struct cache_thread *ct;
    struct cache *c = fixture_cache(64u << 20, &ct);
    struct tuner_config tc = config("off");
    struct cache_class_values counted;
    struct tuner_facts tf;
    tc.settings.crawler = false;
    tc.sweeps = true;
    struct tuner *t = tuner_create(c, &tc);
    for (int round = 0; round < 2; round++) { /* after a second without work */
        store_mortals(ct, clock_now_s() + 1);
        ok(leaves(c, 10000), "without a crawler the tuner frees expired items, and nothing else");
    }
    cache_flush_now(c);
    ok(leaves(c, 0), "and flushed ones");
    cache_classes_counters(c, &counted);
    tuner_facts(t, &tf);
    ok(counted.reclaimed == 30000 && tf.crawler_starts == 0, "all of it counts as reclaimed, and the crawler was not needed");
    tuner_destroy(&t);
    fixture_end(&c, &ct);
}

struct crawling {
    const struct class_set *classes;
    enum crawl_status       status;
};
static void crawling_run(struct tuner *t, void *arg) {
    struct crawling *c = arg;
    c->status = tuner_crawl(t, c->classes);
}
static enum crawl_status crawl(struct tuner *t, const struct class_set *classes) {
    struct crawling c = {classes, CRAWL_OK};
    on_control(t, crawling_run, &c);
    return c.status;
}

static void end_crawler(struct tuner *t, void *arg) {
    (void)arg;
    t->settings.crawler = false;
}

TEST(test_crawl) {
    struct cache_thread *ct;
    struct cache *c = fixture_cache(64u << 20, &ct);
    struct tuner_config tc = config("off");
    struct tuner *t = tuner_create(c, &tc);
    struct class_set none = {{0}}, all = class_set_all();
    store_mortals(ct, CLOCK_EXPIRED);
    is(crawl(t, &none), CRAWL_BAD_CLASS, "no class to crawl");
    is(crawl(t, &all), CRAWL_OK, "all classes");
    ok(crawls(t, 1) && leaves(c, 10000), "the crawler runs, ends, and frees every expired item and no other");
    uint64_t walks = 1, seen = 0;
    for (unsigned i = 0; i < 50; i++) { /* most of them during the walk */
        walks += crawl(t, &all) == CRAWL_OK;
        rests_after(&seen);
    }
    ok(crawls(t, walks), "it walks as often as requested and not busy");
    struct cache_class_values counted;
    struct tuner_facts tf;
    cache_classes_counters(c, &counted);
    tuner_facts(t, &tf);
    is(counted.crawler_items_checked, 20000 + (tf.crawler_starts - 1) * 10000, "and each walk goes over all items, requested again meanwhile or not");
    on_control(t, end_crawler, NULL);
    is(crawl(t, &all), CRAWL_NOT_STARTED, "not while it is disabled");
    tuner_destroy(&t);
    fixture_end(&c, &ct);
}

/* A trial, and the signal of its answer. */
struct trying {
    struct automove_trial trial; /* first */
    sem_t answered;
    bool  taken;
};
static void trying_done(struct automove_trial *trial) { sem_post(&((struct trying *)trial)->answered); }
static void trying_run(struct tuner *t, void *arg) {
    struct trying *r = arg;
    r->taken = tuner_try_automove(t, &r->trial);
}
static void try_automove(struct tuner *t, struct trying *r, const char *name) {
    memset(r, 0, sizeof *r);
    snprintf(r->trial.name, sizeof r->trial.name, "%s", name);
    r->trial.done = trying_done;
    sem_init(&r->answered, 0, 0);
    on_control(t, trying_run, r);
}

/* Waits for the answer; returns whether the mode would start. */
static bool tried(struct tuner *t, const char *name, char why[REASON_BYTES]) {
    struct trying r;
    try_automove(t, &r, name);
    ok(r.taken, "no other trial of %s waits", name);
    while (sem_wait(&r.answered) != 0 && errno == EINTR) {
    }
    memcpy(why, r.trial.why, REASON_BYTES);
    return r.trial.starts;
}

TEST(test_trials) {
    struct cache_config cfg = fixture_config(16u << 20);
    struct cache *c = cache_create(&cfg);
    struct tuner_config tc = config("off");
    struct tuner *t = tuner_create(c, &tc);
    char why[REASON_BYTES];
    struct tuner_words w;
    ok(tried(t, "utility", why) && tried(t, "1", why), "a mode of the table would start");
    ok(!tried(t, "lua:any", why), "a policy without a folder would not");
    is_str(why, "there is no policy directory: start with --policy-dir=PATH", "and the trial says why");
    tuner_words(t, &w);
    is_str(w.mode, "off", "a trial changes nothing");
    tuner_destroy(&t);
    cache_destroy(&c);
}

/* --- a policy that uses all its time --- */

/* A second of processor time with few instructions. */
static const char busy[] = "local s = ('x'):rep(60000) while true do s:lower() end";

struct busy {
    char dir[32], file[64];
    struct cache *cache;
    struct cache_thread *ct;
    struct tuner *tuner;
};

static void busy_begin(struct busy *b) {
    struct cache_config cfg = fixture_config(16u << 20);
    struct tuner_config tc = config("off");
    snprintf(b->dir, sizeof b->dir, "/tmp/slate-busy-XXXXXX");
    FILE *f = mkdtemp(b->dir) != NULL && snprintf(b->file, sizeof b->file, "%s/busy.lua", b->dir) > 0 ? fopen(b->file, "w") : NULL;
    if (f == NULL || fputs(busy, f) < 0 || fclose(f) != 0) {
        perror(b->dir);
        exit(1);
    }
    tc.policy_dir = b->dir;
    tc.sweeps = true;
    b->cache = cache_create(&cfg);
    b->ct = cache_thread_create(b->cache);
    b->tuner = tuner_create(b->cache, &tc);
    store_some(b->ct, 0, 12000, 1000);
}

static void busy_end(struct busy *b) {
    tuner_destroy(&b->tuner);
    fixture_end(&b->cache, &b->ct);
    unlink(b->file);
    rmdir(b->dir);
}

/* Whether the limit of processor time has stopped the policy. */
static bool is_broken(struct tuner *t) {
    struct tuner_words w;
    tuner_words(t, &w);
    return strstr(w.failed, "processor time") != NULL;
}

static bool has_done_all(struct busy *b, uint64_t pages) {
    struct tuner_facts f;
    struct cache_facts c;
    tuner_facts(b->tuner, &f);
    cache_facts(b->cache, &c);
    return f.moved.pages >= pages && !f.moving && f.pages_over == 0 && c.items == 0;
}

/* On a busy machine the policy may end before the tuner's turn: then it runs once more. */
TEST(test_nothing_waits_for_a_policy) {
    struct busy b;
    uint64_t seen = 0;
    bool all = false;
    busy_begin(&b);
    unsigned donor = slab_class_of(cache_slab(b.cache), 1100);
    for (unsigned megabytes = 12; megabytes > 3 && !all; megabytes--) {
        struct tuner_facts f;
        store_some(b.ct, 0, 12000, 1000);
        tuner_facts(b.tuner, &f);
        set_automove(b.tuner, "lua:busy");
        while (reassign(b.tuner, (int)donor, SLAB_CLASS_NONE, 1) == TUNER_BUSY && rests_after(&seen)) {
        }
        cache_set_limit(b.cache, (size_t)megabytes << 20);
        tuner_wake(b.tuner);
        cache_flush_now(b.cache);
        while (!has_done_all(&b, f.moved.pages + 1) && !is_broken(b.tuner) && rests_after(&seen)) {
        }
        all = has_done_all(&b, f.moved.pages + 1) && !is_broken(b.tuner);
        while (!all && !is_broken(b.tuner) && rests_after(&seen)) {
        }
    }
    ok(all, "while a policy is loaded, pages are reassigned, a lowered limit is kept, and dead items are freed");
    busy_end(&b);
}

TEST(test_a_stop_waits_for_no_policy) {
    char why[REASON_BYTES] = "";
    for (int i = 0; i < 60 && strcmp(why, "the server stops") != 0; i++) {
        struct busy b;
        busy_begin(&b);
        struct trying r;
        set_automove(b.tuner, "lua:busy");
        try_automove(b.tuner, &r, "lua:busy");
        busy_end(&b);
        snprintf(why, sizeof why, "%s", r.taken && sem_trywait(&r.answered) == 0 ? r.trial.why : "no answer");
    }
    is_str(why, "the server stops", "a stop waits for no policy");
}

/* Ages are whole seconds; those of classes without a request are read up to a tenth of a second earlier. */
TEST(test_a_second_that_passes_makes_no_donor_look_young) {
    struct cache_thread *ct;
    struct cache *c = fixture_cache(16u << 20, &ct);
    unsigned donor = slab_class_of(cache_slab(c), 1100), receiver = slab_class_of(cache_slab(c), 10100);
    struct class_set nobody = {{0}}, starved = class_set_one(receiver);
    struct snapshot s;
    clock_pause();
    store_some(ct, 0, 16000, 1000);
    store_some(ct, 16000, 1000, 10000);
    snapshot_take(c, &nobody, &s);
    is(s.classes[donor].age_s, 0, "a class that was filled just now");
    clock_shift(1);
    snapshot_refresh(c, &starved, &s);
    is(s.classes[receiver].age_s, 1, "a second later, the tail of the class that evicts is a second old");
    is(s.classes[donor].age_s, 1, "and so is that of the class that was filled before it");
    struct automove_eviction mode = {0};
    struct decision d = {0};
    bool any = automove_eviction_decide(&mode, &s, &d);
    ok(any, "so that it gives a page: %s", any ? d.moves[0].reason : d.why);
    snapshot_refresh(c, &starved, &s);
    is(s.classes[donor].age_s, 1, "no second is counted twice");
    clock_resume();
    fixture_end(&c, &ct);
}

/* However long the tuner is busy with another task. */
TEST(test_words_are_never_the_mode_s_before) {
    struct cache_config cfg = fixture_config(16u << 20);
    struct cache *c = cache_create(&cfg);
    struct tuner_config tc = config("ratio");
    struct tuner_words w;
    tc.by_hand = true;
    tc.settings.crawler = false;
    tc.policy_dir = "lua/slate/policies";
    struct tuner *t = tuner_create(c, &tc);
    tuner_tend_at(t, 1000000);
    tuner_tend_at(t, 2000000);
    tuner_words(t, &w);
    ok(strcmp(w.why, "the pool has 16 pages") == 0 && strstr(w.state, "window 10 s") != NULL, "ratio: %s (%s)", w.why, w.state);
    t->settings.automove_ratio = 0.5;
    tuner_words(t, &w);
    is_str(w.why, "the pool has 16 pages", "a knob does not change earlier decisions");
    ok(tuner_set_automove(t, "eviction"), "another mode is requested");
    tuner_words(t, &w);
    ok(strcmp(w.mode, "eviction") == 0 && w.state[0] == '\0', "it runs at once, and says nothing of itself");
    is_str(w.why, "nothing was decided yet", "and has decided nothing");
    tuner_tend_at(t, 3000000);
    tuner_words(t, &w);
    is_str(w.why, "the pool has 16 pages", "then it has");
    ok(tuner_set_automove(t, "lua:ratio"), "a policy is requested");
    tuner_tend_at(t, 4000000);
    tuner_words(t, &w);
    is_str(w.why, "nothing was decided yet", "once it is loaded, it has decided nothing");
    ok(strstr(w.state, "policy ratio decides every ") == w.state, "and does not say that it is being loaded: %s", w.state);
    tuner_destroy(&t);
    cache_destroy(&c);
}

int main(void) {
    own_clock_runs = true;
    clock_start();
    return tap_main();
}
