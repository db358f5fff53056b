/* Pages change classes: what lives in them survives when there is room, and which page of a class goes. */
#include "tap.h"

#include "mover_fixture.h"
#include "tune/snapshot.h"

static void test_rescues_when_there_is_room(void) {
    struct rig r;
    rig_open(&r, 64u << 20);
    enum { ITEMS = 8000, BYTES = 1000 };
    unsigned from = class_of(&r, BYTES), to = class_of(&r, 100), wrong = 0, kept = 0, wanted = 0;
    set_many(&r, ITEMS, BYTES);
    for (unsigned i = 0; i < ITEMS; i++) {
        if (i % 3 != 0) {
            drop(&r, i);
        }
    }
    uint32_t had = pages_of(&r, from), had_to = pages_of(&r, to);
    unsigned moved = move(&r, from, to, 4);
    is(moved, 4, "four pages move at once");
    is(pages_of(&r, from), had - 4, "the giver has four less");
    is(pages_of(&r, to), had_to + 4, "the receiver has four more");
    for (unsigned i = 0; i < ITEMS; i += 3) {
        wanted++;
        kept += get(&r, i, BYTES, &wrong);
    }
    is(kept, wanted, "every live item is still there");
    is(wrong, 0, "with its value");
    ok(last.did.rescued > 0 && last.did.evicted == 0, "by copying, not by evicting (%" PRIu64 " copied)", last.did.rescued);
    uint32_t pool = arena_pages_free(r.slab->arena);
    is(move(&r, to, SLAB_CLASS_NONE, 1), 1, "a page goes to the pool");
    is(arena_pages_free(r.slab->arena), pool + 1, "which has one more");
    is(move(&r, SLAB_CLASS_NONE, from, 2), 2, "and two come from it");
    is(arena_pages_free(r.slab->arena), pool - 1, "which then has two less");
    rig_close(&r);
}

static void test_keeps_the_last_page(void) {
    struct rig r;
    rig_open(&r, 64u << 20);
    unsigned from = class_of(&r, 1000), wrong = 0;
    set(&r, 1, 1000);
    is(pages_of(&r, from), 1, "a class with one page");
    is(move(&r, from, class_of(&r, 100), 1), 0, "does not give it");
    ok(get(&r, 1, 1000, &wrong) && wrong == 0, "and keeps its item");
    rig_close(&r);
}

static void test_chained_values_move(void) {
    struct rig r;
    rig_open(&r, 64u << 20);
    enum { ITEMS = 20, BYTES = 700000 };
    unsigned wrong = 0, kept = 0;
    for (unsigned i = 0; i < ITEMS; i++) {
        set(&r, i, BYTES + i);
    }
    for (unsigned i = 0; i < ITEMS; i += 2) {
        drop(&r, i);
    }
    unsigned moved = 0;
    uint64_t pieces = 0;
    for (unsigned c = 1; c <= r.slab->class_count; c++) {
        moved += move(&r, c, SLAB_CLASS_NONE, 1); /* the others have room for what it holds */
        pieces += last.did.chunks_rescued;
    }
    for (unsigned i = 1; i < ITEMS; i += 2) {
        kept += get(&r, i, BYTES + i, &wrong);
    }
    ok(moved > 0 && pieces > 0, "pieces of chained values move (%" PRIu64 ")", pieces);
    is(kept, ITEMS / 2, "no chained value is lost");
    is(wrong, 0, "nor damaged");
    rig_close(&r);
}

enum { BLOCK_VALUES = 60, BLOCK_VALUE_BYTES = 300000 };

/* A block store in which every other value is gone, and the blocks of those that came later lie where there was room. */
static void open_blocks(struct rig *r) {
    struct cache_config cfg = fixture_config(32u << 20);
    cfg.store = CACHE_STORE_BLOCKS;
    rig_open_with(r, &cfg);
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < BLOCK_VALUES; i++) {
            set(r, i, BLOCK_VALUE_BYTES + i);
        }
        for (unsigned i = round; i < BLOCK_VALUES; i += 2) {
            drop(r, i);
        }
    }
}

static unsigned whole_values(struct rig *r) {
    unsigned wrong = 0, kept = 0;
    for (unsigned i = 0; i < BLOCK_VALUES; i += 2) {
        kept += get(r, i, BLOCK_VALUE_BYTES + i, &wrong);
    }
    return wrong == 0 ? kept : 0;
}

struct looks {
    struct cache_thread *ct;
    unsigned             looks;
};

static enum cache_moved look_along_the_chain(void *arg, uint32_t page, uint32_t chunk) {
    struct looks *l = arg;
    enum cache_moved moved = cache_evacuate(l->ct, page, chunk, 0, NULL);
    l->looks += moved == CACHE_MOVED_CHUNK;
    return moved;
}

/* One by one, each would be looked for along the whole chain. */
static void test_blocks_of_a_value_move_together(void) {
    struct rig r;
    open_blocks(&r);
    unsigned class_id = class_of(&r, 100);
    struct looks l = {.ct = r.ct};
    struct page_driver d = {.ct = r.ct, .step_bytes = 2 * PAGE_BYTES, .chunk = look_along_the_chain, .arg = &l};
    struct moving_page m, other;
    uint32_t pages[CACHE_SPARE_MAX];
    cache_turn_begin(r.ct);
    unsigned count = cache_spare_pages(r.ct, class_id, PICK_LEAST_VALUE, pages, CACHE_SPARE_MAX);
    pages[0] = pages[count - 1], pages[1] = pages[count - 2]; /* in which most lives */
    ok(page_move_begin(&m, r.ct, pages[0], class_id, SLAB_CLASS_NONE, 0) && page_move_begin(&other, r.ct, pages[1], class_id, SLAB_CLASS_NONE, 0),
       "two pages of blocks begin to drain");
    do {
        page_move_step(&m, &d);
    } while (m.at > 0);
    cache_turn_end(r.ct);
    ok(m.state == PAGE_MOVE_EMPTIED, "going over one of them once empties it");
    ok(l.looks > 0 && d.did.chunks_rescued > 20 * l.looks, "by %u looks along a chain for %" PRIu64 " blocks", l.looks, d.did.chunks_rescued);
    ok(page_move_finish(&m, r.ct, clock_mono_us() + 1000000), "all turns end");
    page_move_put_back(&other, r.ct);
    is(whole_values(&r), BLOCK_VALUES / 2, "and every value is whole");
    rig_close(&r);
}

static void test_a_move_ends_when_no_more_is_wanted(void) {
    struct rig r;
    struct slab_class_facts f;
    open_blocks(&r);
    unsigned class_id = class_of(&r, 100);
    uint32_t had = pages_of(&r, class_id);
    begin_move(&r, class_id, SLAB_CLASS_NONE, MOVE_PAGES_MAX);
    while (r.mover.emptied == 0) {
        step(&r);
    }
    r.mover.wanted = 2;
    is(move_to_its_end(&r), 2, "no more pages move than are wanted when the next is to be emptied");
    is_str(last.why_not, "no more are wanted by now", "which is said");
    slab_facts(r.slab, class_id, &f);
    ok(f.pages == had - 2 && f.draining == 0 && last.given_up == 0, "the others stay as they were");
    is(whole_values(&r), BLOCK_VALUES / 2, "with what lives in them");
    is(move(&r, class_id, SLAB_CLASS_NONE, 3), 3, "the next move is as ever");
    is(whole_values(&r), BLOCK_VALUES / 2, "and loses nothing");
    rig_close(&r);
}

static void test_pages_sent_to_the_pool_stay_there(void) {
    struct rig r;
    rig_open(&r, 32u << 20);
    unsigned from = class_of(&r, 3000), wrong = 0;
    set_many(&r, 5000, 3000);
    uint32_t pages = pages_of(&r, from), pool = arena_pages_free(r.slab->arena);
    is(move(&r, from, SLAB_CLASS_NONE, 5), 5, "five pages of a full class go to the pool");
    is(pages_of(&r, from), pages - 5, "and the class does not take them back for what they held");
    is(arena_pages_free(r.slab->arena), pool + 5, "so the pool has them");
    get_many(&r, 5000, 1, 3000, &wrong);
    is(wrong, 0, "what is left is right");
    rig_close(&r);
}

static void test_what_was_read_outlives_a_move_of_a_full_class(void) {
    struct rig r;
    rig_open(&r, 16u << 20);
    enum { ITEMS = 6000, EVERY = 10 };
    unsigned from = class_of(&r, 1000), wrong = 0, kept = 0;
    set_many(&r, ITEMS, 1000);
    for (unsigned i = 0; i < ITEMS; i += EVERY) {
        get(&r, i, 1000, &wrong), get(&r, i, 1000, &wrong), get(&r, i, 1000, &wrong);
    }
    is(move(&r, from, SLAB_CLASS_NONE, 3), 3, "pages of a class without a free chunk move");
    kept += get_many(&r, ITEMS, EVERY, 1000, &wrong);
    ok(kept >= ITEMS / EVERY * 99 / 100, "what was read stays (%u of %d), what was not makes room", kept, ITEMS / EVERY);
    rig_close(&r);
}

static void test_drops_when_memory_is_full(void) {
    struct rig r;
    rig_open(&r, 8u << 20);
    unsigned wrong = 0, kept = 0;
    enum { ITEMS = 9000, BYTES = 1000 };
    unsigned from = class_of(&r, BYTES), to = class_of(&r, 100);
    set_many(&r, ITEMS, BYTES);
    is(arena_pages_free(r.slab->arena), 0, "memory is full");
    is(move(&r, from, to, 2), 2, "pages move all the same");
    ok(last.did.evicted > 0, "what they held is dropped (%" PRIu64 " items)", last.did.evicted);
    kept += get_many(&r, ITEMS, 1, BYTES, &wrong);
    is(wrong, 0, "no value is damaged");
    ok(kept > 1000, "the other pages' items stay (%u)", kept);
    rig_close(&r);
}

static uint64_t evictions_of(struct rig *r, unsigned class_id, uint64_t *wanted) {
    static const struct class_set nobody;
    struct snapshot s;
    struct cache_class_facts f;
    snapshot_take(r->cache, &nobody, &s);
    cache_class_facts(r->cache, class_id, &f);
    *wanted = snapshot_demand(&s.classes[class_id]);
    return f.counters.evicted;
}

/* What a move drops was not in the way of a store: whoever decides where pages go must not take it for need of memory. */
static void test_what_a_move_drops_is_no_demand(void) {
    struct rig r;
    uint64_t wanted, wanted_after;
    rig_open(&r, 8u << 20);
    unsigned from = class_of(&r, 1000);
    set_many(&r, 9000, 1000);
    uint64_t evicted = evictions_of(&r, from, &wanted);
    ok(evicted > 0 && wanted == evicted, "what stores evict is demand");
    is(move(&r, from, SLAB_CLASS_NONE, 2), 2, "pages of a full class move");
    ok(evictions_of(&r, from, &wanted_after) == evicted + last.did.evicted && last.did.evicted > 0, "what that drops is counted");
    is(wanted_after, wanted, "but not as demand");
    cache_reset_counters(r.cache);
    ok(evictions_of(&r, from, &wanted) == 0 && wanted == 0, "counters that begin anew begin at nothing");
    rig_close(&r);
}

static void test_a_class_that_is_retired_gets_no_page(void) {
    struct rig r;
    rig_open(&r, 64u << 20);
    unsigned from = class_of(&r, 1000), to = class_of(&r, 5000);
    struct size_list sizes = slab_geometry(r.slab)->sizes, fewer = {.count = 0};
    for (unsigned i = 0; i < sizes.count; i++) {
        if (sizes.bytes[i] != slab_chunk_bytes(r.slab, to)) {
            fewer.bytes[fewer.count++] = sizes.bytes[i];
        }
    }
    set_many(&r, 5000, 1000);
    uint32_t had = pages_of(&r, from);
    ok(cache_set_sizes(r.cache, &fewer), "a size is not wanted any more");
    ok(move(&r, from, to, 2) == 0 && move(&r, SLAB_CLASS_NONE, to, 1) == 0 && pages_of(&r, from) == had, "no page goes to its class");
    is_str(last.why_not, "the chunk sizes changed, and the receiver takes no page any more", "and the result says why");
    rig_close(&r);
}

/* --- which page goes --- */

enum { PICK_BYTES = 1000, PICK_ITEMS = 20000 };

/* The page that holds a key; PAGE_NONE: it is not there. */
static uint32_t page_of(struct rig *r, uint64_t n) {
    struct key key = FIXTURE_KEY(n);
    struct cache_reader reader;
    cache_turn_begin(r->client);
    enum cache_read how = cache_read_begin(r->client, &key, (struct index_spot){0}, &reader);
    uint32_t page = how == CACHE_READ_COPY ? arena_page_of(r->slab->arena, reader.item) : PAGE_NONE;
    cache_turn_end(r->client);
    return page;
}

/* A full class whose pages were all given to it one by one; returns the class. */
static unsigned fill_class(struct rig *r, uint32_t page_of_item[PICK_ITEMS]) {
    rig_open(r, 8u << 20);
    unsigned class_id = class_of(r, PICK_BYTES);
    set_many(r, PICK_ITEMS, PICK_BYTES);
    for (unsigned i = 0; i < PICK_ITEMS; i++) {
        page_of_item[i] = page_of(r, i);
    }
    return class_id;
}

/* A page in the middle of what lives. */
static uint32_t some_page(const uint32_t page_of_item[PICK_ITEMS]) {
    unsigned i = PICK_ITEMS - 1500;
    while (page_of_item[i] == PAGE_NONE) {
        i++;
    }
    return page_of_item[i];
}

/* Reads all items but those of one page. */
static void read_all_but(struct rig *r, const uint32_t page_of_item[PICK_ITEMS], uint32_t page) {
    unsigned wrong = 0;
    for (unsigned i = 0; i < PICK_ITEMS; i++) {
        if (page_of_item[i] != PAGE_NONE && page_of_item[i] != page) {
            get(r, i, PICK_BYTES, &wrong);
        }
    }
    is(wrong, 0, "values are right");
}

static bool gave(const struct rig *r, unsigned class_id, uint32_t page) { return slab_page_class(r->slab, page) != class_id; }

static void test_the_page_of_least_value_goes(void) {
    static uint32_t page_of_item[PICK_ITEMS];
    struct rig r;
    unsigned class_id = fill_class(&r, page_of_item);
    uint32_t unread = some_page(page_of_item);
    read_all_but(&r, page_of_item, unread);
    cache_turn_begin(r.ct);
    uint32_t best;
    is(cache_spare_pages(r.ct, class_id, PICK_LEAST_VALUE, &best, 1), 1, "a page is proposed");
    cache_turn_end(r.ct);
    is(best, unread, "the one whose items nobody read");
    is(move(&r, class_id, SLAB_CLASS_NONE, 1), 1, "it moves");
    ok(gave(&r, class_id, unread), "it and no other");
    ok(last.did.evicted > 500 && last.did.evicted < 1100 && last.did.rescued == 0 && last.why_not == NULL && last.duration_us > 0,
       "which costs what lived in it (%" PRIu64 " items), and nothing was worth a copy", last.did.evicted);
    rig_close(&r);
}

static void test_lrc_and_lra_take_pages_by_age(void) {
    static uint32_t page_of_item[PICK_ITEMS];
    struct rig r;
    unsigned class_id = fill_class(&r, page_of_item);
    uint32_t oldest = PAGE_NONE, idle = some_page(page_of_item);
    for (uint32_t page = 0; page < r.slab->arena->page_max; page++) {
        bool owned = slab_page_class(r.slab, page) == class_id;
        if (owned && (oldest == PAGE_NONE || r.slab->arena->table[page].birth < r.slab->arena->table[oldest].birth)) {
            oldest = page;
        }
    }
    struct page_move lrc = {.from = class_id, .pages = 1, .pick = PICK_LEAST_CREATED};
    if (idle == oldest) { /* two questions, two pages */
        idle = page_of_item[PICK_ITEMS - 1];
    }
    clock_shift(10);
    read_all_but(&r, page_of_item, idle);
    struct page_move lra = {.from = class_id, .pages = 1, .pick = PICK_LEAST_ACCESSED};
    ok(move_as(&r, &lra) == 1 && gave(&r, class_id, idle), "lra: the page whose items were not accessed goes");
    ok(move_as(&r, &lrc) == 1 && gave(&r, class_id, oldest), "lrc: the page the class has had for longest goes");
    rig_close(&r);
}

static void test_a_pinned_page_is_passed_over(void) {
    struct rig r;
    rig_open(&r, 64u << 20);
    enum { BYTES = 5000, ITEMS = 2000 };
    unsigned from = class_of(&r, BYTES);
    set_many(&r, ITEMS, BYTES);
    for (unsigned i = 1; i < 150; i++) { /* the page of item 0 is nearly empty, and so the one to go */
        drop(&r, i);
    }
    struct key key = FIXTURE_KEY(0);
    struct cache_view view = {0};
    cache_turn_begin(r.client);
    fixture_fetch(r.client, &key, r.read, &view);
    cache_turn_end(r.client);
    uint32_t pinned = arena_page_of(r.slab->arena, view.borrowed);
    is(move(&r, from, SLAB_CLASS_NONE, 1), 1, "another page moves");
    ok(!gave(&r, from, pinned) && last.given_up == 0, "without a wait for the one that is in use");
    cache_turn_begin(r.client);
    cache_return(r.client, view.borrowed);
    cache_turn_end(r.client);
    ok(cache_page_in_use(r.cache, pinned) == false, "which later is not in use any more");
    rig_close(&r);
}

static void test_the_last_page_goes_only_when_it_must(void) {
    struct rig r;
    rig_open(&r, 64u << 20);
    unsigned from = class_of(&r, 1000), wrong = 0;
    set(&r, 1, 1000);
    is(move(&r, from, SLAB_CLASS_NONE, 1), 0, "the last page stays");
    is_str(last.why_not, "the class has no page to spare", "and the result says why");
    struct page_move m = {.from = from, .pages = 1, .last_too = true};
    is(move_as(&r, &m), 1, "unless the move says otherwise");
    ok(!get(&r, 1, 1000, &wrong) && pages_of(&r, from) == 0, "its item had nowhere to go");
    is(set(&r, 2, 1000), CACHE_OK, "and the class gets a page again when it needs one");
    rig_close(&r);
}

static void test_without_evictions_nothing_is_dropped(void) {
    struct cache_config cfg = fixture_config(8u << 20);
    struct rig r;
    cfg.evict = false;
    rig_open_with(&r, &cfg);
    unsigned class_id = class_of(&r, PICK_BYTES), stored = 0, kept = 0, wrong = 0;
    while (set(&r, stored, PICK_BYTES) == CACHE_OK) {
        stored++;
    }
    is(move(&r, class_id, SLAB_CLASS_NONE, 1), 0, "a full class gives no page when nothing may be evicted");
    is_str(last.why_not, "there was no room for what lives in the page", "and the result says why");
    kept += get_many(&r, stored, 1, PICK_BYTES, &wrong);
    ok(stored > 1000 && kept == stored && wrong == 0, "all %u items are there", stored);
    for (unsigned i = 0; i < stored; i += 2) {
        drop(&r, i);
    }
    is(move(&r, class_id, SLAB_CLASS_NONE, 1), 1, "once there is room for its items a page goes");
    is(last.did.evicted, 0, "and nothing is lost");
    rig_close(&r);
}

static void test_a_cancelled_move_leaves_all_as_it_was(void) {
    static uint32_t page_of_item[PICK_ITEMS];
    struct rig r;
    unsigned class_id = fill_class(&r, page_of_item);
    uint32_t had = pages_of(&r, class_id);
    begin_move(&r, class_id, SLAB_CLASS_NONE, 3);
    mover_cancel(&r.mover);
    is(move_to_its_end(&r), 0, "nothing moves");
    ok(pages_of(&r, class_id) == had && last.given_up == 0 && last.did.evicted == 0, "nothing is lost or counted as given up");
    is(move(&r, class_id, SLAB_CLASS_NONE, 3), 3, "the next move is as ever");
    rig_close(&r);
}

int main(void) {
    clock_start();
    test_the_page_of_least_value_goes();
    test_lrc_and_lra_take_pages_by_age();
    test_a_pinned_page_is_passed_over();
    test_the_last_page_goes_only_when_it_must();
    test_a_cancelled_move_leaves_all_as_it_was();
    test_without_evictions_nothing_is_dropped();
    test_rescues_when_there_is_room();
    test_keeps_the_last_page();
    test_chained_values_move();
    test_blocks_of_a_value_move_together();
    test_a_move_ends_when_no_more_is_wanted();
    test_pages_sent_to_the_pool_stay_there();
    test_what_was_read_outlives_a_move_of_a_full_class();
    test_drops_when_memory_is_full();
    test_what_a_move_drops_is_no_demand();
    test_a_class_that_is_retired_gets_no_page();
    return tap_done();
}
