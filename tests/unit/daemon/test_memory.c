/* One limit for the memory of a process: its arithmetic, and the system's figures. */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/rss.h"
#include "server/memory_limit.h"
#include "tap.h"

#define MIB ((uint64_t)1 << 20)

TEST(test_arithmetic) {
    static const struct {
        uint64_t    limit, requested, resident, items, known, want; /* MiB */
        const char *claim;
    } rows[] = {
        {0, 64, 500, 64, 110, 64, "without a limit items may take what was asked for"},
        {1024, 1024, 10, 0, 138, 1024 - 10 - 128 - 32, "items get what others have not, will not take, and a thirty-second"},
        {64, 64, 10, 0, 18, 64 - 10 - 8 - 4, "of a small limit the slack is 4 MiB"},
        {1024, 512, 10, 0, 138, 512, "items get no more than was asked for"},
        {1024, 1024, 600, 500, 60, 1024 - 100 - 32, "what is resident beyond the items' pages counts, if it is more than others have and may take"},
        {1024, 1024, 600, 500, 110, 1024 - 110 - 32, "… and what they have and may take counts otherwise: never both"},
        {1024, 1024, 900, 800, 410, 800, "a reserve that grows takes no page from items"},
        {1024, 1024, 1004, 800, 410, 1024 - 204 - 32, "the lack of room does"},
        {1024, 1024, 520, 500, 160, 1024 - 60 - 100 - 32, "what others say counts, if that is more: items' pages may not all be touched yet"},
        {1024, 1024, 200, 500, 160, 1024 - 60 - 100 - 32, "pages that nobody touched yet make no others' memory negative"},
        {100, 100, 300, 10, 160, 0, "where others have it all, nothing is left"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct memory_parts p = {.limit = rows[i].limit * MIB, .requested = rows[i].requested * MIB, .resident = rows[i].resident * MIB,
                                 .items = rows[i].items * MIB, .known = rows[i].known * MIB};
        is(memory_items_limit(&p) / MIB, rows[i].want, "%s", rows[i].claim);
    }
}

static uint64_t random_state;

static uint64_t below(uint64_t n) { /* one of n + 1 numbers */
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (random_state >> 24) % (n + 1);
}

/* A process whose allocator retains freed memory until it is trimmed. `uncounted` is memory that no part counts. */
struct process {
    struct memory_parts p;
    uint64_t counted, kept, uncounted;
};

static void settle(struct process *at, uint64_t counted, uint64_t reserve) {
    uint64_t before = at->counted;
    at->kept = counted < before ? at->kept + before - counted : at->kept - (at->kept < counted - before ? at->kept : counted - before);
    at->counted = counted;
    at->p.known = counted + reserve;
    at->p.resident = at->p.items + counted + at->kept + at->uncounted;
}

static uint64_t slack(const struct memory_parts *p) {
    uint64_t share = p->limit / SETTINGS_SLACK_SHARE;
    return share > SETTINGS_SLACK_LEAST ? share : SETTINGS_SLACK_LEAST;
}

/* Waves of clients that take `each_bytes`, and hang up. Items have all their pages. */
static bool waves_keep_items(uint64_t limit, uint64_t start, uint64_t clients, uint64_t each_bytes) {
    struct process at = {.p = {.limit = limit, .requested = limit, .known = start + clients * each_bytes}, .counted = start};
    uint64_t limit_at_first = at.p.items = memory_items_limit(&at.p);
    for (unsigned wave = 0; wave < 3; wave++) {
        for (unsigned half = 1; half <= 4; half++) {
            uint64_t open = clients * (half < 3 ? half : 4 - half) / 2;
            settle(&at, start + open * each_bytes, (clients - open) * each_bytes);
            if (memory_items_limit(&at.p) != limit_at_first) {
                return false;
            }
        }
    }
    return true;
}

TEST(test_waves) {
    ok(waves_keep_items(600 * MIB, 13 * MIB, 4000, SETTINGS_CONN_TLS_BYTES),
       "clients of TLS who hang up take nothing from items, although the allocator keeps their memory");
    ok(waves_keep_items(96 * MIB, 9 * MIB, 1500, 8 << 10), "… nor do clients that left replies unread");
    struct process at = {.p = {.limit = 64 * MIB, .requested = 64 * MIB, .known = 12 * MIB}, .counted = 12 * MIB};
    uint64_t before = at.p.items = memory_items_limit(&at.p);
    settle(&at, 9 * MIB, 0);
    ok(memory_items_limit(&at.p) == before, "samples that end take nothing from items while the allocator keeps theirs");
    settle(&at, 13 * MIB, 0);
    ok(memory_items_limit(&at.p) == before - MIB, "an index that grows into the slack takes a page from items");
}

/* Random facts, in any order. `held` is the items' memory: their limit, or less. */
static void test_below_the_limit(uint64_t seed) {
    enum { PROCESSES = 200, LOOKS = 500 };
    uint64_t evicted = 0, beyond = 0, looks_below = 0;
    random_state = seed;
    for (unsigned i = 0; i < PROCESSES; i++) {
        struct process at = {.p.limit = (24 + below(2000)) * MIB};
        at.p.requested = below(2) == 0 ? at.p.limit : below(at.p.limit / MIB) * MIB;
        for (unsigned n = 0; n < LOOKS; n++) {
            at.uncounted = below(3) == 0 ? below(at.p.limit / 4) : at.uncounted;
            at.kept = below(7) == 0 ? 0 : at.kept; /* trimmed */
            settle(&at, below(at.p.limit / 2), below(2) == 0 ? at.p.known - at.counted : below(at.p.limit / 2));
            uint64_t limit = memory_items_limit(&at.p), held = at.p.items;
            bool is_below = at.p.resident + slack(&at.p) <= at.p.limit;
            looks_below += is_below;
            evicted += is_below && limit < held;
            beyond += limit > held && at.p.resident - held + limit + slack(&at.p) > at.p.limit;
            at.p.items = limit < held || below(1) ? limit : held + below((limit - held) / MIB) * MIB;
        }
    }
    ok(looks_below > LOOKS, "random facts reach states below the limit (%" PRIu64 ")", looks_below);
    is(evicted, 0, "below the limit of the process, the limit of items never falls below their present size");
    is(beyond, 0, "… and items never get room that others have");
}

static char folder[] = "/tmp/slate-memory-XXXXXX";

/* A file with this text; NULL: a folder. */
static void put(const char *name, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = text != NULL ? fopen(path, "w") : NULL;
    if (text == NULL ? mkdir(path, 0700) != 0 : file == NULL || fputs(text, file) == EOF || fclose(file) != 0) {
        printf("Bail out! cannot write %s\n", path);
        exit(1);
    }
}
static void make(const char *name) { put(name, NULL); }

TEST(test_group) {
    struct rss r;
    struct rss_reading now;
    char groups[256];
    snprintf(groups, sizeof groups, "%s/groups", folder);
    make("groups");
    make("groups/a");
    make("groups/a/b");
    put("statm", "1000 300 100 5 0 50 0\n");
    put("cgroup", "1:name=x:/elsewhere\n0::/a/b\n");
    put("groups/memory.max", "9000000\n");
    put("groups/a/memory.max", "5000000\n");
    put("groups/a/b/memory.max", "max\n");
    put("groups/a/b/memory.current", "4000000\n");
    put("groups/a/b/memory.stat", "anon 1\nfile 9\ninactive_file 500000\nactive_file 7\n");
    put("groups/a/b/memory.pressure",
        "some avg10=1.50 avg60=0.00 avg300=0.00 total=5\nfull avg10=0.25 avg60=0 avg300=0 total=1\n");
    rss_open(&r, folder, groups);
    is(r.group_limit_bytes, 5000000, "the least limit of all groups above counts");
    rss_read(&r, &now);
    is(now.bytes, 300 * (uint64_t)sysconf(_SC_PAGESIZE), "the process's resident pages are read");
    is(now.group_bytes, 3500000, "files that can be dropped are not the group's memory");
    ok(now.pressure_pct == 1.5, "the pressure is that of somebody, of ten seconds");
    rss_close(&r);

    put("groups/a/memory.high", "4500000\n");
    put("groups/a/b/memory.high", "max\n");
    rss_open(&r, folder, groups);
    ok(r.group_limit_bytes == 4500000, "… and where a group would be slowed down before");
    rss_close(&r);

    make("groups/memory");
    make("groups/memory/old");
    put("groups/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put("groups/memory/old/memory.limit_in_bytes", "7000000\n");
    put("groups/memory/old/memory.usage_in_bytes", "3000000\n");
    put("groups/memory/old/memory.stat", "inactive_file 1\ntotal_inactive_file 600000\n");
    put("cgroup", "4:cpu:/cpu\n3:hugetlb,memory:/old\n2:memory2:/no\n0::/a/b\n");
    rss_open(&r, folder, groups);
    rss_read(&r, &now);
    ok(r.group_limit_bytes == 7000000, "the limit of a group of version 1 counts, and before one of version 2");
    ok(now.group_bytes == 2400000 && now.pressure_pct == 0, "… and its usage");
    rss_close(&r);

    put("cgroup", "3:memory:/elsewhere/in/the/machine\n");
    put("groups/memory/memory.limit_in_bytes", "6000000\n");
    rss_open(&r, folder, groups);
    ok(r.group_limit_bytes == 6000000, "a container sees its group as the root");
    rss_close(&r);

    put("groups/memory/memory.limit_in_bytes", "9223372036854771712\n");
    rss_open(&r, folder, groups);
    ok(r.group_limit_bytes == 0, "version 1's word for no limit is none");
    rss_close(&r);

    put("cgroup", "0::/gone\n");
    put("statm", "");
    rss_open(&r, folder, groups);
    rss_read(&r, &now);
    ok(r.group_limit_bytes == 9000000 && now.group_bytes == 0 && now.bytes == 0,
       "what is not there reads as zero");
    rss_close(&r);

    rss_open(&r, NULL, NULL);
    rss_read(&r, &now);
    ok(now.bytes > 0 && now.bytes < (uint64_t)1 << 40, "this process has memory");
    rss_close(&r);
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *at) {
    (void)st, (void)flag, (void)at;
    return remove(path);
}

int main(void) {
    if (mkdtemp(folder) == NULL) {
        printf("Bail out! no temporary folder\n");
        return 1;
    }
    tap_run_tests();
    test_below_the_limit(tap_seed());
    nftw(folder, remove_one, 4, FTW_DEPTH | FTW_PHYS);
    return tap_done();
}
