/* The simulator's reader of traces: plain and gzip'd files, odd but legal lines, lines that are none, and broken files. */
#include "tap.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "base/key.h"
#include "simulate/trace.h"

static int file_of(const void *bytes, size_t n) {
    int fd = memfd_create("trace", 0);
    if (fd < 0 || write(fd, bytes, n) != (ssize_t)n || lseek(fd, 0, SEEK_SET) != 0) {
        ok(false, "the test can make its file");
        exit(1);
    }
    return fd;
}

static struct trace *open_bytes(const void *bytes, size_t n) {
    char why[TRACE_WHY_BYTES];
    return trace_open_fd(file_of(bytes, n), "given.txt", why);
}

static struct trace *open_text(const char *text) { return open_bytes(text, strlen(text)); }

static bool next_is(struct trace *t, const char *key, bool has_size, uint32_t value_bytes) {
    struct trace_request q;
    return trace_next(t, &q) == TRACE_REQUEST && q.key_bytes == strlen(key) && memcmp(q.key, key, q.key_bytes) == 0 &&
           q.has_size == has_size && q.value_bytes == value_bytes;
}

/* Reads to the end. */
static unsigned read_all(struct trace *t, enum trace_step *last) {
    struct trace_request q;
    unsigned n = 0;
    while ((*last = trace_next(t, &q)) == TRACE_REQUEST) {
        n++;
    }
    return n;
}

TEST(good_lines_are_requests) {
    struct trace_request q;
    struct trace *t = open_text("a 10\nb\n\n \t\n  c\t20 \r\nd 0\n\xc3\xa9 7\ntop 1073741824\nlast 3");
    ok(next_is(t, "a", true, 10), "a key and a size");
    ok(next_is(t, "b", false, 0), "a key alone");
    ok(next_is(t, "c", true, 20), "empty lines, tabs, blanks around and DOS line ends do not matter");
    ok(next_is(t, "d", true, 0), "a size of 0 is a size");
    ok(next_is(t, "\xc3\xa9", true, 7), "a key may hold any byte that is no blank or control character");
    ok(next_is(t, "top", true, TRACE_VALUE_BYTES_MAX), "1 GiB is the largest size");
    ok(next_is(t, "last", true, 3), "the last line needs no end");
    ok(trace_next(t, &q) == TRACE_END && trace_next(t, &q) == TRACE_END, "then the trace has ended, and stays so");
    ok(trace_bad_lines(t) == 0 && trace_first_bad(t)[0] == '\0', "no line was bad, and none is named");
    trace_close(&t);
    t = open_text("");
    is(trace_next(t, &q), TRACE_END, "an empty file is an empty trace");
    trace_close(&t);
}

TEST(bad_lines_are_counted_and_skipped) {
    static const struct {
        const char *line, *what;
    } bad[] = {
        {"k x", "line 2: it is neither `key` nor `key size`"}, {"k 1 2", "line 2: it is neither `key` nor `key size`"},
        {"k -1", "line 2: it is neither `key` nor `key size`"}, {"k 1073741825", "line 2: the size is larger than 1 GiB"},
        {"k 99999999999999999999999999", "line 2: the size is larger than 1 GiB"},
        {"k\x01y 1", "line 2: the key holds a control character"},
        {"\x7f", "line 2: the key holds a control character"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[128];
        snprintf(text, sizeof text, "before 1\n%s\nafter 2\n%s\n", bad[i].line, bad[i].line);
        struct trace *t = open_text(text);
        enum trace_step last;
        ok(next_is(t, "before", true, 1) && next_is(t, "after", true, 2), "lines around one that is none are read");
        ok(read_all(t, &last) == 0 && last == TRACE_END, "to the end");
        is(trace_bad_lines(t), 2, "both are counted");
        is_str(trace_first_bad(t), bad[i].what, "and the first is explained");
        trace_close(&t);
    }
}

TEST(long_keys_and_lines_have_a_limit) {
    static char text[200000];
    enum trace_step last;
    for (unsigned more = 0; more < 2; more++) {
        memset(text, 'k', KEY_BYTES_MAX + more);
        strcpy(text + KEY_BYTES_MAX + more, " 1\nnext 5\n");
        struct trace *t = open_text(text);
        is(read_all(t, &last), 2 - more, "a key of 250 bytes is a key, one of 251 is none");
        is_str(trace_first_bad(t), more ? "line 1: the key is longer than 250 bytes" : "", "which is said");
        trace_close(&t);
    }
    for (size_t bytes = TRACE_LINE_BYTES_MAX; bytes < sizeof text - 16; bytes = bytes * 3 + 1) {
        bool fits = bytes <= TRACE_LINE_BYTES_MAX;
        for (unsigned behind = 0; behind < 2; behind++) { /* whether a line follows */
            memset(text, ' ', bytes);
            text[0] = 'a';
            strcpy(text + bytes, behind ? "\nnext 5\n" : "");
            struct trace *t = open_text(text);
            ok(read_all(t, &last) == fits + behind && last == TRACE_END && trace_bad_lines(t) == !fits, "a line of %zu bytes is %s, and the next is read", bytes,
               fits ? "read" : "skipped as one");
            ok(fits || strcmp(trace_first_bad(t), "line 1: it is longer than 512 bytes") == 0, "with the reason");
            trace_close(&t);
        }
    }
}

TEST(many_lines_cross_the_window) {
    enum { LINES = 60000 };
    char *text = malloc(LINES * 32);
    size_t n = 0;
    for (unsigned i = 0; i < LINES; i++) {
        n += (size_t)sprintf(text + n, "key:%u:%.*s %u\n", i, (int)(i % 13), "abcdefghijklm", i);
    }
    struct trace *t = open_bytes(text, n);
    struct trace_request q;
    unsigned right = 0;
    for (unsigned i = 0; trace_next(t, &q) == TRACE_REQUEST; i++) {
        char key[40];
        int bytes = sprintf(key, "key:%u:%.*s", i, (int)(i % 13), "abcdefghijklm");
        right += q.key_bytes == bytes && memcmp(q.key, key, (size_t)bytes) == 0 && q.value_bytes == i;
    }
    is(right, LINES, "each of many lines is read whole, wherever the window ends");
    trace_close(&t);
    free(text);
}

static size_t gzip(const char *text, unsigned char *to, size_t room) {
    z_stream z = {.next_in = (unsigned char *)(uintptr_t)text, .avail_in = (uInt)strlen(text), .next_out = to, .avail_out = (uInt)room};
    if (deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK || deflate(&z, Z_FINISH) != Z_STREAM_END) {
        ok(false, "the test can compress its text");
        exit(1);
    }
    deflateEnd(&z);
    return room - z.avail_out;
}

TEST(compressed_files_are_read_and_broken_ones_refused) {
    static char text[40000];
    static unsigned char packed[40000];
    size_t n = 0;
    enum trace_step last;
    uint64_t x = 1;
    for (unsigned i = 0; i < 2000; i++) { /* that cannot be packed to nothing */
        x = x * 6364136223846793005u + 1442695040888963407u;
        n += (size_t)sprintf(text + n, "%u %u\n", (unsigned)(x >> 40), i);
    }
    size_t bytes = gzip(text, packed, sizeof packed);
    struct trace *t = open_bytes(packed, bytes);
    ok(read_all(t, &last) == 2000 && last == TRACE_END, "a gzip'd trace is read to its end");
    trace_close(&t);

    t = open_bytes(packed, bytes / 2);
    unsigned whole = read_all(t, &last);
    ok(whole > 500 && whole < 1500 && last == TRACE_BROKEN, "of one that is cut short comes what is there (%u), then it is broken", whole);
    ok(strstr(trace_error(t), "given.txt") && strstr(trace_error(t), "cut short"), "%s", trace_error(t));
    ok(read_all(t, &last) == 0 && last == TRACE_BROKEN, "and stays so");
    trace_close(&t);

    packed[bytes / 2] ^= 0x55;
    packed[bytes / 2 + 1] ^= 0xaa;
    t = open_bytes(packed, bytes);
    read_all(t, &last);
    ok(last == TRACE_BROKEN && strstr(trace_error(t), "damaged"), "one that is damaged is found out: %s", trace_error(t));
    trace_close(&t);
}

TEST(what_is_no_file_is_refused) {
    char why[TRACE_WHY_BYTES];
    ok(trace_open("/nowhere/at/all", why) == NULL, "a file that is not there");
    is_str(why, "cannot open /nowhere/at/all: No such file or directory", "is named");
    ok(trace_open("/", why) == NULL, "a folder");
    is_str(why, "cannot read /: it is a folder", "is named as one");
}

int main(void) {
    return tap_main();
}
