/* The simulator's reader of traces: plain and packed files, odd but legal lines, illegal lines, and broken files; and the formats of other
 * projects, recognised by their content. */
#include "tap.h"

#include <inttypes.h>
#include <math.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/key.h"
#include "simulate/trace.h"

static struct trace *open_bytes(const void *bytes, size_t n, enum trace_format format) {
    char why[TRACE_WHY_BYTES];
    int fd = memfd_create("trace", 0);
    if (fd < 0 || write(fd, bytes, n) != (ssize_t)n || lseek(fd, 0, SEEK_SET) != 0) {
        ok(false, "the test can make its file");
        exit(1);
    }
    struct trace *t = trace_open_fd(fd, "given", why);
    trace_set_format(t, format);
    return t;
}

static struct trace *open_text(const char *text) { return open_bytes(text, strlen(text), TRACE_AUTO); }

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
    struct trace *t = open_bytes(text, n, TRACE_AUTO);
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
    for (unsigned i = 0; i < 2000; i++) { /* text that does not pack to nothing */
        x = x * 6364136223846793005u + 1442695040888963407u;
        n += (size_t)sprintf(text + n, "%u %u\n", (unsigned)(x >> 40), i);
    }
    size_t bytes = gzip(text, packed, sizeof packed);
    struct trace *t = open_bytes(packed, bytes, TRACE_AUTO);
    ok(read_all(t, &last) == 2000 && last == TRACE_END, "a gzip'd trace is read to its end");
    trace_close(&t);

    t = open_bytes(packed, bytes / 2, TRACE_AUTO);
    unsigned whole = read_all(t, &last);
    ok(whole > 500 && whole < 1500 && last == TRACE_BROKEN, "of one that is cut short the present part comes (%u), then it is broken", whole);
    ok(strstr(trace_error(t), "given") && strstr(trace_error(t), "cut short"), "%s", trace_error(t));
    ok(read_all(t, &last) == 0 && last == TRACE_BROKEN, "and stays so");
    trace_close(&t);

    packed[bytes / 2] ^= 0x55;
    packed[bytes / 2 + 1] ^= 0xaa;
    t = open_bytes(packed, bytes, TRACE_AUTO);
    read_all(t, &last);
    ok(last == TRACE_BROKEN && strstr(trace_error(t), "damaged"), "one that is damaged is found out: %s", trace_error(t));
    trace_close(&t);
}

TEST(unreadable_files_are_refused) {
    char why[TRACE_WHY_BYTES];
    ok(trace_open("/nowhere/at/all", why) == NULL, "a file that is not there");
    is_str(why, "cannot open /nowhere/at/all: No such file or directory", "is named");
    ok(trace_open("/", why) == NULL, "a folder");
    is_str(why, "cannot read /: it is a folder", "is named as one");
}

/* --- forms --- */

/* "verb key size ttl time"; `-` for an unknown size. */
static const char *next(struct trace *t) {
    static char told[400];
    static const char *const verbs[] = {"get", "set", "delete"};
    struct trace_request q;
    switch (trace_next(t, &q)) {
    case TRACE_BROKEN: return trace_error(t);
    case TRACE_END: return "end";
    case TRACE_REQUEST: break;
    }
    int n = snprintf(told, sizeof told, "%s %.*s ", verbs[q.verb], (int)q.key_bytes, q.key);
    n += q.has_size ? snprintf(told + n, sizeof told - (size_t)n, "%" PRIu32, q.value_bytes)
                    : snprintf(told + n, sizeof told - (size_t)n, "-");
    n += snprintf(told + n, sizeof told - (size_t)n, " %" PRIu32 " %" PRIu64, q.ttl_s, q.time_ms);
    if (q.times != 1) {
        snprintf(told + n, sizeof told - (size_t)n, " x%" PRIu32, q.times);
    }
    return told;
}

/* The recognised format of a text, and the records read up to the end or to the error. */
TEST(forms_are_recognised_and_read) {
    enum { READ_MOST = 6 };
    static const struct {
        const char *text;
        enum trace_format format;
        double      sample;
        const char *read[READ_MOST], *bad;
    } rows[] = {
        {"# slate trace 1 sample=1/64 from=slated\n0 get k1 - - -\n1500 set k1 100 60 5\n# a remark\n1501 get k1 100 - 5\r\n1502 delete k1 - - 5\n",
         TRACE_SLATE, 1.0 / 64, {"get k1 - 0 0", "set k1 100 60 1500", "get k1 100 0 1501", "delete k1 - 0 1502", "end"}, ""},
        {"# slate trace 2 sample=1/64\n", TRACE_SLATE, 0, {"cannot read given as slate: line 1: this version of Slate reads version 1 of its traces"}, ""},
        {"# slate trace 1 sample=1/0\n", TRACE_SLATE, 0, {"cannot read given as slate: line 1: its sample is not written as 1/64, at most 1/1048576"}, ""},
        {"0,nz:u:eeW511W3dcH3de3d15ec,22,304,4,get,0\n0,q,b,5,0,4,delete,0\n5,k,1,0,4,get,0\n7,k,4,12,4,set,3600\n7.25,k,1,12,4,incr,0\n",
         TRACE_TWITTER, 1, {"get nz:u:eeW511W3dcH3de3d15ec 304 0 0", "delete q,b!. - 0 0", "get k - 0 5000", "set k!.. 12 3600 7000", "get k 12 0 7250", "end"}, ""},
        {"key,op,size,op_count,key_size\n1668,GET,82,3,6\n1669,SET_LEASE,0,1,4\n,GET,1,1,1\n",
         TRACE_CACHELIB, 1, {"get 1668!. 82 0 0 x3", "set 1669 0 0 0", "end"}, "line 4: the key is empty"},
        {"op_time,key,key_size,op,op_count,size,cache_hits,ttl,usecase\n9,a,1,SET,,5,,600,x\n10,a,1,GET,1,5,1,,x\n",
         TRACE_CACHELIB, 1, {"set a 5 600 9000", "get a 5 0 10000", "end"}, ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct trace *t = open_text(rows[i].text);
        is(trace_format(t), rows[i].format, "`%.30s…` is %s", rows[i].text, trace_format_name(rows[i].format));
        ok(rows[i].sample <= 0 || fabs(trace_sample(t) - rows[i].sample) < 1e-9, "of so many of the keys, where that is said: %g", rows[i].sample);
        for (unsigned n = 0; n < READ_MOST && rows[i].read[n] != NULL; n++) {
            is_str(next(t), rows[i].read[n], "and is read, request for request");
        }
        is_str(trace_first_bad(t), rows[i].bad, "and a line that is no request is reported");
        trace_close(&t);
    }
    struct trace *t = open_bytes("a,b\n", 4, TRACE_CACHELIB);
    is_str(next(t), "cannot read given as cachelib: line 1: it does not name the columns key and op", "a first line that names others is refused");
    trace_close(&t);
}

TEST(recordings) {
    static const char why[] = "cannot read given as a trace: line 1: this is a recording of slatectl; a recording is for "
                              "`slatectl policy run NAME --recording FILE`, and `slatectl capture -o day.trace.gz` makes "
                              "a trace";
    static const char text[] = "{\"schema\":\"slate/snapshot/1\",\"time_s\":1.5}\nkey 10\n";
    for (enum trace_format f = TRACE_AUTO; f < TRACE_FORMAT_COUNT; f++) {
        struct trace *t = open_bytes(text, sizeof text - 1, f);
        is_str(next(t), why, "a recording is refused, and the commands for it and for a trace are named");
        trace_close(&t);
    }
    struct trace *t = open_text("{\"schema\":\"slate/change/1\",\"time_s\":2.5,\"of\":1,\"d\":\"\"}\n");
    is_str(next(t), why, "so is one whose first whole snapshot was cut off");
    trace_close(&t);
    t = open_text("{\"schema\":\"mine\"}\n");
    is_str(next(t), "get {\"schema\":\"mine\"} - 0 0", "a key may look like other JSON");
    trace_close(&t);
}

static void put(unsigned char *to, uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; i++) {
        to[i] = (unsigned char)(value >> 8 * i);
    }
}

static void make_record(unsigned char *to, uint32_t time_s, uint64_t id, uint32_t bytes, int64_t next_access) {
    put(to, time_s, 4);
    put(to + 4, id, 8);
    put(to + 12, bytes, 4);
    put(to + 16, (uint64_t)next_access, 8);
}

TEST(oracles) {
    unsigned char bytes[4 * TRACE_RECORD_BYTES];
    make_record(bytes, 0, 0xfeedfacecafef00d, 4096, 3);
    make_record(bytes + 24, 2, 1, 0, -1);
    make_record(bytes + 48, 2, 1, 512, -1);
    make_record(bytes + 72, 4, 0xfeedfacecafef00d, 4096, -1);
    struct trace *t = open_bytes(bytes, sizeof bytes, TRACE_AUTO);
    is(trace_format(t), TRACE_ORACLE, "records of 24 bytes are libCacheSim's");
    is_str(next(t), "get feedfacecafef00d 4096 0 0", "time, object, size");
    is_str(next(t), "get 1 512 0 2000", "one of no size is passed over");
    is_str(next(t), "get feedfacecafef00d 4096 0 4000", "each object has its key");
    is_str(next(t), "end", "and that is all");
    trace_close(&t);
    t = open_bytes(bytes, sizeof bytes - 5, TRACE_ORACLE);
    next(t);
    next(t);
    is_str(next(t), "cannot read given: record 4 has 19 of 24 bytes: the file is cut short", "half a record is no record");
    trace_close(&t);
    make_record(bytes + 72, 4, 1, UINT32_MAX, -1);
    t = open_bytes(bytes, sizeof bytes, TRACE_ORACLE);
    next(t);
    next(t);
    is_str(next(t), "end", "a size that no server takes is passed over");
    is_str(trace_first_bad(t), "record 4: the size is larger than 1 GiB", "and reported");
    trace_close(&t);
}

TEST(errors_are_reported) {
    static const struct {
        enum trace_format format;
        const char *text, *what;
    } bad[] = {
        {TRACE_SLATE, "# slate trace 1\nx get k 1 - -", "line 2: it is not `milliseconds verb key size ttl class`"},
        {TRACE_SLATE, "# slate trace 1\n1 get k 1 -", "line 2: it is not `milliseconds verb key size ttl class`"},
        {TRACE_SLATE, "# slate trace 1\n1 get k 1 x -", "line 2: it is not `milliseconds verb key size ttl class`"},
        {TRACE_SLATE, "# slate trace 1\n1 eat k 1 - -", "line 2: its verb is not one of get, set and delete"},
        {TRACE_SLATE, "# slate trace 1\n1 get k\x01 1 - -", "line 2: the key holds a control character"},
        {TRACE_TWITTER, "1,2,3", "line 1: it is not `time,key,key size,value size,client,operation,TTL`"},
        {TRACE_TWITTER, "x,k,1,1,1,get,0", "line 1: it is not `time,key,key size,value size,client,operation,TTL`"},
        {TRACE_TWITTER, "1,k,1,1,1,eat,0", "line 1: its operation is not known"},
        {TRACE_TWITTER, "1,k,1,2000000000,1,get,0", "line 1: the size is larger than 1 GiB"},
        {TRACE_TWITTER, "1,,1,1,1,get,0", "line 1: the key is empty"},
        {TRACE_TWITTER, "1,a b,1,1,1,get,0", "line 1: the key holds a blank"},
        {TRACE_CACHELIB, "key,op,size\nk,GET", "line 2: it has fewer columns than the first line names"},
        {TRACE_CACHELIB, "key,op,size\nk,EAT,1", "line 2: its operation is not known"},
        {TRACE_CACHELIB, "key,op,op_count\nk,GET,x", "line 2: a column that holds numbers has something else"},
        {TRACE_CACHELIB, "key,op,op_count\nk,GET,2000000", "line 2: it stands for more than a million requests"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct trace *t = open_bytes(bad[i].text, strlen(bad[i].text), bad[i].format);
        ok(strcmp(next(t), "end") == 0 && strcmp(trace_first_bad(t), bad[i].what) == 0, "a line of %s that is no request is skipped, and reported: %s",
           trace_format_name(bad[i].format), trace_first_bad(t));
        trace_close(&t);
    }
    struct trace *t = open_bytes("k 1\n", 4, TRACE_SLATE);
    is_str(next(t), "cannot read given as slate: line 1: it does not begin with `# slate trace`",
           "a file that has not the form that was asked for is refused");
    trace_close(&t);
}

TEST(plain_lines_stay_plain) {
    static const char *const texts[] = {"a,b 10\n", "1,2,3,4,5,6,7\n", "#k 5\n", "key 5\n", "op,key_x 1\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct trace *t = open_text(texts[i]);
        is(trace_format(t), TRACE_KEYS, "`%.*s` is a key", (int)strlen(texts[i]) - 1, texts[i]);
        trace_close(&t);
    }
    ok(trace_format_find("oracle") == TRACE_ORACLE && trace_format_find("nothing") == TRACE_FORMAT_COUNT, "forms have names");
}

/* Two frames, as zstd packs them one behind the other, each of more than a window. */
TEST(zstd_files_are_read) {
    enum { LINES = 30000, LINE_BYTES = 16 };
    static char text[LINES * LINE_BYTES + 1], packed[2 * sizeof text];
    enum trace_step last;
    size_t n = 0;
    for (unsigned i = 0; i < LINES; i++) {
        n += (size_t)sprintf(text + n, "%u %u\n", i * 2654435761u % 1000000007u, i % 1000);
    }
    size_t first = ZSTD_compress(packed, sizeof packed, text, n, 3),
           all = first + ZSTD_compress(packed + first, sizeof packed - first, text, n, 19);
    struct trace *t = open_bytes(packed, all, TRACE_AUTO);
    ok(read_all(t, &last) == 2 * LINES && last == TRACE_END, "a trace that zstd packed is read to its end, all frames of it");
    trace_close(&t);
    t = open_bytes(packed, all - 6, TRACE_AUTO);
    ok(read_all(t, &last) > LINES && last == TRACE_BROKEN && strstr(trace_error(t), "cut short") != NULL, "one that is cut short is noticed, after its complete part: %s",
       trace_error(t));
    trace_close(&t);
    packed[first / 2] ^= 0x55;
    t = open_bytes(packed, all, TRACE_AUTO);
    read_all(t, &last);
    ok(last == TRACE_BROKEN && strstr(trace_error(t), "damaged") != NULL, "so is one that is damaged: %s", trace_error(t));
    trace_close(&t);
}

int main(void) {
    return tap_main();
}
