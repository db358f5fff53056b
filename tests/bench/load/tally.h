/* The counts of a run. Each thread fills one of its own; tally_merge adds them up afterwards. */
#ifndef LOAD_TALLY_H
#define LOAD_TALLY_H
#include <stddef.h>
#include <stdint.h>

#include "histogram.h"
#include "options.h"

#define TALLY_SAMPLES 8
#define SAMPLE_BYTES 160

/* Different texts of one kind of error, each with its count; once full, new texts only count in the total. */
struct samples {
    uint64_t total;
    unsigned count;
    struct sample {
        uint64_t times;
        char text[SAMPLE_BYTES];
    } list[TALLY_SAMPLES];
};

struct phase_tally {
    uint64_t gets, hits, sets, errors;
};

struct tally {
    uint64_t requests; /* the load's own requests: gets, writes and others, without fills */
    uint64_t gets, hits, misses;
    uint64_t hit_bytes; /* bytes of the values that hits returned */
    uint64_t sets;  /* values sent: writes and fills */
    uint64_t fills; /* those of the writes that follow a miss */
    uint64_t stored, not_stored;
    uint64_t unconfirmed;              /* sent with noreply */
    uint64_t others, found, not_found; /* deletes */
    uint64_t verified;
    uint64_t received_bytes, sent_bytes;
    uint64_t connections;
    uint64_t handshakes, resumed; /* TLS handshakes; resumed: those that resumed a session */
    struct samples errors; /* error replies */
    struct samples wrong;  /* values that differ from the stored ones */
    struct phase_tally phases[SHIFT_MAX];
    struct histogram read_latency, write_latency, handshake_latency;
};

/* `text` need not be NUL-terminated; control bytes are shown as dots, long texts are cut. */
void sample_copy(char to[SAMPLE_BYTES], const char *text, size_t text_bytes);
/* Counts a text, copied as by sample_copy. */
void samples_add(struct samples *s, const char *text, size_t text_bytes, uint64_t times);
void tally_merge(struct tally *into, const struct tally *from);
#endif
