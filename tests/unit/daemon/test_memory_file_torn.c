/* Adoption of a memory file with damaged parts: its result, and the memory that adoption takes. */
#include "tap.h"

#include <malloc.h>

#include "cache/persist/recover_buckets.h"
#include "memory_file_fixture.h"

/* --- states that a crash leaves half done --- */

enum { TORN_ITEMS = 7 };

static struct item_tail *tail_of(struct cache_thread *ct, uint64_t n) {
    return (void *)item_at(ct->cache, item_load32(item_chain(item_of(ct, n))));
}

static void tear_items(struct cache_thread *ct) {
    fill(ct);
    item_set_state(item_of(ct, 1), CHUNK_FILLING);                /* the item was being overwritten */
    item_store32(&item_of(ct, 2)->value_bytes, 5000000);        /* larger than its chunk */
    item_set_flags(item_of(ct, 3), item_flags(item_of(ct, 3)) | ITEM_CHAINED); /* chunks without an item */
    struct item *none = item_of(ct, 6); /* a chain that is empty, of an empty value */
    item_set_flags(none, item_flags(none) | ITEM_CHAINED);
    item_store32(&none->value_bytes, 0);
    item_store32(item_chain(none), 0);
    item_store32(&tail_of(ct, 261)->head, ref_of_item(ct->cache, item_of(ct, 4)));
    item_store32(&tail_of(ct, 511)->used_bytes, 17);
    struct item_tail *round = tail_of(ct, 761);
    item_store32(&((struct item_tail *)(void *)item_at(ct->cache, item_tail_next(round)))->next,
                 ref_of_item(ct->cache, round));
    item_store32(&((struct item_tail *)(void *)item_at(ct->cache, item_tail_next(round)))->used_bytes,
                 1000);
}

/* With enough memory, or with none to spare, so that the file is adopted one partition at a time. */
static void test_torn_items_are_emptied(size_t process_bytes) {
    unsigned counts[3];
    const char *when = process_bytes == 1 ? "without memory to spare" : "with torn items";
    crash_afresh(tear_items);
    struct cache_config config = file_config();
    config.process_bytes = process_bytes;
    struct life l = begin_of(config);
    is(cache_recovered(l.c)->rounds, process_bytes == 1 ? l.c->partition_count : 1, "%s it goes over the items so often", when);
    is(cache_recovered(l.c)->torn, TORN_ITEMS, "a draft, one too long, chains that lead nowhere, are too short, or go round: %s each is counted", when);
    count_wrong(l.ct, counts);
    ok(counts[1] == TORN_ITEMS && counts[2] == 0, "%s none is there, and no other value is served", when);
    accounts(&l, when);
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
        fixture_store_key(ct, &as_long, value, bytes_of(n), NULL);
        uint32_t ref = index_find(&partition_of(ct->cache, as_long.hash)->index, &as_long);
        struct item *it = item_at(ct->cache, ref);
        bytes_store((char *)it + item_key_offset(item_flags(it), item_value_bytes(it)), name, key.len);
        item_set_cas(it, item_cas(old) + (n % 2 ? 1 : -1));
        index_remove(&partition_of(ct->cache, as_long.hash)->index, as_long.hash, ref);
    }
    cache_turn_end(ct);
}

TEST(test_of_twins_the_later_stays) {
    struct cache_facts f;
    unsigned bad = 0;
    crash_afresh(make_twins);
    struct life l = begin();
    cache_turn_begin(l.ct);
    for (uint64_t n = 0; n < ITEMS; n++) {
        bad += wrong(l.ct, n, bytes_of(n) <= ITEM_COPY_MAX && n % 3 == 0 && n % 2 ? 2 : 1) != 0;
    }
    cache_turn_end(l.ct);
    is(bad, 0, "of two items of one key the one with the higher CAS stays");
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
        case 1: table[i].class_id = 250; break;        /* no such class */
        case 2: table[i].state = PAGE_FREE; break;     /* on the way from one class to another */
        case 3: table[i].state = PAGE_DRAINING; break; /* being emptied: the page stays in its class */
        }
    }
}

TEST(test_torn_pages_are_emptied) {
    unsigned counts[3];
    crash_afresh(tear_pages);
    struct life l = begin();
    is(cache_recovered(l.c)->torn_pages, 2, "pages of no class, or with another's chunks, are counted");
    count_wrong(l.ct, counts);
    ok(counts[0] > 0 && counts[0] < ITEMS && counts[2] == 0 && wrong(l.ct, 20, 1) == 0, "items in other pages are there (%u of %u)", counts[0], ITEMS);
    accounts(&l, "with torn pages");
    fill(l.ct);
    accounts(&l, "when all were stored again");
    end(&l);
}

/* --- headers with any byte changed --- */

/* Searched for in the file: a small item, one of several pieces, its first piece. */
enum { SMALL = 30, CHAINED = 511 };

static size_t place_of(const struct life *l, const void *p) { return (size_t)((const char *)p - l->c->arena->space.base); }

struct outcome {
    unsigned wrong_values, others_gone, gone, untold;
    bool     disagree;
};

/* Checks every key but `target`, which may be missing, or may have lost facts that only its header had; then restores all. */
static void look(struct life *l, struct outcome *o, uint64_t target) {
    const struct cache_recovered *a = cache_recovered(l->c);
    o->disagree = o->disagree || !accounts_agree(l->c);
    cache_turn_begin(l->ct);
    for (uint64_t n = 0; n < ITEMS; n++) {
        int is_wrong = wrong(l->ct, n, 1);
        o->others_gone += n != target && is_wrong == 1;
        o->wrong_values += n != target && is_wrong == 2;
        o->gone += n == target && is_wrong == 1;
    }
    cache_turn_end(l->ct);
    o->untold += o->gone + o->others_gone > 0 && a->torn + a->torn_pages + a->expired + a->left_out == 0;
    fill(l->ct);
    o->disagree = o->disagree || !accounts_agree(l->c);
}

/* The place of a key's item in the file; or of the first piece of its value. */
static size_t header_of(struct life *l, uint64_t n, bool of_piece) {
    const void *p = item_of(l->ct, n);
    return place_of(l, of_piece ? item_at(l->c, item_load32(item_chain(item_of(l->ct, n)))) : p);
}

/* Flips a bit of each byte up to `bytes`, one a start; a change from byte told_from on can be detected. */
static void change_headers(const char *what, uint64_t n, bool of_piece, size_t bytes, size_t told_from) {
    struct outcome all = {0};
    unsigned told = 0, told_gone = 0;
    struct life l = begin();
    for (size_t at = 0; at < bytes; at++) {
        struct outcome o = {0};
        size_t place = header_of(&l, n, of_piece) + at;
        end(&l);
        flip(place, (unsigned)(at * 5 + 1) % 8);
        l = begin();
        look(&l, &o, n);
        all.wrong_values += o.wrong_values;
        all.others_gone += o.others_gone;
        all.disagree = all.disagree || o.disagree;
        told += at >= told_from;
        told_gone += at >= told_from && o.gone > 0 && o.untold == 0;
    }
    end(&l);
    ok(all.wrong_values == 0 && all.others_gone == 0, "with any byte of %s changed no other item is gone or has another value", what);
    ok(!all.disagree, "… and all sums agree");
    is(told_gone, told, "… and where the damage is visible, the item is emptied and counted");
}

TEST(test_any_byte_of_an_item_may_change) {
    size_t header = sizeof(struct item) + sizeof(uint64_t), none = SIZE_MAX;
    crash_afresh(fill);
    change_headers("an item's header", SMALL, false, header, none);
    change_headers("a chained item's header", CHAINED, false, header + 8, none);
    change_headers("a piece's link", CHAINED, true, sizeof(uint32_t), 0);
    change_headers("a piece's header", CHAINED, true, sizeof(struct item_tail), offsetof(struct item_tail, key_len));
    comes_back("with all headers as they were");
}

TEST(test_any_byte_of_a_page_entry_may_change) {
    crash_afresh(fill);
    struct outcome o = {0};
    unsigned untold = 0;
    struct life l = begin();
    for (size_t at = 0; at < sizeof(struct page); at++) {
        uint32_t page = arena_page_of(l.c->arena, item_of(l.ct, at % 3 == 0 ? SMALL : at % 3 == 1 ? CHAINED : 7));
        size_t place = place_of(&l, &l.c->arena->table[page]) + at;
        end(&l);
        flip(place, (unsigned)(at * 3) % 8);
        l = begin();
        o.untold = o.others_gone = 0;
        look(&l, &o, ITEMS);
        /* a page without a state was on its way from class to class, so it was empty */
        untold += at != offsetof(struct page, state) ? o.untold : 0;
    }
    end(&l);
    is(o.wrong_values, 0, "with any byte of a page's entry changed no value is another");
    is(untold, 0, "… lost items were counted");
    ok(!o.disagree, "… and all sums agree");
    comes_back("with all entries as they were");
}

/* --- memory to adopt with --- */

/* 16 threads fill buckets, in all orders of partitions, and gather at once. */
TEST(test_bins_take_no_more_than_they_say) {
    enum { THREADS = 16, PARTITIONS = 64, MANY = 200 * 1000 };
    struct recover_buckets buckets;
    size_t before = mallinfo2().uordblks + mallinfo2().hblkhd, most = 0, told = recover_buckets_bytes(THREADS, PARTITIONS, MANY);
    struct found *memory[THREADS] = {NULL};
    uint32_t count, gathered = 0, unsorted = 0;
    bool all = recover_buckets_init(&buckets, THREADS, PARTITIONS);
    for (uint64_t i = 0; all && i < MANY; i++) {
        uint64_t hash = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
        struct found f = {.hash = hash, .ref = (uint32_t)i, .age = (uint32_t)(hash >> 20 & 0xffff)};
        all = recover_buckets_put(&buckets, (unsigned)(hash >> 40) % THREADS, (unsigned)(hash >> 50) % PARTITIONS, &f);
    }
    for (unsigned p = 0; p < PARTITIONS; p++) {
        free(memory[p % THREADS]);
        const struct found *f = recover_buckets_gather(&buckets, p, &count, &memory[p % THREADS]);
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
    recover_buckets_fini(&buckets);
    is(gathered, MANY, "all that are put are gathered");
    is(unsorted, 0, "… the oldest first");
    ok(most <= before + told + told / 20, "of 16 threads they take %zu KiB of the %zu they say, and the allocator's own", (most - before) / 1024, told / 1024);
}

int main(void) {
    memory_file_fixture_begin("torn");
    test_torn_items_are_emptied(0);
    test_torn_items_are_emptied(1);
    tap_run_tests();
    unlink(path);
    return tap_done();
}
