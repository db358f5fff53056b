/* A cache in a memory file: what comes back after a stop and after a crash. What is refused: test_memory_file_refused.c. */
#include "memory_file_fixture.h"

#include <malloc.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "cache/adopt/bins.h"
#include "mem/memory_note.h"

static void test_items_come_back(void) {
    afresh();
    struct life l = begin();
    fill(l.ct);
    end(&l);
    comes_back("after a stop");
    afresh();
    crash(fill);
    comes_back("after a crash");
    crash(fill);
    comes_back("after another");
}

/* --- what was answered stays so --- */

static void delete_and_overwrite(struct cache_thread *ct) {
    cache_turn_begin(ct);
    for (uint64_t n = 0; n < ITEMS; n++) {
        char name[64];
        struct key key = fixture_key(name, n);
        if (n % 3 == 0) {
            cache_delete(ct, &key, &(struct cache_delete){0});
        } else if (n % 3 == 1) {
            store(ct, n, 2);
        }
    }
    cache_turn_end(ct);
}

static void test_deletes_and_overwrites_stay(void) {
    afresh();
    crash(fill);
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

static void test_flushes_stay(void) {
    afresh();
    crash(fill_and_flush);
    struct life l = begin();
    struct cache_facts f;
    cache_facts(l.c, &f);
    is(f.items, 1, "what was flushed is gone");
    cache_turn_begin(l.ct);
    is(wrong(l.ct, 1, 2), 0, "… and what was stored in the same second after it is there");
    cache_turn_end(l.ct);
    end(&l);
    crash(flush_later);
    l = begin();
    cache_turn_begin(l.ct);
    is(wrong(l.ct, 1, 2), 0, "a flush that is to come has not come");
    cache_turn_end(l.ct);
    clock_shift(1001);
    cache_turn_begin(l.ct);
    is(wrong(l.ct, 1, 2), 1, "… and comes when it was to");
    cache_turn_end(l.ct);
    end(&l);
    clock_shift(-1001);
}

static uint64_t *shared; /* by the processes */

static void note_highest_cas(struct cache_thread *ct) {
    cache_turn_begin(ct);
    for (uint64_t n = 0; n < ITEMS; n++) {
        store(ct, n, 1);
        uint64_t cas = cas_of(ct, n);
        *shared = cas > *shared ? cas : *shared;
    }
    for (uint64_t n = 0; n < ITEMS; n++) { /* what had them is gone */
        char name[64];
        struct key key = fixture_key(name, n);
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

static void test_cas_never_repeats(void) {
    afresh();
    *shared = 0;
    crash(note_highest_cas);
    struct life l = begin();
    check_cas(&l, "after a crash");
    note_highest_cas(l.ct);
    end(&l);
    struct cache_config more = file_config();
    more.partitions = 64;
    l.c = open_cache_of(more);
    l.ct = cache_thread_create(l.c);
    check_cas(&l, "after a stop and with more partitions");
    end(&l);
}

/* --- time --- */

static void store_for_100_s(struct cache_thread *ct) {
    char name[64];
    struct key key = fixture_key(name, 5);
    struct cache_store s = {.mode = CACHE_SET, .value = "five", .value_bytes = 4, .exptime_s = clock_now_s() + 100};
    cache_turn_begin(ct);
    cache_store(ct, &key, &s, NULL);
    store(ct, 6, 1);
    cache_turn_end(ct);
}

static void test_times_go_on_by_the_wall(void) {
    size_t at = offsetof(struct memory_head, unix_at_0);
    afresh();
    crash(store_for_100_s);
    struct life l = begin();
    cache_turn_begin(l.ct);
    ok(fixture_get(l.ct, 5, got) == 4, "an item that has 100 s to live is there at once");
    cache_turn_end(l.ct);
    end(&l);
    set_word(at, word_at(at) - 50);
    l = begin();
    cache_turn_begin(l.ct);
    ok(fixture_get(l.ct, 5, got) == 4, "… and when 50 s have gone by without a process");
    cache_turn_end(l.ct);
    end(&l);
    set_word(at, word_at(at) - 51);
    l = begin();
    is(cache_adopted(l.c)->expired, 1, "… and after 101 s it is not adopted");
    cache_turn_begin(l.ct);
    ok(fixture_get(l.ct, 5, got) < 0 && wrong(l.ct, 6, 1) == 0, "… while one that lives for ever is");
    cache_turn_end(l.ct);
    uint32_t now_s = clock_now_s();
    end(&l);
    set_word(at, word_at(at) + 1000);
    l = begin();
    ok(clock_now_s() >= now_s, "a system's clock that was set back does not set back cache time");
    end(&l);
}

/* --- what a crash leaves half done --- */

enum { TORN_ITEMS = 7 };

static struct tail *tail_of(struct cache_thread *ct, uint64_t n) {
    return (void *)item_at(ct->cache, item_load32(item_chain(item_of(ct, n))));
}

static void tear_items(struct cache_thread *ct) {
    fill(ct);
    item_set_state(item_of(ct, 1), CHUNK_DRAFT);                /* it was being overwritten */
    item_store32(&item_of(ct, 2)->value_bytes, 5000000);        /* longer than its chunk */
    item_set_flags(item_of(ct, 3), item_flags(item_of(ct, 3)) | ITEM_CHAINED); /* of chunks that are none */
    struct item *none = item_of(ct, 6); /* a chain that is empty, of an empty value */
    item_set_flags(none, item_flags(none) | ITEM_CHAINED);
    item_store32(&none->value_bytes, 0);
    item_store32(item_chain(none), 0);
    item_store32(&tail_of(ct, 511)->head, ref_of_item(ct->cache, item_of(ct, 4)));
    item_store32(&tail_of(ct, 1011)->used_bytes, 17);
    struct tail *round = tail_of(ct, 1511);
    item_store32(&((struct tail *)(void *)item_at(ct->cache, tail_next(round)))->next, ref_of_item(ct->cache, round));
    item_store32(&((struct tail *)(void *)item_at(ct->cache, tail_next(round)))->used_bytes, 1000);
}

static void test_torn_items_are_emptied(void) {
    unsigned counts[3];
    afresh();
    crash(tear_items);
    struct life l = begin();
    is(cache_adopted(l.c)->torn, TORN_ITEMS, "torn items are counted: a draft, one too long, chains that lead nowhere, that are too short, that go round");
    count_wrong(l.ct, counts);
    is(counts[1], TORN_ITEMS, "… and not there");
    is(counts[2], 0, "… and no other value is served");
    accounts(&l, "with torn items");
    end(&l);
}

static void make_twins(struct cache_thread *ct) {
    fill(ct);
    cache_turn_begin(ct);
    for (uint64_t n = 0; n < ITEMS; n += 3) { /* a new value was published, and the old one not yet taken away */
        struct item *old = item_of(ct, n);
        char name[64], other[KEY_BYTES_MAX];
        if (item_large(old)) {
            continue;
        }
        struct key key = fixture_key(name, n);
        memset(other, 'x', key.len);
        struct key as_long = key_make(other, key.len);
        fixture_value(value, bytes_of(n), n, 2);
        struct cache_store s = {.mode = CACHE_SET, .value = value, .value_bytes = (uint32_t)bytes_of(n)};
        cache_store(ct, &as_long, &s, NULL);
        uint32_t ref = index_find(&partition_of(ct->cache, as_long.hash)->index, &as_long, NULL);
        struct item *it = item_at(ct->cache, ref);
        bytes_store((char *)it + item_key_offset(item_flags(it), item_value_bytes(it)), name, key.len);
        item_set_cas(it, item_cas(old) + (n % 2 ? 1 : -1));
        index_remove(&partition_of(ct->cache, as_long.hash)->index, as_long.hash, ref);
    }
    cache_turn_end(ct);
}

static void test_of_twins_the_later_stays(void) {
    afresh();
    crash(make_twins);
    struct life l = begin();
    unsigned bad = 0;
    cache_turn_begin(l.ct);
    for (uint64_t n = 0; n < ITEMS; n++) {
        bool large = bytes_of(n) > ITEM_COPY_MAX;
        bad += wrong(l.ct, n, !large && n % 3 == 0 && n % 2 ? 2 : 1) != 0;
    }
    cache_turn_end(l.ct);
    is(bad, 0, "of two items of one key the one with the higher CAS stays");
    struct cache_facts f;
    cache_facts(l.c, &f);
    is(f.items, ITEMS, "… and one only");
    accounts(&l, "with twins");
    end(&l);
}


static void tear_pages(struct cache_thread *ct) {
    fill(ct);
    struct page *table = ct->cache->arena->table;
    uint32_t n = 0;
    for (uint32_t i = 0; i < arena_page_end(ct->cache->arena) && n < 4; i++) {
        if (table[i].class_id == slab_page_class(ct->cache->slab, arena_page_of(ct->cache->arena, item_of(ct, 20)))) {
            continue;
        }
        switch (n++) {
        case 0: table[i].chunk_bytes += 8; break;      /* another class's size */
        case 1: table[i].class_id = 250; break;        /* a class that is none */
        case 2: table[i].state = PAGE_FREE; break;     /* on its way from one class to another */
        case 3: table[i].state = PAGE_DRAINING; break; /* being emptied: it stays what it was */
        }
    }
}

static void test_torn_pages_are_emptied(void) {
    unsigned counts[3];
    afresh();
    crash(tear_pages);
    struct life l = begin();
    is(cache_adopted(l.c)->torn_pages, 2, "pages of no class, or with another's chunks, are counted");
    count_wrong(l.ct, counts);
    is(counts[2], 0, "no value is another's");
    ok(counts[0] > 0 && counts[0] < ITEMS && wrong(l.ct, 20, 1) == 0, "what lies in other pages is there (%u of %u)", counts[0], ITEMS);
    accounts(&l, "with torn pages");
    fill(l.ct);
    accounts(&l, "when all were stored again");
    end(&l);
}

/* --- pages of sizes that are going --- */

static void change_sizes(struct cache_thread *ct) {
    fill(ct);
    static const uint32_t bytes[] = {160, 512, 2048, 65536};
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

static void test_classes_that_go_come_back(void) {
    unsigned counts[3];
    afresh();
    crash(change_sizes);
    struct life l = begin();
    is(slab_geometry(l.c->slab)->sizes.count, 5, "the chunk sizes are those that the process had when it crashed");
    count_wrong(l.ct, counts);
    is(counts[0], ITEMS, "all items are there, of classes old and new");
    accounts(&l, "amid a change of sizes");
    end(&l);
}

/* --- order --- */

static void read_some(struct cache_thread *ct) {
    fill(ct);
    clock_shift(10);
    cache_turn_begin(ct);
    for (uint64_t n = 0; n < 300; n++) {
        fixture_get(ct, n, got);
    }
    cache_turn_end(ct);
}

static void test_other_classes_are_wanted(void) {
    unsigned counts[3];
    afresh();
    crash(fill);
    struct cache_config config = file_config();
    config.slab.growth_factor = 1.5;
    struct size_list sizes;
    for (unsigned start = 0; start < 2; start++) { /* the second time too, as nobody has set them */
        struct life l = {.c = open_cache_of(config)};
        l.ct = cache_thread_create(l.c);
        ok(cache_sizes_wanted(l.c, &sizes) && !size_list_same(&sizes, &slab_geometry(l.c->slab)->sizes), "a start with another factor wants its chunk sizes");
        count_wrong(l.ct, counts);
        is(counts[0], ITEMS, "… and has all items, in the classes of before");
        if (start == 1) {
            ok(cache_set_sizes(l.c, &sizes), "they are set");
            cache_sizes_settled(l.c);
        }
        end(&l);
    }
    struct life l = {.c = open_cache_of(config)};
    l.ct = cache_thread_create(l.c);
    ok(!cache_sizes_wanted(l.c, &sizes), "… and wanted no more");
    count_wrong(l.ct, counts);
    is(counts[0], ITEMS, "… with all items");
    accounts(&l, "with other sizes");
    end(&l);
}

static void test_the_order_of_eviction_comes_back(void) {
    afresh();
    crash(read_some);
    struct life l = begin();
    unsigned lost_read = 0, lost = 0;
    cache_turn_begin(l.ct);
    for (uint64_t n = ITEMS; lost < ITEMS / 3; n++) {
        store(l.ct, n, 1);
        if (n % 500 == 0) {
            lost = 0;
            for (uint64_t k = 300; k < ITEMS; k++) {
                lost += item_of(l.ct, k) == NULL;
            }
        }
    }
    for (uint64_t k = 0; k < 300; k++) {
        lost_read += item_of(l.ct, k) == NULL;
    }
    cache_turn_end(l.ct);
    ok(lost_read * 10 < lost, "what was read lately is evicted late (%u of 300, and %u of %u others)", lost_read, lost, ITEMS - 300);
    end(&l);
}

/* --- whose policy is whose --- */

static unsigned class_of_key(struct cache_thread *ct, unsigned n) { return cache_item_class(ct->cache, item_of(ct, n)); }

static void give_policies(struct cache_thread *ct) {
    fill(ct);
    cache_set_policy(ct->cache, &evict_sieve, SLAB_CLASS_NONE);
    cache_set_policy(ct->cache, &evict_clock, class_of_key(ct, 5));
}

static void test_policies_come_back(void) {
    afresh();
    crash(give_policies);
    struct life l = begin();
    unsigned five = class_of_key(l.ct, 5), other = class_of_key(l.ct, 300);
    ok(five != other, "two keys of two classes");
    is_str(cache_class_policy(l.c, five)->name, "clock", "a class that was given a policy of its own has it again");
    is_str(cache_class_policy(l.c, other)->name, policy->name, "… others have what the start says");
    end(&l);
    crash(give_policies);
    struct cache_config config = file_config();
    config.policy_of_file = true;
    l = (struct life){.c = open_cache_of(config)};
    l.ct = cache_thread_create(l.c);
    is_str(cache_policy(l.c)->name, "sieve", "the whole has the file's where the start leaves it to the file");
    is_str(cache_class_policy(l.c, other)->name, "sieve", "… and so have the classes");
    is_str(cache_class_policy(l.c, five)->name, "clock", "… but for the one with its own");
    accounts(&l, "with policies of the file");
    end(&l);
}

/* --- memory to adopt with --- */

static void test_adoption_takes_rounds_for_want_of_memory(void) {
    unsigned counts[3];
    afresh();
    crash(tear_items);
    struct cache_config config = file_config();
    config.process_bytes = 1;
    struct life l = {.c = open_cache_of(config)};
    l.ct = cache_thread_create(l.c);
    is(cache_adopted(l.c)->rounds, l.c->partition_count, "without any memory to spare it adopts a partition at a time");
    is(cache_adopted(l.c)->torn, TORN_ITEMS, "… counts what is torn once");
    count_wrong(l.ct, counts);
    is(counts[0], ITEMS - TORN_ITEMS, "… and brings all the others back");
    is(counts[2], 0, "… none with another's value");
    accounts(&l, "after many rounds");
    end(&l);
}

/* As 16 threads fill bins, in all orders of partitions, and gather at once. */
static void test_bins_take_no_more_than_they_say(void) {
    enum { THREADS = 16, PARTITIONS = 64, MANY = 200 * 1000 };
    struct bins bins;
    size_t before = mallinfo2().uordblks + mallinfo2().hblkhd, most = 0;
    bool all = bins_init(&bins, THREADS, PARTITIONS);
    for (uint64_t i = 0; all && i < MANY; i++) {
        uint64_t hash = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
        struct found f = {.hash = hash, .ref = (uint32_t)i, .age = (uint32_t)(hash >> 20 & 0xffff)};
        all = bins_put(&bins, (unsigned)(hash >> 40) % THREADS, (unsigned)(hash >> 50) % PARTITIONS, &f);
    }
    ok(all, "all are put");
    struct found *memory[THREADS] = {NULL};
    uint32_t gathered = 0, unsorted = 0;
    for (unsigned p = 0; p < PARTITIONS; p++) {
        uint32_t count;
        free(memory[p % THREADS]);
        const struct found *f = bins_gather(&bins, p, &count, &memory[p % THREADS]);
        gathered += count;
        for (uint32_t i = 1; i < count; i++) {
            unsorted += f[i].age < f[i - 1].age;
        }
        size_t now = mallinfo2().uordblks + mallinfo2().hblkhd;
        most = now > most ? now : most;
    }
    for (unsigned t = 0; t < THREADS; t++) {
        free(memory[t]);
    }
    bins_fini(&bins);
    is(gathered, MANY, "all are gathered");
    is(unsorted, 0, "… the oldest first");
    size_t told = bins_bytes(THREADS, PARTITIONS, MANY);
    ok(most <= before + told + told / 20, "of 16 threads they take %zu KiB of the %zu they say, and the allocator's own", (most - before) / 1024, told / 1024);
}

/* --- notes --- */

static char note[MEMORY_NOTE_BYTES + 1];

static const char *note_now(void) {
    char refused[MEMORY_WHY_BYTES];
    struct memory_file *f = memory_file_open(path, refused);
    if (f == NULL) {
        return refused[0] != '\0' ? "refused" : "";
    }
    memory_note_read(f, note);
    memory_file_close(&f);
    return note;
}
static void keep_note(struct cache_thread *ct, const char *text) { ok(cache_keep_note(ct->cache, text, strlen(text)), "a note is kept"); }
static void keep_one(struct cache_thread *ct) { keep_note(ct, "first\n"); }
static void keep_two(struct cache_thread *ct) {
    keep_note(ct, "second\n");
    keep_note(ct, "a third, which is longer\n");
}
/* Dies while the fourth is written: half of it is there. */
static void half_keep(struct cache_thread *ct) {
    char *place = (char *)ct->cache->arena->file->head + MEMORY_NOTES_AT;
    size_t half = (MEMORY_FRONT_AT - MEMORY_NOTES_AT) / 2;
    static char third[64], all[2][64];
    memcpy(third, "a third", 7);
    for (int i = 0; i < 2; i++) {
        memcpy(all[i], place + i * half, sizeof all[i]);
    }
    place += memmem(all[0], sizeof all[0], third, 7) != NULL ? half : 0;
    memcpy(place + 24, "fourth\n", 7);
}

static void test_notes_come_back(void) {
    afresh();
    is_str(note_now(), "", "a new file has no note");
    crash(keep_one);
    is_str(note_now(), "first\n", "a note comes back after a crash");
    crash(keep_two);
    is_str(note_now(), "a third, which is longer\n", "… and of several the last");
    crash(half_keep);
    is_str(note_now(), "a third, which is longer\n", "one that was half written leaves the one before");
    struct life l = begin();
    char *longest = malloc(MEMORY_NOTE_BYTES + 1);
    memset(longest, 'n', MEMORY_NOTE_BYTES + 1);
    ok(!cache_keep_note(l.c, longest, MEMORY_NOTE_BYTES + 1), "one that is too long is not kept");
    ok(cache_keep_note(l.c, longest, MEMORY_NOTE_BYTES), "the longest is");
    end(&l);
    is(strlen(note_now()), MEMORY_NOTE_BYTES, "… and comes back");
    free(longest);
    int fd = open(path, O_RDWR);
    unsigned misread = 0;
    for (size_t at = MEMORY_NOTES_AT; at < MEMORY_FRONT_AT; at += 1 + at / 7 % 31) {
        unsigned char was, now;
        bool read = pread(fd, &was, 1, (off_t)at) == 1;
        now = (unsigned char)(was ^ 1u << at % 8);
        read = read && pwrite(fd, &now, 1, (off_t)at) == 1;
        const char *text = note_now();
        bool longest_one = strlen(text) == MEMORY_NOTE_BYTES && strspn(text, "n") == MEMORY_NOTE_BYTES;
        misread += !read || !(longest_one || strcmp(text, "a third, which is longer\n") == 0);
        misread += pwrite(fd, &was, 1, (off_t)at) != 1;
    }
    close(fd);
    is(misread, 0, "with any byte of the notes changed the last or the one before is read, and nothing else");
}

int main(void) {
    begin_suite();
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    test_items_come_back();
    test_deletes_and_overwrites_stay();
    test_flushes_stay();
    test_cas_never_repeats();
    test_times_go_on_by_the_wall();
    test_torn_items_are_emptied();
    test_of_twins_the_later_stays();
    test_torn_pages_are_emptied();
    test_classes_that_go_come_back();
    test_other_classes_are_wanted();
    test_the_order_of_eviction_comes_back();
    test_policies_come_back();
    test_adoption_takes_rounds_for_want_of_memory();
    test_bins_take_no_more_than_they_say();
    test_notes_come_back();
    unlink(path);
    return tap_done();
}
