/* Trace files: plain and gzip'd, odd but legal lines, and every kind of damage. */
#include "tap.h"

#include <unistd.h>
#include <zlib.h>

#include "random.h"
#include "trace.h"

static char folder[] = "/tmp/slate-trace-XXXXXX";
static char path[64];

static void write_plain(const char *bytes, size_t n) {
    FILE *f = fopen(path, "wb");
    if (f == NULL || fwrite(bytes, 1, n, f) != n || fclose(f) != 0) {
        ok(false, "the test can write its file");
        exit(1);
    }
}

static void write_text(const char *text) {
    write_plain(text, strlen(text));
}

static struct trace *open_it(void) {
    char why[300] = "";
    struct trace *t = trace_open(path, why, sizeof(why));
    if (t == NULL) {
        printf("# %s\n", why);
    }
    return t;
}

/* Reads to the end or the first bad line; the number of good lines. */
static unsigned read_all(struct trace *t, enum trace_step *last) {
    struct trace_line line;
    unsigned n = 0;
    while ((*last = trace_next(t, &line)) == TRACE_LINE) {
        n++;
    }
    return n;
}

static void good_lines(void) {
    struct trace_line line;
    write_text("a 10\nb\n\n  c\t20  \r\nd 0\nlast 7");
    struct trace *t = open_it();
    ok(trace_next(t, &line) == TRACE_LINE && line.key_bytes == 1 && line.key[0] == 'a' &&
           line.has_size && line.value_bytes == 10,
       "key and size are read");
    ok(trace_next(t, &line) == TRACE_LINE && line.key[0] == 'b' && !line.has_size,
       "a key alone is read");
    ok(trace_next(t, &line) == TRACE_LINE && line.key[0] == 'c' && line.value_bytes == 20,
       "empty lines, tabs, blanks around and DOS line ends do not matter");
    ok(trace_next(t, &line) == TRACE_LINE && line.has_size && line.value_bytes == 0,
       "a size of 0 is a size");
    ok(trace_next(t, &line) == TRACE_LINE && line.key_bytes == 4 && line.value_bytes == 7,
       "the last line needs no line end");
    is(trace_next(t, &line), TRACE_END, "then the trace has ended");
    is(trace_next(t, &line), TRACE_END, "and stays so");
    trace_close(&t);
    ok(t == NULL, "closing forgets the pointer");
    write_text("");
    t = open_it();
    is(trace_next(t, &line), TRACE_END, "an empty file is an empty trace");
    trace_close(&t);
}

static void bad_line(const char *text, unsigned good_before, const char *in_message) {
    enum trace_step last;
    write_text(text);
    struct trace *t = open_it();
    unsigned n = read_all(t, &last);
    ok(last == TRACE_BAD && n == good_before && strstr(trace_error(t), in_message) != NULL,
       "refused: %s", trace_error(t));
    struct trace_line line;
    is(trace_next(t, &line), TRACE_BAD, "and nothing is read after it");
    trace_close(&t);
}

static void bad_lines(void) {
    static char long_key[400], long_line[3000];
    bad_line("a 1\nb x\n", 1, "line 2");
    bad_line("a 1 2\n", 0, "not `key`");
    bad_line("a -1\n", 0, "line 1");
    bad_line("a 1.5\n", 0, "not `key`");
    bad_line("a 99999999999999999999999\n", 0, "out of range");
    bad_line("a 1\n\x01\x02 3\n", 1, "control");
    memset(long_key, 'k', 251);
    strcpy(long_key + 251, " 5\n");
    bad_line(long_key, 0, "250");
    memset(long_line, 'k', sizeof(long_line) - 1);
    bad_line(long_line, 0, "512");
}

static void missing_files(void) {
    char why[300] = "";
    ok(trace_open("/nonexistent/file", why, sizeof(why)) == NULL && strstr(why, "No such file"),
       "a missing file is named: %s", why);
    ok(trace_open(folder, why, sizeof(why)) == NULL && strstr(why, "directory"),
       "a directory is no trace: %s", why);
}

enum { LINES = 30000 };

static void write_gzip(void) {
    gzFile f = gzopen(path, "wb");
    for (int i = 0; i < LINES; i++) {
        gzprintf(f, "%llu %d\n", (unsigned long long)mix64((uint64_t)i), i);
    }
    gzclose(f);
}

static size_t slurp(char *into, size_t room) {
    FILE *f = fopen(path, "rb");
    size_t n = fread(into, 1, room, f);
    fclose(f);
    return n;
}

static void gzip(uint64_t seed) {
    static char whole[1 << 20];
    struct rng r = rng_from(seed);
    struct trace_line line;
    enum trace_step last;
    bool same = true;
    write_gzip();
    struct trace *t = open_it();
    for (int i = 0; i < LINES && same; i++) {
        char key[32];
        snprintf(key, sizeof(key), "%llu", (unsigned long long)mix64((uint64_t)i));
        same = trace_next(t, &line) == TRACE_LINE && line.key_bytes == strlen(key) &&
               memcmp(line.key, key, line.key_bytes) == 0 && line.value_bytes == (uint64_t)i;
    }
    ok(same && trace_next(t, &line) == TRACE_END, "a gzip'd trace is read line by line");
    trace_close(&t);

    size_t n = slurp(whole, sizeof(whole));
    unsigned wrong = 0;
    for (int i = 0; i < 20; i++) {
        size_t cut = 20 + rng_below(&r, n - 30);
        write_plain(whole, cut);
        t = open_it();
        unsigned lines = read_all(t, &last);
        wrong += last != TRACE_BAD || lines >= LINES || strstr(trace_error(t), "cut short") == NULL;
        trace_close(&t);
    }
    is(wrong, 0, "a gzip file cut anywhere is reported, not taken for the end");
    write_plain(whole, n);
    whole[n / 2] ^= 0x55;
    write_plain(whole, n);
    t = open_it();
    read_all(t, &last);
    ok(last == TRACE_BAD, "a damaged gzip file is reported: %s", trace_error(t));
    trace_close(&t);
}

/* Random bytes: every line is read or refused, nothing else happens. */
static void rubbish(uint64_t seed) {
    struct rng r = rng_from(seed);
    unsigned ended = 0;
    for (int i = 0; i < 200; i++) {
        char bytes[2000];
        size_t n = rng_below(&r, sizeof(bytes));
        for (size_t j = 0; j < n; j++) {
            bytes[j] = rng_below(&r, 3) ? "a 1\n\r\t9 "[rng_below(&r, 8)] : (char)rng_next(&r);
        }
        write_plain(bytes, n);
        struct trace *t = open_it();
        enum trace_step last;
        ended += t != NULL && read_all(t, &last) <= n;
        trace_close(&t);
    }
    is(ended, 200, "random files are read to their end or refused");
}

int main(void) {
    uint64_t seed = tap_seed();
    if (mkdtemp(folder) == NULL) {
        return 1;
    }
    snprintf(path, sizeof(path), "%s/trace", folder);
    good_lines();
    bad_lines();
    missing_files();
    gzip(seed);
    rubbish(seed);
    unlink(path);
    rmdir(folder);
    return tap_done();
}
