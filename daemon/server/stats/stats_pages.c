/* stats pages: every page of every class, with its free chunks, state and age. */
#include <inttypes.h>

#include "base/clock.h"
#include "cache/pages/page_moves.h"
#include "server/stats/stats.h"

enum { PAGES_SHOWN = 4096 }; /* most pages in an answer: about 200 kB */

struct pages {
    uint32_t limit, out, next;
};

/* clang-format off */
#define PAGES_STATS(X) \
    X(pages_limit, gauge, pages, U64, p->limit, "pages of 1 MiB that the memory limit allows") \
    X(pages_out, gauge, pages, U64, p->out, "pages that classes have") \
    X(next, gauge, page, U64, p->next, "page from which the list goes on; 0: it ends here")
/* clang-format on */

const struct counter_info stats_pages_info[] = {
    PAGES_STATS(STATS_INFO){"page:NUMBER", "text", "page",
                            "class, owned or draining, chunks in use, all chunks, seconds in its "
                            "class, seconds since an item of it was used, or - if it holds none"},
    {NULL, NULL, NULL, NULL}};

static void put_page(struct text_out *out, uint32_t number, const struct slab_page_facts *f,
                     uint32_t now_s, uint32_t used_s) {
    uint32_t age_s = now_s > f->created_s ? now_s - f->created_s : 0;
    text_out_printf(out, "STAT page:%u %u %s %u %u %u ", number, f->class_id,
                    f->draining ? "draining" : "owned", f->chunks - f->free_chunks, f->chunks,
                    age_s);
    if (used_s > 0) {
        text_out_printf(out, "%u\r\n", now_s > used_s ? now_s - used_s : 0);
    } else {
        text_out_str(out, "-\r\n");
    }
}

/* The first page from `page` on that belongs to a class; 0: none, since page 0 follows no page. */
static uint32_t next_page(const struct slab *slab, uint32_t page) {
    while (page < arena_page_end(slab->arena) && slab_page_class(slab, page) == SLAB_CLASS_NONE) {
        page++;
    }
    return page < arena_page_end(slab->arena) ? page : 0;
}

/* *state is the number of pages left to show. */
static bool write_pages(struct command_context *ctx, uint32_t *next, void *state) {
    struct slab *slab = cache_slab(ctx->server->cache);
    struct text_out *out = ctx->out;
    uint32_t *left = state, now_s = clock_now_s();
    while (*next < arena_page_end(slab->arena) && *left > 0) {
        struct slab_page_facts f;
        uint32_t page = (*next)++;
        if (slab_page_facts(slab, page, &f)) {
            put_page(out, page, &f, now_s, cache_page_used_s(ctx->server->cache, page));
            --*left;
        }
        if (command_piece_full(ctx)) {
            return true;
        }
    }
    struct pages here = {.limit =
                             atomic_load_explicit(&slab->arena->page_limit, memory_order_relaxed),
                         .out = atomic_load_explicit(&slab->arena->pages_out, memory_order_relaxed),
                         .next = next_page(slab, *next)},
                 *const p = &here;
    PAGES_STATS(STATS_PUT)
    return false;
}

void stats_pages(struct command_context *ctx, const struct words *w) {
    struct text_out *out = ctx->out;
    uint32_t first = 0, count = PAGES_SHOWN;
    if (w->count > 4 || (w->count > 2 && !word_u32(&w->word[2], &first)) ||
        (w->count > 3 && (!word_u32(&w->word[3], &count) || count < 1 || count > PAGES_SHOWN))) {
        text_out_printf(out,
                        "CLIENT_ERROR usage: stats pages [first [count]], count from 1 to %d\r\n",
                        PAGES_SHOWN);
        return;
    }
    command_answer_pieces(ctx, write_pages, first, &count, sizeof count);
}
