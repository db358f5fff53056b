#include "server/commands/dump.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "protocol/base64.h"

enum { WALK_ROOM = 256 }; /* most items of one bucket */

struct dump {
    struct command_more  more; /* first; the session sees only this member */
    enum dump_kind       kind;
    struct class_set     classes;
    uint64_t             items_left, bytes_left;
    struct cache_walk    walk;
    bool                 walked;
};

static void dump_destroy(struct command_more *more) { free(more); }

static void dump_put_escaped(struct text_out *out, const char *key, size_t n) {
    static const char hex[] = "0123456789ABCDEF";
    char *to = text_out_reserve(out, 3 * n), *at = to;
    if (!to) {
        return;
    }
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)key[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     c == '-' || c == '.' || c == '_' || c == '~';
        if (plain) {
            *at++ = (char)c;
        } else {
            *at++ = '%';
            *at++ = hex[c >> 4];
            *at++ = hex[c & 15];
        }
    }
    text_out_grow(out, (size_t)(at - to));
}

static void dump_put_meta(struct text_out *out, const struct cache_walked *it) {
    const struct cache_view *v = &it->view;
    text_out_str(out, "key=");
    dump_put_escaped(out, it->key, it->key_len);
    text_out_printf(
        out, " exp=%" PRId64 " la=%" PRId64 " cas=%" PRIu64 " fetch=%s cls=%u size=%u flags=%u \n",
        v->exptime_s ? clock_unix_s(v->exptime_s) : -1, clock_unix_s(v->last_access_s), v->cas,
        v->fetched ? "yes" : "no", it->class_id, v->total_bytes, v->client_flags);
}

static void dump_put_mg(struct text_out *out, const struct cache_walked *it) {
    text_out_str(out, "mg ");
    if (it->view.binary_key) {
        char text[BASE64_BYTES(KEY_BYTES_MAX)];
        text_out_bytes(out, text, (size_t)(base64_encode(text, it->key, it->key_len) - text));
        text_out_str(out, " b\r\n");
    } else {
        text_out_bytes(out, it->key, it->key_len);
        text_out_str(out, "\r\n");
    }
}

/* A key that came in base64 may hold any bytes, so a line cannot show the key. */
static void dump_put_cache(struct text_out *out, const struct cache_walked *it) {
    const struct cache_view *v = &it->view;
    if (!v->binary_key) {
        text_out_str(out, "ITEM ");
        text_out_bytes(out, it->key, it->key_len);
        text_out_printf(out, " [%u b; %" PRId64 " s]\r\n", v->value_bytes,
                        v->exptime_s ? clock_unix_s(v->exptime_s) : 0);
    }
}

static void dump_item(struct dump *d, struct text_out *out, const struct cache_walked *it) {
    if (!class_set_has(&d->classes, it->class_id) || d->items_left == 0) {
        return;
    }
    size_t before = out->used;
    switch (d->kind) {
    case DUMP_META: dump_put_meta(out, it); break;
    case DUMP_MG: dump_put_mg(out, it); break;
    case DUMP_CACHE: dump_put_cache(out, it); break;
    }
    size_t wrote = out->used - before;
    if (wrote > d->bytes_left) {
        out->used = before;
        d->items_left = 0;
    } else {
        d->bytes_left -= wrote;
        d->items_left--;
    }
}

/* Writes items bucket by bucket, until all are walked or the piece is full. */
static void dump_walk_buckets(struct dump *d, struct command_context *ctx,
                              struct cache_walked items[WALK_ROOM]) {
    do {
        int n = d->items_left > 0 ? cache_walk_next(ctx->ct, &d->walk, items, WALK_ROOM) : -1;
        d->walked = n < 0;
        for (int i = 0; i < n; i++) {
            dump_item(d, ctx->out, &items[i]);
        }
    } while (!d->walked && !command_piece_full(ctx));
}

static bool dump_run(struct command_more *more, struct command_context *ctx) {
    struct dump *d = (struct dump *)more;
    /* freed after each piece: a dump that waits for its client takes little memory */
    struct cache_walked *items = malloc(WALK_ROOM * sizeof *items);
    if (!items) {
        ctx->out->failed = true;
        return false;
    }
    dump_walk_buckets(d, ctx, items);
    free(items);
    if (!d->walked) {
        return true;
    }
    text_out_str(ctx->out, d->kind == DUMP_MG ? "EN\r\n" : "END\r\n");
    return false;
}

void dump_start(struct command_context *ctx, enum dump_kind kind, const struct class_set *classes,
                uint32_t limit) {
    struct dump *d = calloc(1, sizeof *d);
    if (!d) {
        text_out_str(ctx->out, "SERVER_ERROR out of memory writing stats\r\n");
        return;
    }
    d->more = (struct command_more){.run = dump_run, .destroy = dump_destroy};
    d->kind = kind;
    d->classes = *classes;
    d->items_left = limit ? limit : UINT64_MAX;
    d->bytes_left = kind == DUMP_CACHE ? DUMP_CACHE_BYTES : UINT64_MAX;
    if (kind == DUMP_META || kind == DUMP_MG) {
        text_out_str(ctx->out, "OK\r\n");
    }
    if (dump_run(&d->more, ctx)) {
        ctx->more = &d->more;
    } else {
        dump_destroy(&d->more);
    }
}
