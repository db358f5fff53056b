#include "serve/pieces.h"

#include <stdlib.h>
#include <string.h>

struct pieces {
    struct command_more more; /* first: the session knows only this */
    pieces_write        write;
    uint32_t            next;
    _Alignas(max_align_t) char state[];
};

/* False: it was the last piece. */
static bool write_piece(struct command_context *ctx, pieces_write write, uint32_t *next,
                        void *state) {
    if (write(ctx, next, state)) {
        return true;
    }
    text_out_str(ctx->out, "END\r\n");
    return false;
}

static bool pieces_run(struct command_more *more, struct command_context *ctx) {
    struct pieces *p = (struct pieces *)more;
    return write_piece(ctx, p->write, &p->next, p->state);
}

static void pieces_destroy(struct command_more *more) { free(more); }

void pieces_answer(struct command_context *ctx, pieces_write write, uint32_t first, void *state,
                   size_t state_bytes) {
    uint32_t next = first;
    if (!write_piece(ctx, write, &next, state)) {
        return;
    }
    struct pieces *p = malloc(sizeof *p + state_bytes);
    if (!p) {
        ctx->out->failed = true;
        return;
    }
    p->more = (struct command_more){.run = pieces_run, .destroy = pieces_destroy};
    p->write = write;
    p->next = next;
    if (state_bytes > 0) {
        memcpy(p->state, state, state_bytes);
    }
    ctx->more = &p->more;
}
