/* Every policy as a queue: each node goes once, in an order that is the policy's. */
#include "tap.h"

#include <malloc.h>

#include "evict/evict.h"
#include "evict/evict_memory.h"

enum { NODES = 1000 };
static struct evict_queue q; /* under test */
static struct node nodes[NODES + 1]; /* reference 0 means no node */

/* The key of a node is the node's number. */
static uint64_t hash_of(const struct node *n) { return (uint64_t)(n - nodes) * 0x9e3779b97f4a7c15u; }
static struct node_space space = {.base = (char *)nodes, .shift = 4, .first = 1, .hash_of = hash_of};
static const struct evict_tuning usual = {20, 40, 20, 200, 10, 90, 2, 0};
static struct evict_tuning tuning = {20, 40, 20, 200, 10, 90, 2, 0}; /* usual, until a test sets a number */

static unsigned tails_of(const struct node *n) { return (unsigned)__builtin_popcount(node_where(n) & (EVICT_TAIL_FIRST | EVICT_TAIL_BOTH)); }

static void fresh(const struct evict_policy *p) {
    memset(nodes, 0, sizeof nodes);
    evict_init(&q, p, &tuning, &space);
}

static void end(void) {
    evict_fini(&q);
    tuning = usual;
}

static struct node *insert(unsigned n, uint32_t now_s) {
    node_set_mark(&nodes[n], 0);
    node_set_time_s(&nodes[n], now_s);
    evict_insert(&q, &nodes[n], false, now_s);
    return &nodes[n];
}

/* The first nodes, all with one second, or each with its number as its second. */
enum { SECOND_BY_SECOND };
static void filled(const struct evict_policy *p, unsigned count, uint32_t now_s) {
    fresh(p);
    for (unsigned n = 1; n <= count; n++) {
        insert(n, now_s == SECOND_BY_SECOND ? n : now_s);
    }
}

/* A hit, noted as the cache does. */
static void hit(unsigned n, uint32_t now_s) {
    struct node *node = &nodes[n];
    unsigned hits = node_hits(node) < q.policy->hit_max ? node_hits(node) + 1 : node_hits(node);
    node_set_mark(node, (uint8_t)(node_age_code(now_s - node_time_s(node)) << 3 | hits));
    if (q.policy->hit != NULL) {
        q.policy->hit(&q, node, now_s);
    }
}

/* A new value in place of the old one, noted as the cache does. */
static void renew(unsigned n, bool temporary, uint32_t now_s) {
    node_set_mark(&nodes[n], 0);
    node_set_time_s(&nodes[n], now_s);
    evict_renew(&q, &nodes[n], temporary, now_s);
}

/* Evicts as the cache does, with a call of the policy. 0: no victim. */
static unsigned evict_one(uint32_t now_s) {
    struct node *v = evict_victim(&q, now_s);
    if (v == NULL) {
        return 0;
    }
    evict_note_evicted(&q, v);
    evict_remove(&q, v);
    return (unsigned)(v - nodes);
}

/* The number of next victims that are not among these. */
static unsigned wrong_victims(const unsigned *want, unsigned count, uint32_t now_s) {
    unsigned wrong = 0;
    for (unsigned i = 0; i < count; i++) {
        wrong += evict_one(now_s) != want[i];
    }
    return wrong;
}

static void test_every_node_goes_once(const struct evict_policy *p, uint64_t x) {
    unsigned gone[NODES + 1] = {0}, victim, wrong = 0;
    fresh(p);
    for (unsigned n = 1; n <= NODES; n++) {
        insert(n, n / 10);
        tap_random(&x);
        hit(1 + (unsigned)(x % n), n / 10);
        renew(1 + (unsigned)(x >> 32) % n, x % 7 == 0, n / 10);
    }
    is(evict_lists_count(&q), NODES, "%s: counts the inserted nodes", p->name);
    while ((victim = evict_one(200)) != 0) {
        gone[victim]++;
    }
    for (unsigned n = 1; n <= NODES; n++) {
        wrong += gone[n] != 1;
    }
    ok(wrong == 0 && evict_lists_count(&q) == 0, "%s: every node is a victim exactly once, then nothing is left", p->name);
    end();
}

static void test_a_moved_node_keeps_its_place(const struct evict_policy *p) {
    filled(p, 9, SECOND_BY_SECOND);
    struct node *v = evict_victim(&q, 20);
    struct node *to = &nodes[50];
    *to = *v;
    evict_list_replace(&q, v, to);
    ok(evict_victim(&q, 20) == to, "%s: the copy of the next victim is the next victim", p->name);
    evict_remove(&q, to);
    is(evict_lists_count(&q), 8, "%s: and counts once", p->name);
    end();
}

/* s3loop fills its main queue with the oldest nodes first, and so evicts others. */
static void test_a_switch_keeps_nodes_and_order(const struct evict_policy *from, const struct evict_policy *to) {
    filled(from, 100, SECOND_BY_SECOND);
    evict_switch(&q, to);
    unsigned last = 0, inversions = 0, there = evict_lists_count(&q);
    for (unsigned i = 0; i < 50; i++) {
        unsigned v = evict_one(102);
        inversions += v < last;
        last = v;
    }
    ok(there == 100 && (inversions == 0 || to == &evict_s3loop), "%s to %s: every node stays, and the oldest still go first", from->name, to->name);
    end();
}

static void test_nodes_that_a_hand_spared_go_last(const struct evict_policy *to) {
    filled(&evict_sieve, 9, 1);
    for (unsigned n = 1; n <= 3; n++) {
        hit(n, 1);
    }
    is(evict_one(1), 4, "sieve spares three that were hit");
    evict_switch(&q, to);
    evict_switch(&q, &evict_sieve);
    evict_switch(&q, to);
    is(wrong_victims((const unsigned[]){5, 6, 7, 8, 9, 1, 2, 3, 0}, 9, 1), 0, "they go last under %s, once, also after a change to and fro", to->name);
    end();
}

TEST(test_lru_takes_the_least_recently_used) {
    filled(&evict_lru, 5, SECOND_BY_SECOND);
    hit(1, 10);
    hit(3, 11);
    is(wrong_victims((const unsigned[]){2, 4, 5, 1, 3}, 5, 20), 0, "lru: victims come in order of last use");
    end();
}

TEST(test_slru_moves_as_memcached_does) {
    filled(&evict_slru, 100, 5);
    ok(q.list[0].count <= 21 && q.list[0].count >= 19 && q.list[0].count + q.list[2].count == 100,
       "slru: hot keeps its share (%u of 100), and what was never hit goes from hot to cold", q.list[0].count);
    hit(1, 6);
    is(evict_one(7), 1, "slru: one hit does not save a cold item");
    hit(2, 6), hit(2, 6);
    ok(evict_one(7) == 3 && node_where(&nodes[2]) == 1, "slru: two hits do, it went to warm");
    evict_insert(&q, &nodes[200], true, 7);
    is(q.list[3].count, 1, "slru: a short-lived item goes to temp");
    for (unsigned i = 0; i < 98; i++) {
        evict_one(8);
    }
    is(evict_one(9), 200, "slru: temp is evicted last");
    end();
}

/* s3loop evicts new items before others. */
static void test_a_renewed_node_counts_as_new(const struct evict_policy *p) {
    filled(p, 100, SECOND_BY_SECOND);
    for (unsigned n = 1; n <= 10; n++) {
        renew(n, false, 101);
    }
    unsigned early = 0;
    for (unsigned i = 0; i < 50; i++) {
        early += evict_one(102) <= 10;
    }
    ok(early == 0 || p == &evict_s3loop, "%s: a new value of an old item makes it new", p->name);
    renew(1, true, 103);
    is(evict_lists_count(&q), 50, "%s: and it is there once, also as a short-lived one", p->name);
    end();
}

/* A reader whose item is gone may mark the chunk's next item with the age of the old one: here every node gets an hour. */
static void test_a_wrong_mark_makes_no_node_newer_than_it_may_be(const struct evict_policy *p) {
    filled(p, 200, 10);
    unsigned later = 0, live = 0;
    for (unsigned round = 0; round < 2; round++) { /* in the second round they are flushed as well */
        for (unsigned n = 1; n <= 200; n++) {
            node_set_time_s(&nodes[n], 10);
            node_set_mark(&nodes[n], (uint8_t)(node_age_code(3600) << 3 | p->hit_max));
        }
        q.flushed_s = round == 0 ? UINT32_MAX : 15;
        for (unsigned i = 0; i < 200; i++) {
            struct node *v = evict_victim(&q, 20);
            evict_remove(&q, v);
            evict_insert(&q, v, false, 20);
        }
        for (unsigned n = 1; n <= 200; n++) {
            later += node_time_s(&nodes[n]) > 20;
            live += round == 1 && node_time_s(&nodes[n]) > 15;
        }
    }
    ok(later == 0 && live == 0, "%s: a node with a wrong mark is not used later than now, and one that was flushed stays so", p->name);
    end();
}

TEST(test_marks_have_the_age_within_a_third) {
    unsigned wrong = 0;
    for (uint32_t age_s = 0; age_s < 40000; age_s++) {
        uint32_t told = node_age_s(node_age_code(age_s));
        wrong += told > age_s || told * 3 < age_s * 2;
    }
    ok(wrong == 0 && node_age_code(UINT32_MAX) == 31, "an age up to 11 hours is known within a third, never too old, and any age in five bits");
}

/* Nodes of the tail's list with a mark that differs from their place, and parts of the tail with another length than the longest possible.
 * */
static unsigned wrong_tail(uint32_t want) {
    unsigned wrong = 0;
    uint32_t place = 0, both = q.tail.count[1], first = q.tail.count[0], count = q.list[q.policy->tail_list].count;
    for (uint32_t ref = q.list[q.policy->tail_list].oldest; ref != 0; ref = node_next(&nodes[ref]), place++) {
        wrong += tails_of(&nodes[ref]) != (place < first) + (unsigned)(place < both);
    }
    uint32_t first_want = want < count ? want : count, both_want = 2 * want < count ? 2 * want : count;
    return wrong + (first != first_want) + (both != both_want);
}

static void test_a_tail_is_the_nodes_that_go_next(const struct evict_policy *p, uint64_t x) {
    enum { WANT = 60, LIVE = 500 };
    unsigned live[LIVE], wrong = 0;
    filled(p, LIVE, 1);
    for (unsigned i = 0; i < LIVE; i++) {
        live[i] = i + 1;
    }
    evict_tail_watch(&q, WANT);
    wrong = wrong_tail(WANT);
    unsigned unused = LIVE + 1;
    for (unsigned round = 0; round < 5000; round++) {
        tap_random(&x);
        unsigned i = (unsigned)(x >> 8) % LIVE, old = live[i];
        switch (x % 8) {
        case 0: /* a node is copied elsewhere */
            nodes[unused] = nodes[old];
            evict_list_replace(&q, &nodes[old], &nodes[unused]);
            live[i] = unused;
            unused = old;
            break;
        case 1: /* a node is deleted and another stored */
            evict_remove(&q, &nodes[old]);
            insert(old, round / 10);
            break;
        case 2: renew(old, false, round / 10); break;
        case 3:
        case 4: insert(evict_one(round / 10), round / 10); break;
        default: hit(old, round / 10); break;
        }
        wrong += wrong_tail(WANT);
    }
    is(wrong, 0, "%s: a tail that is watched is marked at once, and stays so, exactly, while nodes come, go and move", p->name);
    evict_switch(&q, evict_policies[0] == p ? evict_policies[1] : evict_policies[0]);
    is(wrong_tail(WANT), 0, "%s: it is marked anew when the policy changes", p->name);
    evict_tail_watch(&q, 0);
    unsigned marked = 0;
    for (unsigned n = 1; n <= NODES; n++) {
        marked += n != unused && tails_of(&nodes[n]) != 0;
    }
    is(marked, 0, "%s: no mark is left when it is not watched any more", p->name);
    end();
}

TEST(test_none_names_no_victim) {
    fresh(&evict_none);
    insert(1, 1);
    ok(evict_victim(&q, 2) == NULL, "none: nothing has to go");
    evict_switch(&q, &evict_slru);
    is(evict_one(2), 1, "none: until another policy comes");
    end();
}

/* Reads keys and inserts the missing ones, as a cache of `room` nodes; returns the hits. Keys are node numbers. */
static unsigned replay(const struct evict_policy *p, const unsigned *keys, unsigned count, unsigned room) {
    static bool there[NODES + 1];
    unsigned hits = 0;
    fresh(p);
    memset(there, 0, sizeof there);
    for (unsigned i = 0; i < count; i++) {
        if (there[keys[i]]) {
            hits++;
            hit(keys[i], i / 100);
            continue;
        }
        if (evict_lists_count(&q) == room) {
            there[evict_one(i / 100)] = false;
        }
        insert(keys[i], i / 100);
        there[keys[i]] = true;
    }
    end();
    return hits;
}

/* A hot set of 20 keys among a stream of others: fifo loses the set again and again, other policies hold it. */
TEST(test_a_scan_does_not_flush_popular_keys) {
    enum { ASKED = 20000, ROOM = 100 };
    static unsigned keys[ASKED];
    for (unsigned i = 0; i < ASKED; i++) {
        keys[i] = i % 3 == 0 ? 1 + i / 3 % 20 : 51 + (i - i / 3) % (NODES - 50);
    }
    unsigned fifo = replay(&evict_fifo, keys, ASKED, ROOM);
    static const struct evict_policy *const guards[] = {&evict_s3fifo, &evict_sieve, &evict_tinylfu, &evict_slru};
    for (unsigned i = 0; i < sizeof guards / sizeof guards[0]; i++) {
        unsigned hits = replay(guards[i], keys, ASKED, ROOM);
        ok(hits > ASKED / 3 * 95 / 100 && fifo < ASKED / 3 * 80 / 100, "%s: a hot set survives a scan (%u hits, fifo %u)", guards[i]->name, hits, fifo);
    }
}

/* Keys that come back soon after an unread eviction: S3-FIFO retains them the second time. */
TEST(test_a_ghost_that_returns_goes_to_the_main_queue) {
    filled(&evict_s3fifo, 100, 1);
    is(evict_list_of(insert(evict_one(2), 3)), EVICT_MAIN, "s3fifo: an item that comes back soon is not new");
    is(evict_list_of(insert(500, 3)), EVICT_NEW, "s3fifo: one never seen is");
    end();
}

/* --- settings of s3fifo --- */

/* Nodes from … to, hit so often that the search for a victim goes past them. */
static void fill_main(unsigned from, unsigned to) {
    for (unsigned n = from; n <= to; n++) {
        insert(n, 1);
        hit(n, 1), hit(n, 1), hit(n, 1);
    }
    evict_victim(&q, 1);
    for (unsigned n = from; n <= to; n++) { /* nodes without room in that queue */
        node_set_mark(&nodes[n], 0);
    }
}

TEST(test_the_small_queue_has_its_share) {
    static const unsigned shares[] = {1, 10, 25, 40};
    for (unsigned i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        unsigned first = NODES / 2 + 1;
        fresh(&evict_s3fifo);
        tuning.small_pct = 1;
        fill_main(1, NODES / 2);
        for (unsigned n = first; n <= NODES; n++) {
            insert(n, 1);
        }
        tuning.small_pct = shares[i];
        uint32_t kept = q.list[EVICT_MAIN].count, want = kept * shares[i] / (100 - shares[i]);
        while (q.list[EVICT_MAIN].count == kept) {
            evict_one(1);
        }
        uint32_t left = q.list[EVICT_NEW].count;
        ok(left + 1 >= want && left <= want + 1, "s3fifo: with %u %% for the small queue it gives until %u are left there of %u", shares[i], left, left + kept);
        end();
    }
}

/* A hundred nodes came at 100 s, some were hit; the two that go first at 200 s. */
TEST(test_which_hits_keep_an_item) {
    static const struct {
        const struct evict_policy *policy;
        unsigned promote_hits;
        struct { unsigned n, at_s; } hits[6];
        unsigned first, second;
        const char *claim;
    } rows[] = {
        {&evict_s3fifo, 1, {{2, 110}}, 1, 3, "s3fifo: where one hit is asked for, one keeps an item"},
        {&evict_s3fifo, 2, {{2, 110}, {2, 110}, {1, 110}}, 1, 3, "s3fifo: where two are, two do, and one does not"},
        {&evict_s3fifo, 3, {{2, 110}, {2, 110}, {2, 110}, {1, 110}, {1, 110}}, 1, 3, "s3fifo: where three are, two do not"},
        {&evict_s3fifo, 2, {{1, 100}, {1, 110}, {2, 100}, {2, 190}}, 3, 4, "s3fifo: hits right after the store keep an item"},
        {&evict_s3wide, 3, {{1, 110}}, 2, 3, "s3wide: one hit keeps an item, though s3fifo is told to want three"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tuning.promote_hits = rows[i].promote_hits;
        filled(rows[i].policy, 100, 100);
        for (unsigned h = 0; rows[i].hits[h].n != 0; h++) {
            hit(rows[i].hits[h].n, rows[i].hits[h].at_s);
        }
        unsigned first = evict_one(200), second = evict_one(200);
        ok(first == rows[i].first && second == rows[i].second, "%s: %u and %u go", rows[i].claim, first, second);
        end();
    }
}

/* Whether a node that is hit once, when so many others came after it, outlives all that were in the small queue with it. */
static bool outlives(unsigned n, unsigned others, unsigned *next) {
    bool stays = true;
    insert(n, 1);
    for (unsigned i = 0; i < 15; i++) {
        if (i == others) {
            hit(n, 1);
        }
        insert((*next)++, 1);
        stays = evict_one(1) != n && stays;
    }
    return stays;
}

TEST(test_hits_in_the_skipped_part_keep_no_item) {
    for (unsigned by_setting = 0; by_setting < 2; by_setting++) {
        const struct evict_policy *p = by_setting ? &evict_s3fifo : &evict_s3skip;
        unsigned next = 101;
        fresh(&evict_s3fifo);
        tuning.promote_hits = 1;
        fill_main(1, 100);
        bool early = outlives(NODES, 0, &next);
        tuning.skip_pct = 50; /* s3skip has the same number, whatever the setting */
        if (!by_setting) {
            evict_switch(&q, p);
        }
        bool before = outlives(NODES - 1, 7, &next), skipped = outlives(NODES - 2, 0, &next), counted = outlives(NODES - 3, 7, &next);
        ok(early && before && !skipped && counted, "%s: a hit in the skipped part of the small queue keeps no item, a later one does", p->name);
        end();
    }
}

/* The number that s3fifo recognises of 300 nodes, of 900, that left unread. */
static unsigned known_again(unsigned ghost_pct) {
    unsigned known = 0;
    tuning.ghost_pct = ghost_pct;
    filled(&evict_s3fifo, 900, 1);
    for (unsigned n = 1; n <= 300; n++) {
        evict_one(1);
    }
    for (unsigned n = 1; n <= 300; n++) {
        known += evict_list_of(insert(n, 1)) == EVICT_MAIN;
        evict_remove(&q, &nodes[n]);
    }
    end();
    return known;
}

TEST(test_ghosts_have_their_share) {
    unsigned few = known_again(10), more = known_again(30), all = known_again(90);
    ok(few >= 40 && few <= 130 && more > few + 80 && all >= 280, "s3fifo: ghosts of 10 %% of 600 to 900 items know %u of 300 again, of 30 %% %u, of 90 %% %u", few, more, all);
}

/* --- a queue that grows, and memory that is out --- */

TEST(test_ghosts_outlive_growth) {
    enum { GONE = 50, FEW = 100, MANY = 900 };
    unsigned known = 0;
    filled(&evict_s3fifo, FEW + GONE, 1);
    for (unsigned n = 1; n <= GONE; n++) {
        evict_one(1);
    }
    for (unsigned n = FEW + GONE + 1; n <= MANY; n++) {
        insert(n, 1);
    }
    evict_one(1), evict_one(1), evict_one(1), evict_one(1); /* each eviction may double the memory */
    for (unsigned n = 1; n <= GONE; n++) {
        known += evict_list_of(insert(n, 2)) == EVICT_MAIN;
    }
    ok(known >= GONE * 9 / 10, "s3fifo: of %d ghosts %u are known after the queue has grown to eight times as many nodes", GONE, known);
    end();
}

TEST(test_ghosts_take_few_bytes_a_node) {
    size_t most_bytes = 0;
    fresh(&evict_s3fifo);
    for (unsigned n = 1; n <= 900; n++) {
        insert(n, 1);
        evict_note_evicted(&q, &nodes[n]);
        size_t bytes = malloc_usable_size(q.memory) * 100 / evict_lists_count(&q);
        most_bytes = n >= 200 && bytes > most_bytes ? bytes : most_bytes;
    }
    ok(most_bytes <= EVICT_GHOST_BYTES_PER_NODE * 100, "s3fifo: while a queue grows its ghosts take at most %zu hundredths of a byte a node", most_bytes);
    end();
}

/* --- records of one structure --- */

static void test_other_knobs_lose_no_node(uint64_t x) {
    bool held[NODES + 1] = {false};
    unsigned count = 0, wrong = 0;
    fresh(&evict_s3fifo);
    for (unsigned step = 0; step < 50000; step++) {
        tap_random(&x);
        unsigned n = 1 + (unsigned)(x >> 20) % NODES;
        if (step % 50 == 0) {
            tuning.small_pct = 1 + x % 90;
            tuning.ghost_pct = 10 + (x >> 8) % 91;
            tuning.promote_hits = 1 + (x >> 16) % 3;
            tuning.skip_pct = (x >> 24) % 96;
        }
        if (held[n]) {
            hit(n, step / 100);
        } else {
            insert(n, step / 100);
            held[n] = true;
            count++;
        }
        while (count > (step < 49999 ? NODES / 2 : 0)) {
            unsigned gone = evict_one(step / 100);
            wrong += !held[gone];
            held[gone] = false;
            count--;
        }
    }
    ok(wrong == 0 && evict_lists_count(&q) == 0, "s3fifo: a thousand changes of its knobs later every node goes once");
    end();
}

int main(void) {
    uint64_t seed = tap_seed() | 1;
    tap_run_tests();
    test_other_knobs_lose_no_node(seed);
    for (unsigned i = 0; evict_policies[i] != NULL; i++) {
        if (evict_policies[i]->victim == NULL) {
            continue;
        }
        test_every_node_goes_once(evict_policies[i], seed);
        test_a_moved_node_keeps_its_place(evict_policies[i]);
        test_a_renewed_node_counts_as_new(evict_policies[i]);
        test_a_wrong_mark_makes_no_node_newer_than_it_may_be(evict_policies[i]);
        test_a_tail_is_the_nodes_that_go_next(evict_policies[i], seed);
        for (unsigned j = 0; evict_policies[j] != NULL; j++) {
            /* tinylfu evicts new nodes first, whatever their number */
            if (i != j && evict_policies[j]->victim != NULL && evict_policies[j] != &evict_tinylfu) {
                test_a_switch_keeps_nodes_and_order(evict_policies[i], evict_policies[j]);
            }
        }
    }
    test_nodes_that_a_hand_spared_go_last(&evict_lru);
    test_nodes_that_a_hand_spared_go_last(&evict_clock);
    test_nodes_that_a_hand_spared_go_last(&evict_s3fifo);
    return tap_done();
}
