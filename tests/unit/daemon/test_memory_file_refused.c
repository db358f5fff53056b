/* Memory files that are refused: another's, of another layout, with any byte of the head changed. */
#include "tap.h"

#include <sys/file.h>

#include "memory_file_fixture.h"

static void test_files_of_others_are_refused(void) {
    afresh();
    crash(fill);
    if (geteuid() != 0) {
        ok(true, "# SKIP only root can give a file to another user");
        return;
    }
    is(chown(path, 12345, 12345), 0, "the file is given to another user");
    ok(strstr(refusal(), "it belongs to another user (12345") != NULL, "… and refused: %s", why);
    is(chown(path, 0, 0), 0, "it is given back");
    comes_back("with its owner as it was");
}

static void test_other_ways_are_refused(void) {
    afresh();
    crash(fill);
    struct cache_config config = file_config();
    config.limit_bytes *= 20;
    ok(strstr(refusal_of(&config), "it has room for") != NULL, "more memory than it has room for: %s", why);
    config = file_config();
    config.slab.growth_factor = 1.5;
    is_str(refusal_of(&config), "", "with other classes it is taken");
    config = file_config();
    config.slab.chunk_bytes_max = 256 << 10;
    ok(strstr(refusal_of(&config), "its largest chunk is 524288 bytes") != NULL, "another largest chunk: %s", why);
    config = file_config();
    config.store = CACHE_STORE_BLOCKS;
    ok(strstr(refusal_of(&config), "only items of --store=slab") != NULL, "another store: %s", why);
    is(memory_file_open("/nowhere/at/all", why) == NULL, 1, "no such folder");
    is_str(why, "/nowhere/at/all: cannot open it: No such file or directory", "… is said");
    int fd = open(path, O_RDWR);
    flock(fd, LOCK_EX);
    ok(strstr(refusal(), "another process has it") != NULL, "one that is in use: %s", why);
    close(fd);
    config = file_config();
    config.cas = false;
    is_str(refusal_of(&config), "", "without CAS it is taken");
    config = file_config();
    config.limit_bytes /= 2;
    is_str(refusal_of(&config), "", "and with less memory");
    is(truncate(path, (off_t)1 << 20), 0, "the file is cut off");
    ok(strstr(refusal(), "bytes and should have") != NULL, "… and refused: %s", why);
    fd = open(path, O_RDWR | O_TRUNC);
    ok(write(fd, "something else\n", 15) == 15, "a file of something else");
    close(fd);
    ok(strstr(refusal(), "it is no memory file of slated; remove it") != NULL, "… is refused: %s", why);
    afresh();
    crash(fill);
    comes_back("after all that");
}

/* As a process that takes over looks at it: the other one goes on. */
static void test_a_file_in_use_is_looked_at_and_goes_over(void) {
    afresh();
    struct cache *c = open_cache();
    struct cache_thread *ct = cache_thread_create(c);
    fill(ct);
    struct cache_config config = file_config();
    ok(memory_file_open(path, why) == NULL, "a file in use is opened by no other");
    int fd = fcntl(cache_file(c), F_DUPFD_CLOEXEC, 0);
    config.memory_file = memory_file_of(fd, path, why);
    ok(config.memory_file != NULL && memory_file_is_at(fd, path) && cache_fits_file(&config), "but one who is given its descriptor may look");
    config.slab.chunk_bytes_max = 256 << 10;
    ok(!cache_fits_file(&config) && strstr(why, "its largest chunk is") != NULL, "and learns what does not fit: %s", why);
    ok(strstr(why, "; start this one with the options of the server that runs, or end that one") != NULL && strstr(why, "remove it") == NULL,
       "and what to do about the server that holds it");
    unsigned counts[3];
    count_wrong(ct, counts);
    is(counts[0], ITEMS, "which changes nothing");
    fixture_end(&c, &ct);
    ok(memory_file_open(path, why) == NULL, "when the first has closed it, it is still locked: %s", why);
    config.slab.chunk_bytes_max = file_config().slab.chunk_bytes_max;
    c = cache_create(&config);
    ct = cache_thread_create(c);
    count_wrong(ct, counts);
    is(counts[0], ITEMS, "and the other has all that is in it");
    fixture_end(&c, &ct);
}

/* A field of the shape that says otherwise, with a checksum that agrees. */
static void test_shapes_of_others_are_refused(void) {
    static const struct {
        const char *what, *says;
        size_t      at;
    } fields[] = {
#define FIELD(name, words) {#name, words, offsetof(struct memory_shape, name)}
        FIELD(version, "lays memory out otherwise"),     FIELD(byte_order, "another byte order"),
        FIELD(item_bytes, "lays items out otherwise"),   FIELD(tail_bytes, "lays items out otherwise"),
        FIELD(copy_bytes_max, "lays items out otherwise"), FIELD(page_bytes, "lays items out otherwise"),
        FIELD(page_entry_bytes, "lays items out otherwise"), FIELD(store, "the items of another store"),
        FIELD(block_bytes, "the items of another store"), FIELD(chunk_bytes_max, "its largest chunk"),
        FIELD(unit_shift, "damaged (places)"),           FIELD(page_max, "damaged (places)"),
        FIELD(front_bytes, "damaged (places)"),          FIELD(table_at, "damaged (places)"),
        FIELD(head_bytes, "damaged (places)"),           FIELD(file_bytes, "damaged (places)"),
    };
    afresh();
    crash(fill);
    int fd = open(path, O_RDWR);
    struct memory_head head, other;
    ok(pread(fd, &head, sizeof head, 0) == sizeof head, "the head is read");
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        other = head;
        ((char *)&other.shape)[fields[i].at] ^= 2;
        memory_head_seal(&other);
        bool written = pwrite(fd, &other, sizeof other, 0) == sizeof other;
        ok(written && strstr(refusal(), fields[i].says) != NULL, "another %s: %s", fields[i].what, why);
    }
    ok(pwrite(fd, &head, sizeof head, 0) == sizeof head, "the head is as it was");
    close(fd);
    comes_back("after all that");
}

/* Each byte of the head, one after the other. */
static void test_every_byte_of_the_head_is_checked(void) {
    afresh();
    crash(fill);
    int fd = open(path, O_RDWR);
    static unsigned char head[sizeof(struct memory_head)];
    ok(pread(fd, head, sizeof head, 0) == (ssize_t)sizeof head, "the head is read");
    unsigned taken = 0, silent = 0;
    /* the slot of the number that does not count is nobody's */
    size_t number = offsetof(struct memory_head, cas_most);
    const struct kept_number *cas = (const void *)(head + number);
    size_t unused = number + ((uint32_t)cas->which & 1 ? 0 : 8);
    for (size_t at = 0; at < sizeof head; at++) {
        unsigned char was = head[at], now = (unsigned char)(was ^ (1u << at % 8));
        bool skip = at >= unused && at < unused + 8;
        if (skip || pwrite(fd, &now, 1, (off_t)at) != 1) {
            continue;
        }
        const char *says = refusal();
        taken += says[0] == '\0';
        silent += says[0] != '\0' && strstr(says, path) != says;
        if (says[0] == '\0') {
            printf("# byte %zu is not looked at\n", at);
        }
        if (pwrite(fd, &was, 1, (off_t)at) != 1) {
            ok(false, "the byte is put back");
        }
    }
    close(fd);
    is(taken, 0, "with any byte of its %zu changed the file is refused", sizeof head);
    is(silent, 0, "… with a sentence that names it");
    comes_back("with the head as it was");
}

static void test_counts_of_cas_are_checked(void) {
    afresh();
    crash(fill);
    size_t at = word_at(offsetof(struct memory_head, cas_at));
    int fd = open(path, O_RDWR);
    uint64_t cas, other;
    ok(pread(fd, &cas, sizeof cas, (off_t)at) == sizeof cas, "a partition's count is read");
    other = cas + 1;
    ok(pwrite(fd, &other, sizeof other, (off_t)at) == sizeof other && strstr(refusal(), "damaged (counts)") != NULL,
       "a count of CAS values that is not its partition's: %s", why);
    ok(pwrite(fd, &cas, sizeof cas, (off_t)at) == sizeof cas, "it is put back");
    close(fd);
    comes_back("with the count as it was");
}

int main(void) {
    memory_file_fixture_begin("refused");
    test_files_of_others_are_refused();
    test_other_ways_are_refused();
    test_a_file_in_use_is_looked_at_and_goes_over();
    test_shapes_of_others_are_refused();
    test_every_byte_of_the_head_is_checked();
    test_counts_of_cas_are_checked();
    unlink(path);
    return tap_done();
}
