/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The simulator's reader of traces gives well-formed requests or none, whatever the file's bytes, and the same ones again.
 *
 * Covers: daemon/simulate:trace.*
 *
 * Input: the file, in any format, plain or packed. */
#include <sys/mman.h>
#include <unistd.h>

#include "base/key.h"
#include "simulate/trace.h"

#include "must.h"

static void check(const struct trace_request *q) {
    must(q->key_bytes >= 1 && q->key_bytes <= KEY_BYTES_MAX, "a key is as long as a key may be");
    for (unsigned i = 0; i < q->key_bytes; i++) {
        unsigned char c = (unsigned char)q->key[i];
        must(c > ' ' && c != 0x7f, "a key holds no blanks and no control characters");
    }
    must(q->value_bytes <= TRACE_VALUE_BYTES_MAX, "a size has its limit");
    must(q->times >= 1 && q->times <= TRACE_TIMES_MAX && q->time_ms <= TRACE_TIME_MS_MAX, "so have times");
    must(q->has_size || q->value_bytes == 0, "without a size there is none");
}

/* Reads the whole file. Returns a hash of its requests. */
static uint64_t read_file(const uint8_t *data, size_t n) {
    char why[TRACE_WHY_BYTES];
    int fd = memfd_create("trace", 0);
    must(fd >= 0 && write(fd, data, n) == (ssize_t)n && lseek(fd, 0, SEEK_SET) == 0, "there is a file");
    struct trace *t = trace_open_fd(fd, "input", why);
    must(t != NULL, "a file can be opened");
    uint64_t sum = 0;
    struct trace_request q;
    enum trace_step step;
    while ((step = trace_next(t, &q)) == TRACE_REQUEST) {
        check(&q);
        sum = sum * 31 + key_hash(q.key, q.key_bytes) + q.value_bytes;
    }
    must(trace_next(t, &q) == step, "an end is final");
    must((step == TRACE_BROKEN) == (trace_error(t)[0] != '\0'), "what is broken has a reason");
    must((trace_bad_lines(t) > 0) == (trace_first_bad(t)[0] != '\0'), "so has a bad line");
    sum += trace_bad_lines(t) * 1000003;
    trace_close(&t);
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    must(read_file(data, n) == read_file(data, n), "the same file reads the same");
    return 0;
}
