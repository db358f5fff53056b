/* One limit for the memory of a process: its arithmetic, and what the system says. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/resident.h"
#include "serve/memory.h"
#include "tap.h"

#define MIB ((uint64_t)1 << 20)

static uint64_t items(uint64_t limit, uint64_t asked, uint64_t resident, uint64_t held,
                      uint64_t counted, uint64_t reserved) {
    return memory_items_limit(&(struct memory_parts){.limit = limit * MIB,
                                                     .asked = asked * MIB,
                                                     .resident = resident * MIB,
                                                     .items = held * MIB,
                                                     .counted = counted * MIB,
                                                     .reserved = reserved * MIB}) /
           MIB;
}

static void test_arithmetic(void) {
    ok(items(0, 64, 500, 64, 10, 100) == 64, "without a limit items may take what was asked for");
    ok(items(1024, 1024, 10, 0, 10, 128) == 1024 - 10 - 128 - 32,
       "items get what others have not, will not take, and a thirty-second");
    ok(items(64, 64, 10, 0, 10, 8) == 64 - 10 - 8 - 4, "of a small limit the slack is 4 MiB");
    ok(items(1024, 512, 10, 0, 10, 128) == 512, "items get no more than was asked for");
    ok(items(1024, 1024, 600, 500, 10, 100) == 1024 - 100 - 100 - 32,
       "what is resident beyond the items' pages counts, if it is more than others say");
    ok(items(1024, 1024, 520, 500, 60, 100) == 1024 - 60 - 100 - 32,
       "what others say counts, if that is more: items' pages may not all be touched yet");
    ok(items(1024, 1024, 200, 500, 60, 100) == 1024 - 60 - 100 - 32,
       "pages that nobody touched yet make no others' memory negative");
    ok(items(100, 100, 300, 10, 60, 100) == 0, "where others have it all, nothing is left");
    uint64_t before = items(1024, 1024, 110, 100, 10, 100), after = items(1024, 1024, 160, 100, 60, 50);
    ok(before == after, "what others take of their reserve costs items nothing");
}

static bool presses(uint64_t resident, uint64_t held, uint64_t index, uint64_t calm, bool still) {
    return memory_presses(&(struct memory_parts){.limit = 1024 * MIB, .asked = 1024 * MIB, .resident = resident * MIB,
                                                 .items = held * MIB, .counted = 10 * MIB + index * MIB,
                                                 .index = index * MIB, .calm = calm * MIB},
                          still);
}

/* 1024 less 32 of slack and 10 at the start: 982 for items, and 61 of them a sixteenth. */
static void test_pressure(void) {
    ok(!presses(510, 500, 0, 10, false), "nothing presses where others have what they had at the start");
    ok(!presses(610, 500, 100, 10, false), "the index of the items presses nobody");
    ok(!presses(570, 500, 0, 10, false), "somewhat less for items is no pressure");
    ok(presses(572, 500, 0, 10, false), "a sixteenth less is");
    ok(presses(542, 500, 0, 10, true) && !presses(540, 500, 0, 10, true), "… and is over with half of that");
    ok(!presses(610, 500, 0, 110, false), "what was reserved for others presses nobody when they take it");
}

static char folder[] = "/tmp/slate-memory-XXXXXX";

static void put(const char *name, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    if (file == NULL || fputs(text, file) == EOF || fclose(file) != 0) {
        printf("Bail out! cannot write %s\n", path);
        exit(1);
    }
}

static void make(const char *name) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (mkdir(path, 0700) != 0) {
        printf("Bail out! cannot make %s\n", path);
        exit(1);
    }
}

static void test_group(void) {
    struct resident r;
    struct resident_now now;
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
    resident_open(&r, folder, groups);
    ok(r.group_limit_bytes == 5000000, "the least limit of all groups above counts");
    resident_look(&r, &now);
    ok(now.bytes == 300 * (uint64_t)sysconf(_SC_PAGESIZE), "the process's resident pages are read");
    ok(now.group_bytes == 3500000, "files that can be dropped are not the group's memory");
    ok(now.pressure_pct == 1.5, "the pressure is that of somebody, of ten seconds");
    resident_close(&r);

    put("groups/a/memory.high", "4500000\n");
    put("groups/a/b/memory.high", "max\n");
    resident_open(&r, folder, groups);
    ok(r.group_limit_bytes == 4500000, "… and where a group would be slowed down before");
    resident_close(&r);

    make("groups/memory");
    make("groups/memory/old");
    put("groups/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put("groups/memory/old/memory.limit_in_bytes", "7000000\n");
    put("groups/memory/old/memory.usage_in_bytes", "3000000\n");
    put("groups/memory/old/memory.stat", "inactive_file 1\ntotal_inactive_file 600000\n");
    put("cgroup", "4:cpu:/cpu\n3:hugetlb,memory:/old\n2:memory2:/no\n0::/a/b\n");
    resident_open(&r, folder, groups);
    resident_look(&r, &now);
    ok(r.group_limit_bytes == 7000000, "the limit of a group of version 1 counts, and before one of version 2");
    ok(now.group_bytes == 2400000 && now.pressure_pct == 0, "… and what it takes");
    resident_close(&r);

    put("cgroup", "3:memory:/elsewhere/in/the/machine\n");
    put("groups/memory/memory.limit_in_bytes", "6000000\n");
    resident_open(&r, folder, groups);
    ok(r.group_limit_bytes == 6000000, "a container's group is the root of what it sees");
    resident_close(&r);

    put("groups/memory/memory.limit_in_bytes", "9223372036854771712\n");
    resident_open(&r, folder, groups);
    ok(r.group_limit_bytes == 0, "version 1's word for no limit is none");
    resident_close(&r);

    put("cgroup", "0::/gone\n");
    put("statm", "");
    resident_open(&r, folder, groups);
    resident_look(&r, &now);
    ok(r.group_limit_bytes == 9000000 && now.group_bytes == 0 && now.bytes == 0,
       "what is not there reads as zero");
    resident_close(&r);

    resident_open(&r, NULL, NULL);
    resident_look(&r, &now);
    ok(now.bytes > 0 && now.bytes < (uint64_t)1 << 40, "this process has memory");
    resident_close(&r);
}

static void remove_all(void) {
    static const char *const names[] = {
        "groups/a/b/memory.max", "groups/a/b/memory.current", "groups/a/b/memory.stat",
        "groups/memory/old/memory.limit_in_bytes", "groups/memory/old/memory.usage_in_bytes",
        "groups/memory/old/memory.stat", "groups/memory/memory.limit_in_bytes",
        "groups/memory/old", "groups/memory",
        "groups/a/b/memory.pressure", "groups/a/b/memory.high", "groups/a/memory.high", "groups/a/memory.max", "groups/memory.max", "statm",
        "cgroup", "groups/a/b", "groups/a", "groups", ""};
    char path[256];
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        remove(path);
    }
}

int main(void) {
    if (mkdtemp(folder) == NULL) {
        printf("Bail out! no temporary folder\n");
        return 1;
    }
    test_arithmetic();
    test_pressure();
    test_group();
    remove_all();
    return tap_done();
}
