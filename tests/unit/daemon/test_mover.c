/* Pages change classes: live items survive when there is room; which page of a class goes; and nothing is lost for a page that cannot be
 * freed, or by a cancelled move. */
#include "tap.h"

#include "control/snapshot.h"
#include "mover_fixture.h"

/* A cache with so many items; returns their class. */
static unsigned open_with_items(struct rig *r, size_t megabytes, unsigned items, size_t bytes) {
    rig_open(r, megabytes << 20);
    unsigned class_id = class_of(r, bytes);
    set_many(r, items, bytes);
    return class_id;
}

TEST(test_rescues_when_there_is_room) {
    enum { ITEMS = 8000, BYTES = 1000 };
    struct rig r;
    unsigned from = open_with_items(&r, 64, ITEMS, BYTES), to = class_of(&r, 100), wrong = 0;
    for (unsigned i = 0; i < ITEMS; i++) {
        if (i % 3 != 0) {
            drop(&r, i);
        }
    }
    uint32_t had = pages_of(&r, from), had_to = pages_of(&r, to);
    is(move(&r, from, to, 4), 4, "four pages move at once");
    ok(pages_of(&r, from) == had - 4 && pages_of(&r, to) == had_to + 4, "the giver has four less, the receiver four more");
    ok(get_many(&r, ITEMS, 3, BYTES, &wrong) == (ITEMS + 2) / 3 && wrong == 0, "every live item is still there, with its value");
    ok(last.did.rescued > 0 && last.did.evicted == 0, "by copying, not by evicting (%" PRIu64 " copied)", last.did.rescued);
    uint32_t pool = arena_pages_free(r.slab->arena);
    ok(move(&r, to, SLAB_CLASS_NONE, 1) == 1 && arena_pages_free(r.slab->arena) == pool + 1, "a page goes to the pool, which has one more");
    ok(move(&r, SLAB_CLASS_NONE, from, 2) == 2 && arena_pages_free(r.slab->arena) == pool - 1, "and two come from it");
    rig_close(&r);
}

TEST(test_chained_values_move) {
    enum { ITEMS = 20, BYTES = 700000 };
    struct rig r;
    unsigned wrong = 0, moved = 0;
    uint64_t pieces = 0;
    struct item *held[ITEMS] = {NULL};
    open_with_items(&r, 64, ITEMS, BYTES);
    for (unsigned i = 1; i < ITEMS; i += 2) {
        drop(&r, i);
    }
    hold(&r, held, ITEMS, 2);
    for (unsigned c = 1; c <= r.slab->class_count; c++) {
        move(&r, c, SLAB_CLASS_NONE, 1);
        pieces += last.did.chunks_rescued;
    }
    is(pieces, 0, "no piece of a value that is being sent moves");
    return_held(&r, held, ITEMS);
    for (unsigned c = 1; c <= r.slab->class_count; c++) {
        moved += move(&r, c, SLAB_CLASS_NONE, 1); /* the other pages have room for the page's items */
        pieces += last.did.chunks_rescued;
    }
    ok(moved > 0 && pieces > 0, "pieces of chained values move (%" PRIu64 ")", pieces);
    ok(get_many(&r, ITEMS, 2, BYTES, &wrong) == ITEMS / 2 && wrong == 0, "no chained value is lost or damaged");
    rig_close(&r);
}

enum { BLOCK_VALUES = 60, BLOCK_BYTES = 300000 };

/* A block store in which every other value is gone; blocks of later values lie in the gaps. */
static void open_blocks(struct rig *r) {
    struct cache_config cfg = fixture_config(32u << 20);
    cfg.store = CACHE_STORE_BLOCKS;
    rig_open_with(r, &cfg);
    for (unsigned round = 0; round < 2; round++) {
        set_many(r, BLOCK_VALUES, BLOCK_BYTES);
        for (unsigned i = round; i < BLOCK_VALUES; i += 2) {
            drop(r, i);
        }
    }
}

static void blocks_are_whole(struct rig *r, const char *after) {
    unsigned wrong = 0;
    ok(get_many(r, BLOCK_VALUES, 2, BLOCK_BYTES, &wrong) == BLOCK_VALUES / 2 && wrong == 0, "%s every value is whole", after);
}

TEST(test_a_move_ends_when_no_more_is_wanted) {
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
    is(move(&r, class_id, SLAB_CLASS_NONE, 3), 3, "the next move is as ever");
    blocks_are_whole(&r, "after both");
    rig_close(&r);
}

TEST(test_read_items_outlive_a_move) {
    enum { ITEMS = 5000, BYTES = 3000, EVERY = 10 };
    struct rig r;
    unsigned from = open_with_items(&r, 32, ITEMS, BYTES), wrong = 0;
    for (unsigned i = 0; i < 3; i++) {
        get_many(&r, ITEMS, EVERY, BYTES, &wrong);
    }
    uint32_t pages = pages_of(&r, from), pool = arena_pages_free(r.slab->arena);
    is(move(&r, from, SLAB_CLASS_NONE, 5), 5, "five pages of a full class go to the pool");
    is(pages_of(&r, from), pages - 5, "and the class does not take them back for their old items");
    is(arena_pages_free(r.slab->arena), pool + 5, "so the pool has them");
    unsigned kept = get_many(&r, ITEMS, EVERY, BYTES, &wrong);
    ok(kept >= ITEMS / EVERY * 99 / 100 && wrong == 0, "read items stay (%u of %d), unread ones make room", kept, ITEMS / EVERY);
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

/* Items that a move drops are no evictions for a store: control must not take them for a need of memory. */
TEST(test_items_dropped_by_a_move_are_no_demand) {
    struct rig r;
    uint64_t wanted, wanted_after;
    unsigned from = open_with_items(&r, 8, 9000, 1000), wrong = 0;
    uint64_t evicted = evictions_of(&r, from, &wanted);
    ok(evicted > 0 && wanted == evicted && arena_pages_free(r.slab->arena) == 0, "memory is full, and evictions by stores are demand");
    is(move(&r, from, SLAB_CLASS_NONE, 2), 2, "pages move all the same");
    ok(evictions_of(&r, from, &wanted_after) == evicted + last.did.evicted && last.did.evicted > 0, "its dropped items are counted");
    is(wanted_after, wanted, "but not as demand");
    ok(get_many(&r, 9000, 1, 1000, &wrong) > 1000 && wrong == 0, "the other pages' items stay");
    cache_reset_counters(r.cache);
    ok(evictions_of(&r, from, &wanted) == 0 && wanted == 0, "counters that begin anew begin at nothing");
    rig_close(&r);
}

TEST(test_a_class_that_is_retired_gets_no_page) {
    struct rig r;
    unsigned from = open_with_items(&r, 64, 5000, 1000), to = class_of(&r, 5000);
    struct size_list sizes = slab_geometry(r.slab)->sizes, fewer = {.count = 0};
    for (unsigned i = 0; i < sizes.count; i++) {
        if (sizes.bytes[i] != slab_chunk_bytes(r.slab, to)) {
            fewer.bytes[fewer.count++] = sizes.bytes[i];
        }
    }
    uint32_t had = pages_of(&r, from);
    ok(cache_set_sizes(r.cache, &fewer), "a size is not wanted any more");
    ok(move(&r, from, to, 2) == 0 && move(&r, SLAB_CLASS_NONE, to, 1) == 0 && pages_of(&r, from) == had, "no page goes to its class");
    is_str(last.why_not, "the chunk sizes changed, and the receiver takes no page any more", "and the result says why");
    rig_close(&r);
}

/* --- which page goes --- */

enum { PICK_BYTES = 1000, PICK_ITEMS = 20000 };
static uint32_t page_of_item[PICK_ITEMS]; /* PAGE_NONE: missing */

/* A full class that got its pages one by one; returns the class. */
static unsigned fill_class(struct rig *r) {
    unsigned class_id = open_with_items(r, 8, PICK_ITEMS, PICK_BYTES);
    cache_turn_begin(r->client);
    for (unsigned i = 0; i < PICK_ITEMS; i++) {
        struct key key = FIXTURE_KEY(i);
        struct cache_reader reader;
        bool there =
            cache_read_begin(r->client, &key, (struct index_hint){0}, &reader) == CACHE_READ_COPY;
        page_of_item[i] = there ? arena_page_of(r->slab->arena, reader.item) : PAGE_NONE;
    }
    cache_turn_end(r->client);
    return class_id;
}

/* A page in the middle of the live items, other than `other`. */
static uint32_t some_page_but(uint32_t other) {
    unsigned i = PICK_ITEMS - 1500;
    while (page_of_item[i] == PAGE_NONE || page_of_item[i] == other) {
        i++;
    }
    return page_of_item[i];
}

/* Reads all items but those of one page. */
static void read_all_but(struct rig *r, uint32_t page) {
    unsigned wrong = 0;
    for (unsigned i = 0; i < PICK_ITEMS; i++) {
        if (page_of_item[i] != PAGE_NONE && page_of_item[i] != page) {
            get(r, i, PICK_BYTES, &wrong);
        }
    }
    is(wrong, 0, "values are right");
}

static bool gave(const struct rig *r, unsigned class_id, uint32_t page) { return slab_page_class(r->slab, page) != class_id; }

TEST(test_the_page_of_least_value_goes) {
    struct rig r;
    unsigned class_id = fill_class(&r);
    uint32_t unread = some_page_but(PAGE_NONE);
    read_all_but(&r, unread);
    ok(move(&r, class_id, SLAB_CLASS_NONE, 1) == 1 && gave(&r, class_id, unread), "the page with unread items moves, and no other");
    ok(last.did.evicted > 500 && last.did.evicted < 1100 && last.did.rescued == 0 && last.why_not == NULL && last.duration_us > 0,
       "which costs what lived in it (%" PRIu64 " items), and nothing was worth a copy", last.did.evicted);
    rig_close(&r);
}

TEST(test_lrc_and_lra_take_pages_by_age) {
    struct rig r;
    unsigned class_id = fill_class(&r);
    uint32_t oldest = PAGE_NONE;
    for (uint32_t page = 0; page < r.slab->arena->page_max; page++) {
        bool owned = slab_page_class(r.slab, page) == class_id;
        if (owned && (oldest == PAGE_NONE || r.slab->arena->table[page].acquired_seq <
                                                 r.slab->arena->table[oldest].acquired_seq)) {
            oldest = page;
        }
    }
    uint32_t idle = some_page_but(oldest);
    struct page_move lrc = {.from = class_id, .pages = 1, .pick = PICK_LEAST_CREATED}, lra = {.from = class_id, .pages = 1, .pick = PICK_LEAST_ACCESSED};
    clock_shift(10);
    read_all_but(&r, idle);
    ok(move_as(&r, &lra) == 1 && gave(&r, class_id, idle), "lra: the page with items not accessed goes");
    ok(move_as(&r, &lrc) == 1 && gave(&r, class_id, oldest), "lrc: the page the class has had for longest goes");
    rig_close(&r);
}

TEST(test_the_last_page_goes_only_when_it_must) {
    struct rig r;
    unsigned from = open_with_items(&r, 64, 2, 1000), wrong = 0;
    is(move(&r, from, SLAB_CLASS_NONE, 1), 0, "the last page stays");
    is_str(last.why_not, "the class has no page to spare", "and the result says why");
    ok(get(&r, 1, 1000, &wrong) && wrong == 0, "with its item");
    struct page_move m = {.from = from, .pages = 1, .last_too = true};
    is(move_as(&r, &m), 1, "unless the move says otherwise");
    ok(!get(&r, 1, 1000, &wrong) && pages_of(&r, from) == 0, "its item had nowhere to go");
    is(set(&r, 2, 1000), CACHE_OK, "and the class gets a page again when it needs one");
    rig_close(&r);
}

TEST(test_without_evictions_nothing_is_dropped) {
    struct cache_config cfg = fixture_config(8u << 20);
    struct rig r;
    cfg.evict = false;
    rig_open_with(&r, &cfg);
    unsigned class_id = class_of(&r, PICK_BYTES), stored = 0, wrong = 0;
    while (set(&r, stored, PICK_BYTES) == CACHE_OK) {
        stored++;
    }
    is(move(&r, class_id, SLAB_CLASS_NONE, 1), 0, "a full class gives no page when nothing may be evicted");
    is_str(last.why_not, "there was no room for the live items of the page", "and the result says why");
    ok(stored > 1000 && get_many(&r, stored, 1, PICK_BYTES, &wrong) == stored && wrong == 0, "all %u items are there", stored);
    for (unsigned i = 0; i < stored; i += 2) {
        drop(&r, i);
    }
    ok(move(&r, class_id, SLAB_CLASS_NONE, 1) == 1 && last.did.evicted == 0, "once there is room for its items a page goes, and nothing is lost");
    rig_close(&r);
}

/* --- pages in use, and cancelled moves --- */

TEST(test_a_pinned_page_is_passed_over) {
    enum { BYTES = 5000 };
    struct rig r;
    struct item *held[1];
    unsigned from = open_with_items(&r, 64, 2000, BYTES);
    for (unsigned i = 1; i < 150; i++) { /* the page of item 0 is nearly empty, and so the one to go */
        drop(&r, i);
    }
    hold(&r, held, 1, 1);
    uint32_t pinned = arena_page_of(r.slab->arena, held[0]);
    is(move(&r, from, SLAB_CLASS_NONE, 1), 1, "another page moves");
    ok(!gave(&r, from, pinned) && last.given_up == 0, "without a wait for the one that is in use");
    return_held(&r, held, 1);
    ok(!cache_page_in_use(r.cache, pinned), "which later is not in use any more");
    rig_close(&r);
}

TEST(test_a_slow_reader_stops_a_move) {
    enum { BYTES = 5000, ITEMS = 500 };
    struct rig r;
    static struct item *held[ITEMS];
    unsigned from = open_with_items(&r, 64, ITEMS, BYTES), to = class_of(&r, 100), damaged = 0;
    hold(&r, held, ITEMS, 1);
    uint32_t had = pages_of(&r, from);
    uint64_t begun_us = r.now_us;
    is(move(&r, from, to, 1), 0, "a page with items being sent does not move");
    ok(last.given_up == 1 && pages_of(&r, from) >= had, "the move is given up and counted, and the page stays with its class");
    ok(r.now_us - begun_us >= PAGE_WAIT_US && r.now_us - begun_us < 2 * PAGE_WAIT_US, "after some patience");
    is_str(decision_busy_name(last.last_busy), "reader", "with the reason");
    for (unsigned i = 0; i < ITEMS; i++) {
        fixture_value(r.value, BYTES, i, BYTES);
        fixture_read_borrowed(r.client, held[i], r.read);
        damaged += memcmp(r.read, r.value, BYTES) != 0;
    }
    is(damaged, 0, "the reader's values are whole");
    return_held(&r, held, ITEMS);
    ok(get_many(&r, ITEMS, 1, BYTES, &damaged) == ITEMS && damaged == 0, "and the items are still there");
    is(move(&r, from, to, 1), 1, "when it is done, another page moves");
    rig_close(&r);
}

/* A page with an item that a reader holds cannot be freed, so none of its items is dropped. */
TEST(test_slow_readers_cost_no_items) {
    enum { BYTES = 90 * 1000 };
    struct rig r;
    struct item *held[100] = {NULL};
    struct slab_class_facts f = {.free_chunks = 1};
    rig_open(&r, 8 << 20);
    unsigned from = class_of(&r, BYTES), items = 0, wrong = 0;
    for (; f.free_chunks > 0 || arena_pages_free(r.slab->arena) > 0; items++) {
        set(&r, items, BYTES);
        slab_facts(r.slab, from, &f);
    }
    hold(&r, held, items, 2);
    is(move(&r, from, class_of(&r, 100), 1), 0, "a full class with all pages held loses none");
    ok(last.did.evicted == 0 && strstr(last.why_not, "being sent") != NULL, "nothing is dropped: %" PRIu64 " items, %s", last.did.evicted, last.why_not);
    return_held(&r, held, items);
    ok(get_many(&r, items, 1, BYTES, &wrong) == items && wrong == 0, "all %u items are there", items);
    rig_close(&r);
}

TEST(test_a_draft_stops_a_move) {
    enum { BYTES = 300000, DRAFTS = 8 };
    struct rig r;
    struct key key = FIXTURE_KEY(77);
    struct cache_store s = {.mode = CACHE_SET, .value_bytes = BYTES};
    struct cache_upload drafts[DRAFTS];
    unsigned from = open_with_items(&r, 64, DRAFTS, BYTES);
    for (unsigned i = 0; i < DRAFTS; i++) {
        drop(&r, i);
    }
    cache_turn_begin(r.client);
    for (unsigned i = 0; i < DRAFTS; i++) {
        cache_upload_begin(r.client, &key, &s, &drafts[i]);
        cache_upload_extend(r.client, &key, &s, &drafts[i], 1);
    }
    cache_turn_end(r.client);
    is(move(&r, from, class_of(&r, 100), 1), 0, "a page with half-received values does not move");
    is_str(decision_busy_name(last.last_busy), "draft", "the reason says so");
    cache_turn_begin(r.client);
    for (unsigned i = 0; i < DRAFTS; i++) {
        cache_upload_abandon(r.client, &drafts[i]);
    }
    cache_turn_end(r.client);
    is(move(&r, from, class_of(&r, 100), 1), 1, "once they are abandoned, another page does");
    rig_close(&r);
}

/* The turn under way is the mover's last: most of the page is still in place. */
TEST(test_a_move_is_cancelled) {
    enum { BYTES = 100, ITEMS = 40000 };
    struct rig r;
    struct slab_class_facts f;
    unsigned from = open_with_items(&r, 64, ITEMS, BYTES), to = class_of(&r, 1000), wrong = 0;
    uint32_t had = pages_of(&r, from);
    begin_move(&r, from, to, 3);
    mover_cancel(&r.mover);
    is(move_to_its_end(&r), 0, "cancelled before it has begun, nothing moves");
    begin_move(&r, from, to, 1);
    while (r.mover.drain.driver.did.rescued == 0) {
        step(&r);
    }
    mover_cancel(&r.mover);
    is(move_to_its_end(&r), 0, "nor amid its page");
    slab_facts(r.slab, from, &f);
    ok(last.did.rescued > 0 && last.did.rescued < f.chunks_per_page, "a page of %u chunks goes back when %u have been copied", f.chunks_per_page, (unsigned)last.did.rescued);
    ok(strcmp(last.why_not, "cancelled") == 0 && last.given_up == 0, "with the reason, and is not counted as given up");
    ok(f.pages >= had && f.draining == 0, "it is the class's, and not on the move");
    ok(get_many(&r, ITEMS, 1, BYTES, &wrong) == ITEMS && wrong == 0, "every item is there");
    is(move(&r, from, to, 3), 3, "the next move is as ever");
    rig_close(&r);
}

int main(void) {
    clock_start();
    return tap_main();
}
