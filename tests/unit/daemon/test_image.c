/* A cache on its way to another process: the next one goes on with all of it, whatever the index and the policy; an image that
 * is not whole, or of another build, is refused; and until it is taken, the first goes on. Both live in this process here:
 * each has a mapping of its own of the memory file. */
#include "tap.h"

#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

#include "base/image.h"
#include "cache/handover.h"
#include "cache/keep.h"
#include "cache/partition.h"
#include "cache_fixture.h"

enum { LIMIT_MB = 16, ITEMS = 4000, STRANGERS = 1000, VALUE_MOST = 200 * 1000 };

static char why[CACHE_WHY_BYTES];
static char value[VALUE_MOST + 8], got[VALUE_MOST + 8];
static const struct evict_policy *policy = &evict_slru;

static size_t bytes_of(uint64_t n) { return n % 400 == 11 ? VALUE_MOST : n % 90 == 7 ? 3000 : 10 + n % 700; }

static struct cache_config config_now(void) {
    struct cache_config config = fixture_config((size_t)LIMIT_MB << 20);
    config.why = why;
    config.policy = policy;
    return config;
}

struct life {
    struct cache        *c;
    struct cache_thread *ct;
};

static struct life begin_with(const struct cache_config *config) {
    struct life l = {.c = cache_create(config)};
    l.ct = l.c != NULL ? cache_thread_create(l.c) : NULL;
    if (l.ct == NULL) {
        ok(false, "a cache: %s", why);
        exit(1);
    }
    return l;
}
static struct life begin(const struct cache_config *config) {
    struct cache_config with = *config;
    with.memory_file = memory_file_nameless(why);
    return begin_with(&with);
}
static void end(struct life *l) {
    cache_thread_destroy(&l->ct);
    cache_destroy(&l->c);
}

static void fill(struct cache_thread *ct, uint64_t from, uint64_t count, uint64_t version) {
    cache_turn_begin(ct);
    for (uint64_t n = from; n < from + count; n++) {
        fixture_value(value, bytes_of(n), n, version);
        fixture_set(ct, n, value, bytes_of(n));
    }
    cache_turn_end(ct);
}

/* One bit a key: whether it is there. *wrong counts those with another value. */
static unsigned look(struct cache_thread *ct, uint64_t count, bool *there, unsigned *wrong) {
    unsigned found = 0;
    cache_turn_begin(ct);
    for (uint64_t n = 0; n < count; n++) {
        long bytes = fixture_get(ct, n, got);
        fixture_value(value, bytes_of(n), n, 1);
        there[n] = bytes >= 0;
        found += bytes >= 0;
        *wrong += bytes >= 0 && (bytes != (long)bytes_of(n) || memcmp(got, value, (size_t)bytes) != 0);
    }
    cache_turn_end(ct);
    return found;
}

static struct life next_of(struct life *l, struct cache_config config) {
    size_t index_bytes;
    cache_image_bytes(l->c, &index_bytes);
    struct cache_taken taken = {.partitions = cache_partitions(l->c), .index_bytes = index_bytes};
    config.taken = &taken;
    config.memory_file = memory_file_borrow(fcntl(cache_file(l->c), F_DUPFD_CLOEXEC, 0), "memory", why);
    return begin_with(&config);
}

static struct image image_of(struct cache *c) {
    struct image i;
    size_t index_bytes;
    if (!image_make(&i, cache_image_bytes(c, &index_bytes))) {
        ok(false, "an image");
        exit(1);
    }
    ok(cache_image_put(&i, c) && image_finish(&i), "an image is made");
    return i;
}

/* As the next process finds it. */
static struct image opened(const struct image *i) {
    struct image o;
    if (!image_open(&o, fcntl(i->fd, F_DUPFD_CLOEXEC, 0))) {
        ok(false, "an image is opened");
        exit(1);
    }
    return o;
}

static uint64_t cas_most(const struct cache *c) {
    uint64_t most = 0;
    for (unsigned i = 0; i < c->partition_count; i++) {
        most = c->partitions[i].cas > most ? c->partitions[i].cas : most;
    }
    return most;
}

static void same_facts(struct cache *a, struct cache *b, const char *what) {
    struct cache_facts f, g;
    cache_facts(a, &f);
    cache_facts(b, &g);
    is(g.items, f.items, "%s: as many items", what);
    is(g.bytes, f.bytes, "%s: as many bytes", what);
    is(g.pages_out, f.pages_out, "%s: as many pages", what);
    is(g.index_bytes, f.index_bytes, "%s: an index as large", what);
}

static void goes_over(const char *what) {
    static bool before[ITEMS], after[ITEMS];
    unsigned wrong = 0;
    struct cache_config config = config_now();
    struct life old = begin(&config);
    fill(old.ct, 0, ITEMS, 1);
    unsigned found = look(old.ct, ITEMS, before, &wrong);
    uint64_t cas = cas_most(old.c);
    struct life next = next_of(&old, config);
    struct image put = image_of(old.c), get = opened(&put);
    ok(cache_image_get(&get, next.c) == NULL, "%s: the next takes the image", what);
    image_close(&get);
    image_close(&put);
    same_facts(old.c, next.c, what);
    ok(cache_leave(old.c), "%s: the first leaves", what);
    ok(cache_may_own(next.c), "the next may write");
    cache_own(next.c);
    cache_settle_in(next.c);
    end(&old);
    is(look(next.ct, ITEMS, after, &wrong), found, "%s: the next finds as many", what);
    is(memcmp(before, after, sizeof before), 0, "%s: … and the same", what);
    is(wrong, 0, "%s: … with their values", what);
    is(cas_most(next.c), cas, "%s: CAS values go on from where they were", what);
    fill(next.ct, ITEMS, STRANGERS, 1);
    fill(next.ct, 0, ITEMS, 1);
    look(next.ct, ITEMS, after, &wrong);
    is(wrong, 0, "%s: it stores, evicts and reads on", what);
    /* and over once more, from the front of the file to itself */
    struct life third = next_of(&next, config);
    put = image_of(next.c);
    get = opened(&put);
    ok(cache_image_get(&get, third.c) == NULL, "%s: a third takes it from the second", what);
    same_facts(next.c, third.c, what);
    cache_leave(next.c);
    ok(cache_may_own(third.c), "the third may write");
    cache_own(third.c);
    cache_settle_in(third.c);
    end(&next);
    look(third.ct, ITEMS, after, &wrong);
    is(wrong, 0, "%s: … with all values", what);
    image_close(&get);
    image_close(&put);
    end(&third);
}

static void test_whole_caches_go_over(void) {
    for (const struct index_kind *const *kind = index_kinds; *kind != NULL; kind++) {
        fixture_index = *kind;
        goes_over((*kind)->name);
    }
    fixture_index = NULL;
    for (unsigned i = 0; evict_policies[i] != NULL; i++) {
        policy = evict_policies[i];
        goes_over(policy->name);
    }
    policy = &evict_slru;
}

static void the_first_goes_on(struct life *old, const char *when) {
    static bool there[ITEMS];
    unsigned wrong = 0;
    fill(old->ct, 0, ITEMS, 1);
    look(old->ct, ITEMS, there, &wrong);
    is(wrong, 0, "the first goes on %s", when);
}

static void test_what_is_not_whole_is_refused(void) {
    struct cache_config config = config_now();
    struct life old = begin(&config);
    fill(old.ct, 0, ITEMS, 1);
    struct image put = image_of(old.c);
    size_t whole = put.at;
    unsigned taken = 0;
    for (size_t at = 0; at < whole; at += at < 4096 ? 8 : at < 65536 ? 4096 : whole / 64 / 8 * 8 + 8) {
        struct life next = next_of(&old, config);
        struct image get = opened(&put);
        get.size = at; /* unmapped whole below */
        taken += cache_image_get(&get, next.c) == NULL;
        get.size = whole;
        image_close(&get);
        end(&next);
    }
    is(taken, 0, "an image that ends early is refused, wherever it ends");
    the_first_goes_on(&old, "after that");
    image_close(&put);
    end(&old);
}

static void refused_for(struct life *old, struct cache_config config, const char *word) {
    struct life next = next_of(old, config);
    struct image put = image_of(old->c), get = opened(&put);
    const char *refused = cache_image_get(&get, next.c);
    ok(refused != NULL && strstr(refused, word) != NULL, "refused: %s", refused);
    image_close(&get);
    image_close(&put);
    end(&next);
}

static void test_other_options_are_refused(void) {
    struct cache_config config = config_now(), other = config;
    struct life old = begin(&config);
    fill(old.ct, 0, ITEMS, 1);
    other.index = &index_chained;
    refused_for(&old, other, "--index");
    other = config;
    other.partitions = 64;
    refused_for(&old, other, "--partitions");
    other = config;
    other.cas = false;
    refused_for(&old, other, "-C");
    struct life next = next_of(&old, config);
    struct image put = image_of(old.c);
    put.bytes[0] ^= 1;
    struct image get = opened(&put);
    const char *refused = cache_image_get(&get, next.c);
    ok(refused != NULL && strstr(refused, "this build") != NULL, "refused: %s", refused);
    image_close(&get);
    image_close(&put);
    end(&next);
    the_first_goes_on(&old, "after all of that");
    end(&old);
}

static void test_another_policy_of_the_options_is_taken(void) {
    struct cache_config config = config_now();
    struct life old = begin(&config);
    fill(old.ct, 0, ITEMS, 1);
    cache_set_policy(old.c, &evict_fifo, SLAB_CLASS_NONE);
    struct life next = next_of(&old, config);
    struct image put = image_of(old.c), get = opened(&put);
    ok(cache_image_get(&get, next.c) == NULL, "the same options");
    ok(cache_policy(next.c) == &evict_fifo, "… go on with the policy that was set meanwhile");
    image_close(&get);
    end(&next);
    config.policy = &evict_s3fifo;
    next = next_of(&old, config);
    get = opened(&put);
    ok(cache_image_get(&get, next.c) == NULL, "options with another policy");
    cache_leave(old.c);
    ok(cache_may_own(next.c), "the next may write");
    cache_own(next.c);
    cache_settle_in(next.c);
    end(&old);
    ok(cache_policy(next.c) == &evict_s3fifo, "… have theirs");
    the_first_goes_on(&next, "with it");
    image_close(&get);
    image_close(&put);
    end(&next);
}

/* The file's head but for the clock's words, which may move on by a second. */
static void copy_head(const struct cache *c, char to[sizeof(struct memory_head)]) {
    memcpy(to, c->arena->file->head, sizeof(struct memory_head));
    memset(to + offsetof(struct memory_head, unix_at_0), 0, sizeof(kept_word));
    memset(to + offsetof(struct memory_head, last_s), 0, sizeof(kept_word));
}

/* The next one had it, and ended before it changed an item. */
static void test_what_the_next_one_had_is_taken_up_again(void) {
    static char head[sizeof(struct memory_head)], now[sizeof head];
    struct cache_config config = config_now(), other = config;
    struct life old = begin(&config);
    fill(old.ct, 0, ITEMS, 1);
    other.policy = &evict_s3fifo;
    struct life next = next_of(&old, other);
    struct image put = image_of(old.c), get = opened(&put);
    uint64_t cas = cas_most(old.c);
    copy_head(old.c, head);
    ok(cache_image_get(&get, next.c) == NULL && cache_may_own(next.c), "the next has all");
    cache_own(next.c);
    ok(keep_set_apart(next.c), "… and looks at the file as another process would");
    cache_take_up_again(old.c);
    ok(cache_leave(next.c), "… which has ended");
    is(cas_most(old.c), cas, "CAS values are the first one's again");
    copy_head(old.c, now);
    ok(memcmp(head, now, sizeof head) == 0, "and the file's head");
    the_first_goes_on(&old, "with what the next one had");
    end(&next);
    image_close(&get);
    image_close(&put);
    end(&old);
}

/* The first one is killed before it has told how its cache is: the next one finds what a start would, whatever was there
 * when it began. */
static void test_the_next_one_inherits(void) {
    static bool before[ITEMS], after[ITEMS];
    static const uint32_t bytes[] = {160, 512, 2048, 65536};
    struct size_list sizes;
    struct size_rules rules;
    unsigned wrong = 0;
    struct cache_config config = config_now();
    struct life old = begin(&config);
    fill(old.ct, 0, ITEMS / 2, 2);
    struct life next = next_of(&old, config);
    slab_rules(cache_slab(old.c), &rules);
    ok(size_list_of(&sizes, bytes, 4, &rules) && cache_set_sizes(old.c, &sizes), "the first has other classes meanwhile");
    cache_flush_now(old.c);
    fill(old.ct, ITEMS / 4, ITEMS / 2, 1);
    unsigned found = look(old.ct, ITEMS, before, &wrong);
    uint64_t cas = cas_most(old.c);
    ok(keep_set_apart(old.c) && cache_leave(old.c), "… and is gone");
    ok(cache_inherit(next.c, why), "the next one inherits");
    is(look(next.ct, ITEMS, after, &wrong), found, "it finds as many items");
    is(memcmp(before, after, sizeof before), 0, "… and the same");
    is(wrong, 0, "… with their values");
    ok(cas_most(next.c) >= cas, "no CAS is given again");
    is(slab_geometry(cache_slab(next.c))->sizes.count, slab_geometry(cache_slab(old.c))->sizes.count,
       "it has the classes that the first had in the end");
    end(&old);
    the_first_goes_on(&next, "as the next one");
    struct life third = next_of(&next, config);
    struct image put = image_of(next.c), get = opened(&put);
    ok(cache_image_get(&get, third.c) == NULL, "and hands them over itself");
    same_facts(next.c, third.c, "of what was inherited");
    image_close(&get);
    image_close(&put);
    end(&third);
    end(&next);
}

static unsigned used_chunks(struct cache *c) {
    unsigned used = 0;
    for (unsigned id = 1; id <= cache_slab(c)->class_count; id++) {
        struct cache_class_facts f;
        cache_class_facts(c, id, &f);
        used += f.slab.pages * f.slab.chunks_per_page - f.slab.free_chunks - f.stock_chunks;
    }
    return used;
}

static void test_what_clients_hold_is_given_back(void) {
    enum { LARGE = 11, COMING = 411 }; /* numbers of items with VALUE_MOST bytes */
    struct cache_config config = config_now();
    struct life old = begin(&config);
    fill(old.ct, 0, LARGE + 1, 1);
    unsigned before = used_chunks(old.c);
    char text[64];
    struct key key = fixture_key(text, COMING), large;
    struct cache_store store = {.value_bytes = VALUE_MOST};
    struct cache_draft draft;
    struct cache_view view;
    char text_of_large[64];
    large = fixture_key(text_of_large, LARGE);
    cache_turn_begin(old.ct);
    ok(cache_draft_begin(old.ct, &key, &store, &draft) == CACHE_OK &&
           cache_draft_extend(old.ct, &key, &store, &draft, VALUE_MOST) == CACHE_DRAFT_READY,
       "a value is coming");
    ok(cache_fetch(old.ct, &large, &(struct cache_fetch){.want_value = true}, got, &view) == CACHE_OK &&
           view.borrowed != NULL,
       "another is borrowed");
    cache_turn_end(old.ct);
    fill(old.ct, LARGE, 1, 1);
    ok(used_chunks(old.c) > before, "… and replaced, so that there are two of it");
    struct life next = next_of(&old, config);
    struct image put = image_of(old.c), get = opened(&put);
    const struct cache_held held[] = {cache_held(old.c, CACHE_HELD_DRAFT, draft.item),
                                      cache_held(old.c, CACHE_HELD_BORROWED, view.borrowed),
                                      {.ref = UINT32_MAX, .kind = CACHE_HELD_DRAFT}};
    ok(cache_image_get(&get, next.c) == NULL && cache_leave(old.c) && cache_may_own(next.c),
       "the next has all");
    cache_own(next.c);
    cache_settle_in(next.c);
    cache_turn_begin(next.ct);
    cache_held_give_back(next.ct, held, sizeof held / sizeof *held);
    cache_turn_end(next.ct);
    struct cache_facts f;
    cache_facts(next.c, &f);
    is(used_chunks(next.c), before, "what clients held is free");
    is(f.pinned_bytes, 0, "and nothing counts as held by readers");
    the_first_goes_on(&next, "as the next one");
    image_close(&get);
    image_close(&put);
    end(&next);
    cache_turn_begin(old.ct);
    cache_abandon(old.ct, &draft);
    cache_return(old.ct, view.borrowed);
    cache_turn_end(old.ct);
    end(&old);
}

static void test_a_page_that_moves_is_waited_for(void) {
    struct cache_config config = config_now();
    struct life old = begin(&config);
    struct image i;
    fill(old.ct, 0, ITEMS, 1);
    unsigned class_id = slab_class_of(cache_slab(old.c), 400);
    uint32_t page;
    slab_next_pages(cache_slab(old.c), class_id, &page, 1);
    ok(slab_drain_begin(cache_slab(old.c), page, class_id, 0), "a page is being emptied");
    ok(image_make(&i, 1) && !cache_image_put(&i, old.c), "… so there is no image now");
    slab_drain_cancel(cache_slab(old.c), page);
    ok(cache_image_put(&i, old.c), "… but then there is");
    image_close(&i);
    end(&old);
}

static void test_images_are_bounded(void) {
    struct image i, o;
    uint64_t v = 1;
    char long_one[5000];
    memset(long_one, 7, sizeof long_one);
    ok(image_make(&i, 1), "an image with little room");
    for (unsigned n = 0; n < 100; n++) {
        image_put_u64(&i, n);
        image_put(&i, long_one, sizeof long_one);
    }
    ok(image_finish(&i), "… grows");
    o = opened(&i);
    unsigned wrong = 0;
    for (unsigned n = 0; n < 100; n++) {
        char part[sizeof long_one];
        wrong += image_take_u64(&o) != n;
        wrong += !image_take(&o, part, sizeof part) || memcmp(part, long_one, sizeof part) != 0;
    }
    is(wrong, 0, "what was put is taken, in its order");
    ok(!image_take(&o, &v, sizeof v) && v == 0 && o.failed, "behind the end there are zeroes, and it has failed");
    image_close(&o);
    o = opened(&i);
    ok(image_part(&o, SIZE_MAX) == NULL && image_part(&o, 8) == NULL, "no part is longer than what is left");
    image_close(&o);
    image_close(&i);
    ok(!image_open(&o, open("/dev/null", O_RDONLY)), "what is no file is no image");
}

int main(void) {
    clock_start();
    test_images_are_bounded();
    test_whole_caches_go_over();
    test_what_is_not_whole_is_refused();
    test_other_options_are_refused();
    test_another_policy_of_the_options_is_taken();
    test_what_the_next_one_had_is_taken_up_again();
    test_the_next_one_inherits();
    test_what_clients_hold_is_given_back();
    test_a_page_that_moves_is_waited_for();
    return tap_done();
}
