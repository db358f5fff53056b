#include "control/sampling/whatif_request.h"

#include "base/clock.h"

#define FADE_US (60 * CLOCK_SECOND_US)

static uint64_t since(const struct asked *a, uint64_t key_requests) {
    return key_requests > a->before ? key_requests - a->before : 0;
}

static uint64_t add(struct asked *a, uint64_t key_requests) {
    uint64_t more = since(a, key_requests);
    a->requests += more;
    a->before += more;
    return more;
}

void asked_end(struct asked *a, uint64_t key_requests) {
    add(a, key_requests);
    a->before = ASKED_NEVER;
}

uint64_t asked_requests(const struct asked *a, uint64_t key_requests) {
    return a->requests + since(a, key_requests);
}

bool asked_fade(struct asked *a, uint64_t key_requests, uint64_t now_us) {
    bool more = add(a, key_requests) > 0;
    if (more && !a->lately) {
        a->lately = true;
        a->fade_us = now_us + FADE_US;
    } else if (a->lately && now_us >= a->fade_us) {
        a->lately = false;
        a->requests /= 2;
        return true;
    }
    return false;
}
