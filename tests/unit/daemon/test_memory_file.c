/* A cache in a memory file: the items that come back after a stop and after a crash. */
#include "tap.h"

#include "control/geometry/geometry.h"
#include "mem/settings_blob.h"
#include "memory_file_fixture.h"

TEST(test_items_come_back) {
    unlink(path);
    struct life l = begin();
    fill(l.ct);
    end(&l);
    comes_back("after a stop");
    crash_afresh(fill);
    comes_back("after a crash");
    crash(fill);
    comes_back("after another");
}

/* --- acknowledged changes last --- */

static void delete_and_overwrite(struct cache_thread *ct) {
    cache_turn_begin(ct);
    for (uint64_t n = 0; n < ITEMS; n++) {
        struct key key = FIXTURE_KEY(n);
        if (n % 3 == 0) {
            cache_delete(ct, &key, &(struct cache_delete){0});
        } else if (n % 3 == 1) {
            store(ct, n, 2);
        }
    }
    cache_turn_end(ct);
}

TEST(test_deletes_and_overwrites_stay) {
    crash_afresh(fill);
    crash(delete_and_overwrite);
    struct life l = begin();
    unsigned bad = 0;
    cache_turn_begin(l.ct);
    for (uint64_t n = 0; n < ITEMS; n++) {
        bad += n % 3 == 0 ? wrong(l.ct, n, 1) != 1 : wrong(l.ct, n, n % 3 == 1 ? 2 : 1) != 0;
    }
    cache_turn_end(l.ct);
    is(bad, 0, "deleted keys stay deleted, overwritten ones have the new value");
    end(&l);
}

static void fill_and_flush(struct cache_thread *ct) {
    fill(ct);
    cache_flush_now(ct->cache);
    cache_turn_begin(ct);
    store(ct, 1, 2);
    cache_turn_end(ct);
}
static void flush_later(struct cache_thread *ct) { cache_flush(ct->cache, clock_now_s() + 1000); }

TEST(test_flushes_stay) {
    crash_afresh(fill_and_flush);
    struct life l = begin();
    struct cache_facts f;
    cache_facts(l.c, &f);
    is(f.items, 1, "flushed items are gone");
    is(wrong_now(&l, 1, 2), 0, "… and items stored after it in the same second are there");
    end(&l);
    crash(flush_later);
    l = begin();
    cache_turn_begin(l.ct);
    is(wrong(l.ct, 1, 2), 0, "a flush that is to come has not come");
    fixture_next_turn(l.ct, 1001);
    is(wrong(l.ct, 1, 2), 1, "… and comes when it was to");
    cache_turn_end(l.ct);
    end(&l);
    clock_shift(-1001);
}

static uint64_t *shared; /* shared by the processes */

static void note_highest_cas(struct cache_thread *ct) {
    cache_turn_begin(ct);
    for (uint64_t n = 0; n < ITEMS; n++) {
        store(ct, n, 1);
        uint64_t cas = cas_of(ct, n);
        *shared = cas > *shared ? cas : *shared;
    }
    for (uint64_t n = 0; n < ITEMS; n++) { /* the memory that held the items is gone */
        struct key key = FIXTURE_KEY(n);
        cache_delete(ct, &key, &(struct cache_delete){0});
    }
    cache_turn_end(ct);
}

static void check_cas(struct life *l, const char *after) {
    uint64_t least = UINT64_MAX;
    cache_turn_begin(l->ct);
    for (uint64_t n = 0; n < 200; n++) {
        store(l->ct, n, 1);
        uint64_t cas = cas_of(l->ct, n);
        least = cas < least ? cas : least;
    }
    cache_turn_end(l->ct);
    ok(least > *shared && least < *shared + 10000, "%s CAS values go on behind all that were given (%" PRIu64 ", %" PRIu64 ")", after,
       *shared, least);
}

TEST(test_cas_never_repeats) {
    *shared = 0;
    crash_afresh(note_highest_cas);
    struct life l = begin();
    check_cas(&l, "after a crash");
    note_highest_cas(l.ct);
    end(&l);
    struct cache_config more = file_config();
    more.partitions = 64;
    l = begin_of(more);
    check_cas(&l, "after a stop and with more partitions");
    end(&l);
}

/* --- time --- */

static void store_for_100_s(struct cache_thread *ct) {
    struct key key = FIXTURE_KEY(5);
    struct cache_store s = {.mode = CACHE_SET, .value = "five", .value_bytes = 4, .exptime_s = clock_now_s() + 100};
    cache_turn_begin(ct);
    cache_store(ct, &key, &s, NULL);
    store(ct, 6, 1);
    cache_turn_end(ct);
}

TEST(test_times_go_on_by_the_wall) {
    static const struct {
        uint32_t    later_s;
        bool        lives;
        const char *claim;
    } starts[] = {{0, true, "an item that has 100 s to live is there at once"},
                  {50, true, "… and when 50 s have gone by without a process"},
                  {51, false, "… and after 101 s it is gone"}};
    size_t at = offsetof(struct memory_head, unix_at_0);
    struct life l;
    uint32_t now_s = 0;
    crash_afresh(store_for_100_s);
    for (unsigned i = 0; i < 3; i++) {
        set_word(at, word_at(at) - starts[i].later_s);
        l = begin();
        ok((item_of(l.ct, 5) != NULL) == starts[i].lives, "%s", starts[i].claim);
        is(cache_recovered(l.c)->expired, !starts[i].lives, "… which is reported");
        now_s = clock_now_s();
        is(wrong_now(&l, 6, 1), 0, "… one that lives for ever is there");
        end(&l);
    }
    set_word(at, word_at(at) + 1000);
    l = begin();
    ok(clock_now_s() >= now_s, "a system's clock that was set back does not set back cache time");
    end(&l);
}

/* Cache time passes, and the file does not learn of it. */
static void store_2_s_later(struct cache_thread *ct) {
    clock_shift(2);
    cache_turn_begin(ct);
    store(ct, 6, 1);
    cache_turn_end(ct);
}

TEST(test_a_flush_takes_items_of_a_later_second) {
    crash_afresh(store_2_s_later);
    struct life l = begin();
    is(wrong_now(&l, 6, 1), 0, "an item that was stored in a second to which the next process has not come is there");
    cache_flush_now(l.c);
    is(wrong_now(&l, 6, 1), 1, "and a flush takes it");
    end(&l);
}

/* --- pages of sizes going out of use --- */

static void change_sizes(struct cache_thread *ct) {
    fill(ct);
    static const uint32_t bytes[] = {160, 512, 2048, 32768};
    struct size_list sizes;
    struct size_rules rules;
    slab_rules(ct->cache->slab, &rules);
    if (!size_list_of(&sizes, bytes, 4, &rules) || !cache_set_sizes(ct->cache, &sizes)) {
        _exit(1);
    }
    cache_turn_begin(ct);
    for (uint64_t n = 0; n < ITEMS; n += 2) {
        store(ct, n, 1);
    }
    cache_turn_end(ct);
}

TEST(test_classes_that_go_come_back) {
    crash_afresh(change_sizes);
    struct life l = begin();
    is(slab_geometry(l.c->slab)->sizes.count, 5, "the chunk sizes are those that the process had when it crashed");
    all_are_there(&l, "of classes old and new");
    accounts(&l, "amid a change of sizes");
    struct pace pace = {.started = false};
    struct geometry_facts f;
    struct geometry_change *g =
        geometry_create(l.c, l.ct, &pace, true, &(struct geometry_settings){0}, 1);
    geometry_facts(g, &f);
    is(f.state, GEOMETRY_STARTING, "nobody says that no change is under way before anybody has looked");
    for (unsigned i = 0; i < 1000 && f.state == GEOMETRY_STARTING; i++) {
        geometry_step(g, 1);
        pace_step(&pace, 1);
        geometry_facts(g, &f);
    }
    is(f.state, GEOMETRY_DRAINING, "then the change is found, and goes on");
    geometry_destroy(&g);
    end(&l);
}

/* --- order --- */

enum { READ = ITEMS / 10 };

static void read_some(struct cache_thread *ct) {
    fill(ct);
    clock_shift(10);
    cache_turn_begin(ct);
    for (uint64_t n = 0; n < READ; n++) {
        fixture_get(ct, n, got);
    }
    cache_turn_end(ct);
}

TEST(test_other_classes_are_wanted) {
    crash_afresh(fill);
    struct cache_config config = file_config();
    config.slab.growth_factor = 1.5;
    struct size_list sizes;
    for (unsigned start = 0; start < 3; start++) { /* the second time, too, because none was set */
        struct life l = begin_of(config);
        is(cache_sizes_wanted(l.c, &sizes), start < 2, "a start with another factor wants its chunk sizes until they are set");
        all_are_there(&l, "in classes of before or new ones");
        if (start == 1) {
            ok(!size_list_same(&sizes, &slab_geometry(l.c->slab)->sizes) && cache_set_sizes(l.c, &sizes), "others are set");
            cache_sizes_settled(l.c);
        }
        accounts(&l, "with other sizes");
        end(&l);
    }
}

TEST(test_the_order_of_eviction_comes_back) {
    crash_afresh(read_some);
    struct life l = begin();
    unsigned lost_read = 0, lost = 0;
    cache_turn_begin(l.ct);
    for (uint64_t n = ITEMS; lost < ITEMS / 3; n++) {
        store(l.ct, n, 1);
        if (n % 500 == 0) {
            lost = 0;
            for (uint64_t k = READ; k < ITEMS; k++) {
                lost += item_of(l.ct, k) == NULL;
            }
        }
    }
    for (uint64_t k = 0; k < READ; k++) {
        lost_read += item_of(l.ct, k) == NULL;
    }
    cache_turn_end(l.ct);
    ok(lost_read * 10 < lost, "lately read items are evicted late (%u of %u, and %u of %u others)", lost_read, READ, lost, ITEMS - READ);
    end(&l);
}

/* --- each class keeps its policy --- */

static unsigned class_of_key(struct cache_thread *ct, unsigned n) { return cache_item_class(ct->cache, item_of(ct, n)); }

static void give_policies(struct cache_thread *ct) {
    fill(ct);
    cache_set_policy(ct->cache, &evict_sieve, SLAB_CLASS_NONE);
    cache_set_policy(ct->cache, &evict_clock, class_of_key(ct, 5));
}

TEST(test_policies_come_back) {
    crash_afresh(give_policies);
    struct life l = begin();
    unsigned five = class_of_key(l.ct, 5), other = class_of_key(l.ct, 300);
    ok(cache_class_policy(l.c, five) == &evict_clock && cache_class_policy(l.c, other) == policy, "a class with a policy of its own has it again, others have the start's");
    struct size_list sizes = slab_geometry(l.c->slab)->sizes, last = {.count = 1, .bytes = {sizes.bytes[sizes.count - 1]}};
    ok(cache_set_sizes(l.c, &last) && cache_set_sizes(l.c, &sizes), "the chunk sizes change and go back");
    ok(cache_class_policy(l.c, class_of_key(l.ct, 5)) == &evict_clock, "and so does that policy");
    end(&l);
    crash(give_policies);
    struct cache_config config = file_config();
    config.policy_of_file = true;
    l = begin_of(config);
    ok(cache_policy(l.c) == &evict_sieve && cache_class_policy(l.c, other) == &evict_sieve && cache_class_policy(l.c, five) == &evict_clock,
       "the whole has the file's where the start leaves it to the file, and so have the classes but for the one with its own");
    accounts(&l, "with policies of the file");
    end(&l);
}

/* --- notes --- */

static const char third[] = "a third, which is longer\n";
static char note[SETTINGS_BLOB_BYTES + 1];

static const char *note_now(void) {
    char refused[MEMORY_WHY_BYTES];
    struct memory_file *f = memory_file_open(path, refused);
    if (f == NULL) {
        return refused[0] != '\0' ? "refused" : "";
    }
    settings_blob_read(f, note);
    memory_file_close(&f);
    return note;
}
/* In the child, which makes no claims: a refused note is no crash. */
static void keep_note(struct cache_thread *ct, const char *text) {
    if (!cache_save_settings(ct->cache, text, strlen(text))) {
        _exit(1);
    }
}
static void keep_one(struct cache_thread *ct) { keep_note(ct, "first\n"); }
static void keep_two(struct cache_thread *ct) {
    keep_note(ct, "second\n");
    keep_note(ct, third);
}
/* The process dies while the fourth note is written, half of it. */
static void half_keep(struct cache_thread *ct) {
    char *place = (char *)ct->cache->arena->file->head + MEMORY_BLOBS_AT;
    size_t half = (MEMORY_FRONT_AT - MEMORY_BLOBS_AT) / 2;
    place += memmem(place, 64, third, 7) != NULL ? half : 0;
    memcpy(place + 24, "fourth\n", 7);
}

TEST(test_notes_come_back) {
    unlink(path);
    is_str(note_now(), "", "a new file has no note");
    crash(keep_one);
    is_str(note_now(), "first\n", "a note comes back after a crash");
    crash(keep_two);
    is_str(note_now(), third, "… and of several the last");
    crash(half_keep);
    is_str(note_now(), third, "one that was half written leaves the one before");
    struct life l = begin();
    static char longest[SETTINGS_BLOB_BYTES + 1];
    memset(longest, 'n', sizeof longest);
    ok(!cache_save_settings(l.c, longest, sizeof longest), "one that is too long is not kept");
    ok(cache_save_settings(l.c, longest, SETTINGS_BLOB_BYTES), "the longest is");
    end(&l);
    longest[SETTINGS_BLOB_BYTES] = '\0';
    is(strcmp(note_now(), longest), 0, "… and comes back");
    unsigned misread = 0;
    for (size_t at = MEMORY_BLOBS_AT; at < MEMORY_FRONT_AT; at += 1 + at / 7 % 31) {
        flip(at, at % 8);
        const char *text = note_now();
        misread += strcmp(text, longest) != 0 && strcmp(text, third) != 0;
        flip(at, at % 8);
    }
    is(misread, 0, "with any byte of the notes changed the last or the one before is read, and nothing else");
}

int main(void) {
    memory_file_fixture_begin("life");
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    tap_run_tests();
    unlink(path);
    return tap_done();
}
