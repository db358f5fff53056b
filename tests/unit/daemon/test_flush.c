/* flush_all in the cache: any number in a second; immediate, future and past; beside stores in all threads. */
#include "tap.h"

#include <pthread.h>

#include "cache/partition.h"
#include "cache_fixture.h"

enum { FLUSHES = 1000, LARGE_BYTES = 5000, ROUNDS = 20000 / TAP_SLOWER, THREADS = 2 };

static struct cache *cache;
static char value[LARGE_BYTES];

static enum cache_status set(struct cache_thread *ct, const char *name, size_t bytes) {
    struct key key = key_make(name, strlen(name));
    return fixture_store_key(ct, &key, value, bytes, NULL);
}

static bool lives(struct cache_thread *ct, const char *name, struct cache_view *v) {
    struct key key = key_make(name, strlen(name));
    struct cache_view here;
    return cache_peek(ct, &key, v != NULL ? v : &here) == CACHE_OK;
}

static struct cache_class_facts facts_of(unsigned class_id) {
    struct cache_class_facts f;
    cache_class_facts(cache, class_id, &f);
    return f;
}

static uint32_t oldest_s(unsigned class_id) {
    struct cache_class_facts f = facts_of(class_id);
    uint32_t age_s = 0;
    for (unsigned i = 0; i < EVICT_LISTS; i++) {
        age_s = f.list_age_s[i] > age_s ? f.list_age_s[i] : age_s;
    }
    return age_s;
}

static void test_each_of_many_flushes_removes_earlier_items(struct cache_thread *ct) {
    unsigned kept = 0, lost = 0;
    struct cache_view v;
    for (int i = 0; i < FLUSHES; i++) {
        set(ct, "small", 10);
        set(ct, "large", LARGE_BYTES);
        lost += !lives(ct, "small", NULL) + !lives(ct, "large", NULL);
        cache_flush_now(cache);
        kept += lives(ct, "small", NULL) + lives(ct, "large", NULL);
    }
    is(kept, 0, "each of %d flushes in a second removes earlier items", FLUSHES);
    is(lost, 0, "and nothing that is stored after it");
    fixture_next_turn(ct, 0); /* otherwise the second of the last flush may be unknown yet, and the item be used in a second to come */
    set(ct, "small", 10);
    lives(ct, "small", &v);
    ok(cache_now_s(ct) - v.last_access_s <= 1, "an item that is stored then was used now (%d s ago)", (int)(cache_now_s(ct) - v.last_access_s));
    ok(oldest_s(v.class_id) <= 1, "as its class reports (%u s)", oldest_s(v.class_id));
    fixture_next_turn(ct, 10);
    lives(ct, "small", &v);
    is(cache_now_s(ct) - v.last_access_s, 10, "and 10 s later its age is 10 s");
    is(oldest_s(v.class_id), 10, "as its class reports");
}

static void test_a_flush_to_come_comes_after_many(struct cache_thread *ct) {
    for (int i = 0; i < FLUSHES; i++) {
        cache_flush_now(cache);
    }
    set(ct, "k", 10);
    cache_flush(cache, cache_now_s(ct) + 5);
    fixture_next_turn(ct, 4);
    ok(lives(ct, "k", NULL), "a flush to come, after %d in a second, has not come before its time", FLUSHES);
    fixture_next_turn(ct, 1);
    ok(!lives(ct, "k", NULL), "and then it has");
    set(ct, "k", 10);
    ok(lives(ct, "k", NULL), "items stored in that second live");
    cache_flush(cache, cache_now_s(ct) + 5);
    cache_flush(cache, cache_now_s(ct) + 20);
    fixture_next_turn(ct, 10);
    ok(lives(ct, "k", NULL), "a later flush to come replaces the one before");
    fixture_next_turn(ct, 10);
    ok(!lives(ct, "k", NULL), "and comes");
    set(ct, "early", 10);
    fixture_next_turn(ct, 5);
    set(ct, "late", 10);
    cache_flush(cache, cache_now_s(ct) - 3);
    ok(!lives(ct, "early", NULL) && lives(ct, "late", NULL), "a flush with a past time removes items stored until then");
    cache_flush(cache, cache_now_s(ct) + 5);
    cache_flush_now(cache);
    set(ct, "k", 10);
    fixture_next_turn(ct, 10);
    ok(lives(ct, "k", NULL), "a flush at once replaces one that was to come");
}

/* Gives the item the mark of a late reader: the reader began to note a hit an hour after the chunk's previous item was stored. Then stores
 * enough items that the queue moves this one. */
static void mark_late_and_move(struct cache_thread *ct, const char *name, bool flush_between) {
    struct key key = key_make(name, strlen(name));
    struct item *it = item_at(cache, index_find(&partition_of(cache, key.hash)->index, &key));
    node_set_mark(&it->node, node_age_code(3600) << 3 | 2);
    if (flush_between) {
        cache_flush_now(cache);
        fixture_next_turn(ct, 10);
    }
    for (uint64_t n = 0; n < 2000; n++) {
        fixture_set(ct, n, value, 20);
    }
}

static void test_a_hit_that_is_noted_late_brings_nothing_back(struct cache_thread *ct) {
    set(ct, "one", 20);
    mark_late_and_move(ct, "one", false);
    ok(lives(ct, "one", NULL), "an item whose chunk was marked for another before it lives on");
    fixture_next_turn(ct, 1);
    cache_flush_now(cache);
    ok(!lives(ct, "one", NULL), "until a flush");
    set(ct, "other", 20);
    mark_late_and_move(ct, "other", true);
    ok(!lives(ct, "other", NULL), "and is not there again when its queue moves it after the flush");
}

/* --- beside each other --- */

struct client {
    pthread_t thread;
    unsigned  number, lost, stale, wrong_age;
};

static struct lock flushing; /* held by a client during its store, flush and read, so that no other client flushes */

/* If no other client flushes: items stored before the flush are gone, items stored after it stay, whatever the others store. */
static void *store_and_flush(void *arg) {
    struct client *me = arg;
    struct cache_thread *ct = cache_thread_create(cache);
    char name[32], other[32];
    snprintf(name, sizeof name, "before%u", me->number);
    snprintf(other, sizeof other, "after%u", me->number);
    for (int i = 0; i < ROUNDS; i++) {
        size_t bytes = i % 4 == 0 ? LARGE_BYTES : 10;
        cache_turn_begin(ct);
        set(ct, name, bytes); /* the cache takes a lock for a flush, so our lock must not enclose the call */
        cache_turn_end(ct);
        pthread_mutex_lock(&flushing.mutex);
        cache_flush_now(cache);
        cache_turn_begin(ct);
        me->stale += lives(ct, name, NULL);
        set(ct, other, bytes);
        struct cache_view v;
        me->lost += !lives(ct, other, &v);
        me->wrong_age += v.last_access_s + 1 < cache_now_s(ct);
        cache_turn_end(ct);
        pthread_mutex_unlock(&flushing.mutex);
    }
    cache_thread_destroy(&ct);
    return NULL;
}

static void test_flushes_beside_stores_of_others(void) {
    struct client clients[THREADS];
    unsigned lost = 0, stale = 0, wrong_age = 0;
    lock_init(&flushing);
    for (unsigned i = 0; i < THREADS; i++) {
        clients[i] = (struct client){.number = i};
        pthread_create(&clients[i].thread, NULL, store_and_flush, &clients[i]);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(clients[i].thread, NULL);
        lost += clients[i].lost;
        stale += clients[i].stale;
        wrong_age += clients[i].wrong_age;
    }
    is(stale, 0, "items stored before a flush are gone, with %d threads that store and flush", THREADS);
    is(lost, 0, "items stored after it are there");
    is(wrong_age, 0, "and was used now");
    lock_fini(&flushing);
}

int main(void) {
    clock_start();
    for (enum cache_store_kind store = 0; store < CACHE_STORE_KINDS; store++) {
        fixture_store = store;
        struct cache_config cfg = fixture_config(64u << 20);
        cache = cache_create(&cfg);
        struct cache_thread *ct = cache_thread_create(cache);
        cache_turn_begin(ct);
        test_each_of_many_flushes_removes_earlier_items(ct);
        test_a_flush_to_come_comes_after_many(ct);
        test_a_hit_that_is_noted_late_brings_nothing_back(ct);
        cache_turn_end(ct);
        test_flushes_beside_stores_of_others();
        fixture_end(&cache, &ct);
    }
    return tap_done();
}
