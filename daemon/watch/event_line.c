#include "watch/event_line.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct text {
    char  *to;
    size_t n;
};

__attribute__((format(printf, 2, 3))) static void line_put(struct text *t, const char *format,
                                                           ...) {
    va_list ap;
    va_start(ap, format);
    int n = vsnprintf(t->to + t->n, LINE_BYTES_MAX - t->n, format, ap);
    va_end(ap);
    t->n += (size_t)n;
}

static bool line_is_plain(unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

size_t line_escape(char *to, const char *bytes, size_t n) {
    static const char digits[] = "0123456789ABCDEF";
    char *at = to;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if (line_is_plain(c)) {
            *at++ = (char)c;
        } else {
            *at++ = '%';
            *at++ = digits[c >> 4];
            *at++ = digits[c & 15];
        }
    }
    return (size_t)(at - to);
}

static void line_put_key(struct text *t, const struct event_record *e) {
    line_put(t, " key=");
    t->n += line_escape(t->to + t->n, e->text, e->text_bytes);
}

static void line_put_change(struct text *t, const struct event_record *e) {
    static const char *const names[] = {" what=", " was=", " is=", " by="};
    const char *part = e->text;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t bytes = strlen(part);
        line_put(t, "%s", names[i]);
        t->n += line_escape(t->to + t->n, part, bytes);
        part += bytes + 1;
    }
}

/* rip, rport and transport from tcp:1.2.3.4:5, tcp6:[..]:p or unix:path. */
static void line_put_peer(struct text *t, const struct event_record *e) {
    const char *colon = memchr(e->text, ':', e->text_bytes), *end = e->text + e->text_bytes;
    const char *last = memrchr(e->text, ':', e->text_bytes);
    if (colon == NULL || last == colon || memcmp(e->text, "tcp", 3) != 0) {
        line_put(t, " rip=unix rport=0 transport=local");
        return;
    }
    const char *host = colon + 1, *host_end = last;
    if (host_end - host >= 2 && *host == '[') {
        host++;
        host_end--;
    }
    line_put(t, " rip=%.*s rport=%.*s transport=tcp", (int)(host_end - host), host,
             (int)(end - last - 1), last + 1);
}

static const char *const found_names[] = {"not_found", "found", "flushed", "expired"};
static const char *const stored_names[] = {"not_stored", "stored",    "exists",
                                           "not_found",  "too_large", "no_memory"};
static const char *const command_names[] = {"add",     "set", "replace", "append",
                                            "prepend", "cas", "delete",  "md"};
static const char *const reason_names[] = {"error", "normal", "idle_timeout", "shutdown"};
static const char *const move_names[] = {"start", "done", "given_up"};

static void line_put_event(struct text *t, const struct event_record *e) {
    switch ((enum event_kind)e->kind) {
    case EVENT_ITEM_GET:
        line_put(t, "item_get");
        line_put_key(t, e);
        line_put(t, " status=%s clsid=%u cfd=%d size=%" PRIu32, found_names[e->status], e->class_id,
                 e->fd, e->value_bytes);
        break;
    case EVENT_ITEM_STORE:
        line_put(t, "item_store");
        line_put_key(t, e);
        line_put(t, " status=%s cmd=%s ttl=%" PRIu32 " clsid=%u cfd=%d size=%" PRIu32,
                 stored_names[e->status], command_names[e->command], e->ttl_s, e->class_id, e->fd,
                 e->value_bytes);
        break;
    case EVENT_EVICTION:
        line_put(t, "eviction");
        line_put_key(t, e);
        line_put(t, " fetch=%s ttl=%" PRId64 " la=%" PRIu32 " clsid=%u size=%" PRIu32,
                 e->fetched ? "yes" : "no", e->left_s, e->unused_s, e->class_id, e->value_bytes);
        break;
    case EVENT_DELETED:
        line_put(t, "deleted");
        line_put_key(t, e);
        line_put(t, " cmd=%s clsid=%u size=%" PRIu32, command_names[e->command], e->class_id,
                 e->value_bytes);
        break;
    case EVENT_CONN_NEW:
        line_put(t, "conn_new");
        line_put_peer(t, e);
        line_put(t, " cfd=%d", e->fd);
        break;
    case EVENT_CONN_CLOSE:
        line_put(t, "conn_close");
        line_put_peer(t, e);
        line_put(t, " reason=%s cfd=%d", reason_names[e->status], e->fd);
        break;
    case EVENT_CONN_TLS_ERROR:
        line_put(t, "conntlserr fd=%d msg=%.*s", e->fd, (int)e->text_bytes, e->text);
        break;
    case EVENT_SLAB_MOVE:
        line_put(t, "slab_move src=%u dst=%u state=%s", e->class_id, e->to_class_id,
                 move_names[e->status]);
        break;
    case EVENT_LRU_CRAWLER: /* one walk over all items: no class and no queue */
        line_put(t,
                 "lru_crawler crawler=0 lru=all low_mark=0 next_reclaims=0 since_run=%" PRIu32
                 " next_run=%" PRIu32 " elapsed=%" PRIu32 " examined=%" PRIu64
                 " reclaimed=%" PRIu64,
                 e->crawl.elapsed_s, e->crawl.next_run_s, e->crawl.elapsed_s, e->crawl.examined,
                 e->crawl.reclaimed);
        break;
    case EVENT_CHANGE:
        line_put(t, "change");
        line_put_change(t, e);
        break;
    }
}

size_t line_write(const struct event_record *e, char *to) {
    struct text t = {to, 0};
    /* microseconds without leading zeros, as memcached writes them */
    line_put(&t, "ts=%" PRIu64 ".%" PRIu64 " gid=%" PRIu64 " type=", e->unix_us / 1000000,
             e->unix_us % 1000000, e->gid);
    line_put_event(&t, e);
    line_put(&t, "\n");
    return t.n;
}
