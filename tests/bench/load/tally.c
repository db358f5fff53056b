#include "tally.h"

#include <string.h>

void sample_copy(char to[SAMPLE_BYTES], const char *text, size_t text_bytes) {
    size_t n = text_bytes < SAMPLE_BYTES - 1 ? text_bytes : SAMPLE_BYTES - 1;
    for (size_t i = 0; i < n; i++) {
        to[i] = text[i];
        if ((unsigned char)text[i] < 0x20 || (unsigned char)text[i] > 0x7e) {
            to[i] = '.';
        }
    }
    to[n] = '\0';
}

void samples_add(struct samples *s, const char *text, size_t text_bytes, uint64_t times) {
    char clean[SAMPLE_BYTES];
    sample_copy(clean, text, text_bytes);
    s->total += times;
    for (unsigned i = 0; i < s->count; i++) {
        if (strcmp(s->list[i].text, clean) == 0) {
            s->list[i].times += times;
            return;
        }
    }
    if (s->count < TALLY_SAMPLES) {
        s->list[s->count].times = times;
        memcpy(s->list[s->count].text, clean, sizeof(clean));
        s->count++;
    }
}

static void samples_merge(struct samples *into, const struct samples *from) {
    uint64_t total = into->total + from->total;
    for (unsigned i = 0; i < from->count; i++) {
        samples_add(into, from->list[i].text, strlen(from->list[i].text), from->list[i].times);
    }
    into->total = total;
}

void tally_merge(struct tally *into, const struct tally *from) {
    into->requests += from->requests;
    into->gets += from->gets;
    into->hits += from->hits;
    into->misses += from->misses;
    into->hit_bytes += from->hit_bytes;
    into->sets += from->sets;
    into->fills += from->fills;
    into->stored += from->stored;
    into->not_stored += from->not_stored;
    into->unconfirmed += from->unconfirmed;
    into->others += from->others;
    into->found += from->found;
    into->not_found += from->not_found;
    into->verified += from->verified;
    into->received_bytes += from->received_bytes;
    into->sent_bytes += from->sent_bytes;
    into->connections += from->connections;
    into->handshakes += from->handshakes;
    into->resumed += from->resumed;
    samples_merge(&into->errors, &from->errors);
    samples_merge(&into->wrong, &from->wrong);
    for (unsigned i = 0; i < SHIFT_MAX; i++) {
        into->phases[i].gets += from->phases[i].gets;
        into->phases[i].hits += from->phases[i].hits;
        into->phases[i].sets += from->phases[i].sets;
        into->phases[i].errors += from->phases[i].errors;
    }
    histogram_merge(&into->read_latency, &from->read_latency);
    histogram_merge(&into->write_latency, &from->write_latency);
    histogram_merge(&into->handshake_latency, &from->handshake_latency);
}
