/* Values that arrive in pieces: when their uploads take memory, how much all uploads may hold, and that no memory is lost. */
#include "tap.h"

#include "cache_fixture.h"

enum { MIB = 1 << 20, VALUE_BYTES = 700 * 1000, DRAFTS_MOST = 16 };

struct rig {
    struct cache        *c;
    struct cache_thread *ct;
    const char          *store;
};

static void rig_open(struct rig *r, enum cache_store_kind store, size_t megabytes, bool evict) {
    fixture_store = store;
    struct cache_config cfg = fixture_config(megabytes * MIB);
    cfg.evict = evict;
    cfg.alloc_wait_us = 1000;
    cfg.item_bytes_max = 4 * MIB;
    r->c = cache_create(&cfg);
    r->ct = cache_thread_create(r->c);
    r->store = cache_store_name(store);
    cache_turn_begin(r->ct);
}

static void rig_close(struct rig *r) {
    cache_turn_end(r->ct);
    fixture_end(&r->c, &r->ct);
}

static size_t held(struct rig *r) {
    struct cache_facts f;
    cache_facts(r->c, &f);
    return f.upload_bytes;
}

static void fill(struct rig *r, struct cache_upload *d, const char *value, size_t from, size_t to) {
    struct iovec iov[4];
    while (from < to) {
        int pieces = cache_upload_iov(r->ct, d, from, NULL, iov, 4);
        for (int i = 0; i < pieces && from < to; i++) {
            size_t step = iov[i].iov_len < to - from ? iov[i].iov_len : to - from;
            memcpy(iov[i].iov_base, value + from, step);
            from += step;
        }
    }
}

static void test_memory_comes_with_the_bytes(enum cache_store_kind store) {
    struct rig r;
    rig_open(&r, store, 64, true);
    char *value = malloc(VALUE_BYTES + 16), *read = malloc(VALUE_BYTES + 16), name[64];
    struct key key = fixture_key(name, 1);
    struct cache_store s = {.mode = CACHE_SET, .value_bytes = VALUE_BYTES};
    struct cache_upload d;
    fixture_value(value, VALUE_BYTES, 1, 1);
    is(cache_upload_begin(r.ct, &key, &s, &d), CACHE_OK, "%s: a draft begins", r.store);
    is(held(&r), 0, "%s: without a byte it holds no memory", r.store);
    size_t got = 0, most_ahead = 0;
    bool ready = true;
    while (got < VALUE_BYTES && ready) {
        ready = cache_upload_extend(r.ct, &key, &s, &d, got + 10000) == CACHE_UPLOAD_READY;
        size_t room = cache_upload_room(&d, &s), to = got + 10000 < room ? got + 10000 : room;
        most_ahead = room - got > most_ahead ? room - got : most_ahead;
        fill(&r, &d, value, got, to);
        got = to;
    }
    ok(ready, "%s: it is extended to the last byte", r.store);
    if (store != CACHE_STORE_HEAP) { /* one allocation an item */
        ok(most_ahead < VALUE_BYTES, "%s: never all of its memory is taken ahead of its bytes: %zu", r.store, most_ahead);
    }
    is(cache_upload_publish(r.ct, &d, &s, NULL), CACHE_OK, "%s: it is published", r.store);
    is(held(&r), 0, "%s: then it counts no longer as a draft", r.store);
    ok(fixture_get(r.ct, 1, read) == VALUE_BYTES && memcmp(read, value, VALUE_BYTES) == 0, "%s: and is read whole", r.store);
    free(value);
    free(read);
    rig_close(&r);
}

/* Begins uploads of so many bytes and requests all memory for each, until one waits; returns how many are ready. */
static unsigned begin_all(struct rig *r, struct cache_upload *d, uint32_t value_bytes, bool arrived) {
    for (unsigned i = 0; i < DRAFTS_MOST; i++) {
        struct key key = FIXTURE_KEY(i);
        struct cache_store s = {.mode = CACHE_SET, .value_bytes = value_bytes};
        cache_upload_begin(r->ct, &key, &s, &d[i]);
        d[i].arrived = arrived;
        if (cache_upload_extend(r->ct, &key, &s, &d[i], value_bytes) != CACHE_UPLOAD_READY) {
            return i;
        }
    }
    return DRAFTS_MOST;
}

static void end_all(struct rig *r, struct cache_upload *d, unsigned n) {
    while (n > 0) {
        cache_upload_abandon(r->ct, &d[--n]);
    }
}

enum { SMALL_BYTES = 100 * 1000, LARGE_BYTES = 300 * 1000 };

static void test_drafts_have_shares_of_an_eighth(enum cache_store_kind store) {
    struct rig r;
    rig_open(&r, store, 16, true);
    static struct cache_upload large[DRAFTS_MOST], small[DRAFTS_MOST], whole[DRAFTS_MOST], other;
    size_t most = cache_uploads_max_bytes(r.c);
    is(most, 2 * MIB, "%s: an eighth of the pages is the bound", r.store);
    unsigned larges = begin_all(&r, large, LARGE_BYTES, false);
    ok(larges > 0 && held(&r) <= most / 8 * 5 && held(&r) + held(&r) / larges > most / 8 * 5, "%s: large drafts take five eighths, %zu bytes", r.store, held(&r));
    ok(!cache_upload_has_room(r.c, &large[larges], false), "%s: then there is no room for another", r.store);
    unsigned smalls = begin_all(&r, small, SMALL_BYTES, false);
    ok(smalls > 0 && held(&r) <= most / 8 * 7 && held(&r) + (150 << 10) > most / 8 * 7, "%s: with small ones it is seven, %zu bytes", r.store, held(&r));
    unsigned wholes = begin_all(&r, whole, SMALL_BYTES, true);
    ok(wholes > 0 && held(&r) <= most && held(&r) + (150 << 10) > most, "%s: such as have arrived fill the rest, %zu bytes", r.store, held(&r));
    struct key key = FIXTURE_KEY(DRAFTS_MOST);
    struct cache_store s = {.mode = CACHE_SET, .value_bytes = LARGE_BYTES};
    cache_upload_begin(r.ct, &key, &s, &other);
    other.immediate = true;
    is(cache_upload_extend(r.ct, &key, &s, &other, s.value_bytes), CACHE_UPLOAD_READY, "%s: but one that has all its bytes never waits", r.store);
    cache_upload_abandon(r.ct, &other);
    end_all(&r, whole, wholes);
    end_all(&r, small, smalls);
    end_all(&r, large, larges);
    is(held(&r), 0, "%s: nothing is held in the end", r.store);
    rig_close(&r);
}

TEST(test_small_drafts_leave_room_to_large_ones_that_wait) {
    struct rig r;
    rig_open(&r, CACHE_STORE_SLAB, 16, true);
    static struct cache_upload small[DRAFTS_MOST], large = {.large = true}, other;
    cache_upload_set_waiting(r.c, &large, true);
    unsigned smalls = begin_all(&r, small, SMALL_BYTES, false);
    ok(smalls > 0 && held(&r) <= MIB / 2, "while a large draft waits, small ones take a quarter: %zu bytes", held(&r));
    cache_upload_set_waiting(r.c, &large, false);
    ok(cache_upload_has_room(r.c, &small[smalls], false), "and more when none does");
    end_all(&r, small, smalls / 2);
    ok(cache_upload_has_room(r.c, &small[smalls], true), "warily seen there is room for one beside a few");
    smalls = begin_all(&r, small, SMALL_BYTES, false);
    ok(held(&r) > MIB && !cache_upload_has_room(r.c, &small[0], true), "but not beside more than half of all uploads' limit");
    ok(!cache_upload_must_queue(r.c, &large), "a large one does not queue then");
    cache_upload_set_waiting(r.c, &other, true);
    ok(cache_upload_must_queue(r.c, &small[smalls]), "one queues behind another of its kind");
    ok(!cache_upload_must_queue(r.c, &small[0]), "but not when it has memory");
    ok(!cache_upload_must_queue(r.c, &large), "and not behind one of the other kind");
    cache_upload_set_waiting(r.c, &other, false);
    end_all(&r, small, smalls);
    rig_close(&r);
}

static void test_a_draft_goes_on_when_it_was_admitted(enum cache_store_kind store) {
    struct rig r;
    rig_open(&r, store, 16, true);
    static struct cache_upload first, others[DRAFTS_MOST];
    struct key key = FIXTURE_KEY(100);
    struct cache_store s = {.mode = CACHE_SET, .value_bytes = 900 * 1000};
    cache_upload_begin(r.ct, &key, &s, &first);
    is(cache_upload_extend(r.ct, &key, &s, &first, 1), CACHE_UPLOAD_READY, "%s: a draft has its first piece", r.store);
    unsigned n = begin_all(&r, others, LARGE_BYTES, true);
    ok(n < DRAFTS_MOST, "%s: and others all that drafts may have, %u of %u", r.store, n, DRAFTS_MOST);
    is(cache_upload_extend(r.ct, &key, &s, &first, s.value_bytes), CACHE_UPLOAD_READY, "%s: the first has its rest without a wait", r.store);
    end_all(&r, others, n);
    cache_upload_abandon(r.ct, &first);
    is(held(&r), 0, "%s: nothing is held in the end", r.store);
    rig_close(&r);
}

TEST(test_larger_than_the_bound) {
    struct rig r;
    rig_open(&r, CACHE_STORE_SLAB, 8, true);
    struct key key = FIXTURE_KEY(1);
    struct cache_store s = {.mode = CACHE_SET, .value_bytes = MIB - 1000};
    struct cache_upload d, other;
    cache_upload_begin(r.ct, &key, &s, &d);
    is(cache_upload_extend(r.ct, &key, &s, &d, s.value_bytes), CACHE_UPLOAD_READY, "a value as large as all that drafts may hold can be stored");
    is(held(&r), cache_uploads_max_bytes(r.c) / 2, "it counts for half of that");
    cache_upload_begin(r.ct, &key, &s, &other);
    is(cache_upload_extend(r.ct, &key, &s, &other, s.value_bytes), CACHE_UPLOAD_WAITS, "another one waits for it");
    cache_upload_abandon(r.ct, &d);
    is(cache_upload_extend(r.ct, &key, &s, &other, s.value_bytes), CACHE_UPLOAD_READY, "and has its memory then");
    cache_upload_abandon(r.ct, &other);
    rig_close(&r);
}

static void test_memory_ends_midway(enum cache_store_kind store) {
    struct rig r;
    rig_open(&r, store, 2, false);
    char name[64], *value = malloc(MIB), *read = malloc(MIB + 16);
    fixture_value(value, MIB, 1, 1);
    for (uint64_t i = 1; i < 100 && fixture_set(r.ct, i, value, 100 * 1000) == CACHE_OK; i++) {
    }
    ok(fixture_get(r.ct, 1, read) > 0, "%s: an old value is there", r.store);
    struct key key = fixture_key(name, 1);
    struct cache_store s = {.mode = CACHE_SET, .value_bytes = 4 * MIB - 1000}; /* a class's first page may go over the limit */
    struct cache_upload d;
    enum cache_upload_status how = CACHE_UPLOAD_READY;
    cache_upload_begin(r.ct, &key, &s, &d);
    for (size_t upto = 1; upto <= s.value_bytes && how == CACHE_UPLOAD_READY; upto += 50 * 1000) {
        how = cache_upload_extend(r.ct, &key, &s, &d, upto);
    }
    is(how, CACHE_UPLOAD_REFUSED, "%s: without evictions, memory ends", r.store);
    ok(d.item == NULL && held(&r) == 0, "%s: the draft is gone then", r.store);
    ok(fixture_get(r.ct, 1, read) < 0, "%s: and so is the old value", r.store);
    free(value);
    free(read);
    rig_close(&r);
}

TEST(test_head_without_a_tail) {
    struct rig r;
    rig_open(&r, CACHE_STORE_SLAB, 8, false);
    char name[64], *value = malloc(MIB);
    memset(value, 'v', MIB);
    uint64_t i = 1;
    while (fixture_set(r.ct, i, value, 500 * 1000) == CACHE_OK) {
        i++;
    }
    struct key key = fixture_key(name, i);
    struct cache_store s = {.mode = CACHE_SET, .value_bytes = MIB};
    struct cache_upload d;
    cache_upload_begin(r.ct, &key, &s, &d);
    is(cache_upload_extend(r.ct, &key, &s, &d, 1), CACHE_UPLOAD_REFUSED, "a chained value's head may find memory, and its first piece none");
    ok(d.item == NULL && held(&r) == 0, "the head goes, too");
    free(value);
    rig_close(&r);
}

/* After 0, 1, 2, … pieces. */
static void test_abandoned_at_any_length(enum cache_store_kind store) {
    struct rig r;
    rig_open(&r, store, 64, true);
    struct key key = FIXTURE_KEY(1);
    struct cache_store s = {.mode = CACHE_SET, .value_bytes = 3 * MIB};
    unsigned left = 0;
    for (size_t upto = 0; upto <= s.value_bytes; upto += 100 * 1000) {
        struct cache_upload d;
        cache_upload_begin(r.ct, &key, &s, &d);
        for (size_t at = 0; at <= upto; at += 50 * 1000) {
            cache_upload_extend(r.ct, &key, &s, &d, at);
        }
        cache_upload_abandon(r.ct, &d);
        left += held(&r) != 0;
    }
    is(left, 0, "%s: a draft abandoned at any length leaves nothing held", r.store);
    rig_close(&r);
}

TEST(test_whole_pages_are_reported) {
    struct rig r;
    rig_open(&r, CACHE_STORE_SLAB, 64, true);
    struct key key = FIXTURE_KEY(1);
    struct cache_store s = {.mode = CACHE_SET, .value_bytes = 400 * 1000};
    struct cache_upload d;
    cache_upload_begin(r.ct, &key, &s, &d);
    cache_upload_extend(r.ct, &key, &s, &d, 1);
    struct class_set before = cache_take_left_free(r.c);
    cache_upload_abandon(r.ct, &d);
    struct class_set after = cache_take_left_free(r.c);
    ok(class_set_empty(&before) && class_set_count(&after) == 1, "the class in which an abandoned draft leaves a page free is reported");
    rig_close(&r);
}

int main(void) {
    clock_start();
    for (enum cache_store_kind store = 0; store < CACHE_STORE_KINDS; store++) {
        test_memory_comes_with_the_bytes(store);
        test_drafts_have_shares_of_an_eighth(store);
        test_a_draft_goes_on_when_it_was_admitted(store);
        test_memory_ends_midway(store);
        test_abandoned_at_any_length(store);
    }
    tap_run_tests();
    return tap_done();
}
