/* As much of HTTP/1 as a scraper needs: one request, read whole, and its answer. Every call has a
 * deadline, and ends early once `stop_fd` can be read. Threading: the caller's; no state. */
#ifndef SLATE_METRICS_HTTP_H
#define SLATE_METRICS_HTTP_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http_peer {
    int      fd, stop_fd; /* fd: non-blocking */
    uint64_t until_us;    /* on clock_mono_us */
};

struct http_request {
    char method[8], path[256]; /* without what stands behind a ? */
    bool openmetrics;          /* it accepts that kind */
};

bool http_is_whole(const char *text); /* whether a request's head ends in it */
/* Reads one into `bytes`, of `room`. Returns 200, or what to answer it with: 400, 408, 414 or 431;
 * 0: it went, or there is no time for it. */
int http_read(const struct http_peer *, char *bytes, size_t room, struct http_request *);

/* Sends status, kind and body, the latter unless `head`. What the peer does not take in time is
 * lost. */
void http_answer(const struct http_peer *, int status, const char *kind, const char *body,
                 size_t n, bool head);
#endif
