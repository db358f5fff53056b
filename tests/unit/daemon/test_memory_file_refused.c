/* Memory files that are refused: another's, of another layout, with any byte of the head changed. */
#include "tap.h"

#include <sys/file.h>

#include "memory_file_fixture.h"

static void says(const char *refused, const char *words, const char *claim) { ok(strstr(refused, words) != NULL, "%s: %s", claim, refused); }

static void test_files_of_others_are_refused(void) {
    crash_afresh(fill);
    if (geteuid() != 0) {
        tap_skip("only root can give a file to another user");
        return;
    }
    bool given = chown(path, 12345, 12345) == 0;
    says(given ? refusal() : "", "it belongs to another user (12345", "a file of another user");
    is(chown(path, 0, 0), 0, "it is given back");
}

static void test_other_ways_are_refused(void) {
    struct cache_config config = file_config(), more = config, chunks = config, blocks = config, factor = config, no_cas = config, less = config;
    more.limit_bytes *= 100;
    says(refusal_of(more), "it has room for", "more memory than it has room for");
    chunks.slab.chunk_bytes_max *= 2;
    says(refusal_of(chunks), "its largest chunk is 65536 bytes", "another largest chunk");
    blocks.store = CACHE_STORE_BLOCKS;
    says(refusal_of(blocks), "only items of --store=slab", "another store");
    factor.slab.growth_factor = 1.5;
    is_str(refusal_of(factor), "", "with other classes it is taken");
    no_cas.cas = false;
    is_str(refusal_of(no_cas), "", "without CAS");
    less.limit_bytes /= 2;
    is_str(refusal_of(less), "", "and with less memory");
    ok(memory_file_open("/nowhere/at/all", why) == NULL, "no such folder");
    is_str(why, "/nowhere/at/all: cannot open it: No such file or directory", "… is said");
    int fd = open(path, O_RDWR);
    flock(fd, LOCK_EX);
    says(refusal(), "another process has it", "one that is in use");
    close(fd);
    is(truncate(path, (off_t)1 << 20), 0, "the file is cut off");
    says(refusal(), "bytes and should have", "… and refused");
    fd = open(path, O_RDWR | O_TRUNC);
    ok(write(fd, "something else\n", 15) == 15, "a file of something else");
    close(fd);
    says(refusal(), "it is no memory file of slated; remove it", "… is refused");
}

static void test_a_file_in_use_is_looked_at_and_goes_over(void) {
    unlink(path);
    struct life l = begin();
    fill(l.ct);
    struct cache_config config = file_config();
    ok(memory_file_open(path, why) == NULL, "a file in use is opened by no other");
    int fd = fcntl(cache_file(l.c), F_DUPFD_CLOEXEC, 0);
    config.memory_file = memory_file_of(fd, path, why);
    ok(config.memory_file != NULL && memory_file_is_at(fd, path) && cache_fits_file(&config), "but a process with its descriptor may read it");
    config.slab.chunk_bytes_max *= 2;
    ok(!cache_fits_file(&config) && strstr(why, "its largest chunk is") != NULL, "and learns the mismatch: %s", why);
    ok(strstr(why, "; start this one with the options of the server that runs, or end that one") != NULL && strstr(why, "remove it") == NULL,
       "and what to do about the server that holds it");
    all_are_there(&l, "with that");
    end(&l);
    ok(memory_file_open(path, why) == NULL, "when the first has closed it, it is still locked: %s", why);
    config.slab.chunk_bytes_max = CHUNK_MOST;
    l.c = cache_create(&config);
    l.ct = cache_thread_create(l.c);
    all_are_there(&l, "for the other");
    end(&l);
}

/* A field of the shape with another value, with a matching checksum. */
static void test_shapes_of_others_are_refused(void) {
    static const struct {
        const char *what, *says;
        size_t      at;
    } fields[] = {
#define FIELD(name, words) {#name, words, offsetof(struct memory_shape, name)}
        FIELD(version, "another layout of memory"),     FIELD(byte_order, "another byte order"),
        FIELD(item_bytes, "another layout of items"),   FIELD(tail_bytes, "another layout of items"),
        FIELD(copy_bytes_max, "another layout of items"), FIELD(page_bytes, "another layout of items"),
        FIELD(page_entry_bytes, "another layout of items"), FIELD(store, "the items of another store"),
        FIELD(block_bytes, "the items of another store"), FIELD(chunk_bytes_max, "its largest chunk"),
        FIELD(unit_shift, "damaged (places)"),           FIELD(page_max, "damaged (places)"),
        FIELD(front_bytes, "damaged (places)"),          FIELD(table_at, "damaged (places)"),
        FIELD(head_bytes, "damaged (places)"),           FIELD(file_bytes, "damaged (places)"),
    };
    int fd = open(path, O_RDWR);
    struct memory_head head, other;
    bool written = pread(fd, &head, sizeof head, 0) == sizeof head;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        other = head;
        ((char *)&other.shape)[fields[i].at] ^= 2;
        memory_head_seal(&other);
        written = written && pwrite(fd, &other, sizeof other, 0) == sizeof other;
        says(refusal(), fields[i].says, fields[i].what);
    }
    ok(written && pwrite(fd, &head, sizeof head, 0) == sizeof head, "the head is as it was");
    close(fd);
}

static void test_every_byte_of_the_head_is_checked(void) {
    struct memory_head head;
    int fd = open(path, O_RDWR);
    ok(pread(fd, &head, sizeof head, 0) == (ssize_t)sizeof head, "the head is read");
    close(fd);
    unsigned taken = 0, silent = 0;
    /* the slot of the number that does not count is free */
    size_t unused = offsetof(struct memory_head, cas_most) + ((uint32_t)head.cas_most.which & 1 ? 0 : 8);
    for (size_t at = 0; at < sizeof head; at++) {
        if (at >= unused && at < unused + 8) {
            continue;
        }
        flip(at, at % 8);
        const char *says = refusal();
        taken += says[0] == '\0';
        silent += says[0] != '\0' && strstr(says, path) != says;
        flip(at, at % 8);
    }
    is(taken, 0, "with any byte of its %zu changed the file is refused", sizeof head);
    is(silent, 0, "… with a sentence that names it");
}

static void test_counts_of_cas_are_checked(void) {
    size_t at = word_at(offsetof(struct memory_head, cas_at));
    uint64_t cas = word_of_file(at, NULL), other = cas + 1;
    word_of_file(at, &other);
    says(refusal(), "damaged (counts)", "a count of CAS values that is not its partition's");
    word_of_file(at, &cas);
}

int main(void) {
    memory_file_fixture_begin("refused");
    test_files_of_others_are_refused();
    test_shapes_of_others_are_refused();
    test_every_byte_of_the_head_is_checked();
    test_counts_of_cas_are_checked();
    comes_back("after all that");
    test_other_ways_are_refused();
    test_a_file_in_use_is_looked_at_and_goes_over();
    unlink(path);
    return tap_done();
}
