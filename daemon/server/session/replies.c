/* The replies of a turn: one run of bytes, of which every session has a part. */
#include <stdlib.h>

#include "protocol/binary.h"
#include "server/session/packets.h"
#include "server/session/session_internal.h"

void batch_shrink_replies(struct batch *b) {
    if (b->sv.room > REPLIES_FIRST_BYTES && b->used_most < b->sv.room / 4) {
        char *bytes = realloc(b->sv.bytes, b->sv.room / 2);
        if (bytes) {
            b->sv.bytes = bytes;
            b->sv.room /= 2;
        }
    }
    if (b->text_most < b->text.room / 4) {
        text_out_fini(&b->text);
    }
    b->used_most = b->text_most = 0;
    b->shrink_turns = 0;
}

void batch_lose_replies(struct batch *b, struct slot *slot) {
    struct output *out = &slot->output;
    /* the slot is the current one, so the last values belong to it */
    out->value_end = (uint32_t)b->sv.value_count;
    output_return_values(out, b->sv.values);
    b->sv.used = out->at;
    out->end = out->at;
    slot->lost = true;
    b->slot_current = NO_SLOT;
    if (slot->session) {
        slot->session->closing = true;
        slot->session->need = SESSION_CLOSE;
    }
}

void batch_settle_replies(struct batch *b) {
    if (b->slot_current == NO_SLOT) {
        return;
    }
    struct slot *slot = &b->slots[b->slot_current];
    slot->output.end = b->sv.used;
    slot->output.value_end = (uint32_t)b->sv.value_count;
    slot->value_bytes = b->sv.value_bytes;
}

char *batch_reply_begin(struct batch *b, unsigned slot) {
    if (b->slots[slot].lost) {
        return NULL;
    }
    if (slot != b->slot_current) {
        batch_settle_replies(b);
        b->slot_current = slot;
        struct output *out = &b->slots[slot].output;
        out->first = out->at = out->end = b->sv.used;
        out->value_first = out->value_next = out->value_end = (uint32_t)b->sv.value_count;
        b->sv.value_bytes = 0;
    }
    if (b->sv.room - b->sv.used < VERB_REPLY_BYTES && !serving_grow(&b->sv, VERB_REPLY_BYTES)) {
        batch_lose_replies(b, &b->slots[slot]);
        return NULL;
    }
    return b->sv.bytes + b->sv.used;
}

/* Appends the text to the replies of the slot. */
static void replies_append_text(struct batch *b, unsigned slot) {
    if (b->text.used == 0 || !batch_reply_begin(b, slot)) {
        return;
    }
    if (b->sv.room - b->sv.used < b->text.used && !serving_grow(&b->sv, b->text.used)) {
        batch_lose_replies(b, &b->slots[slot]);
        return;
    }
    memcpy(b->sv.bytes + b->sv.used, b->text.bytes, b->text.used);
    b->sv.used += b->text.used;
}

void batch_reply_text(struct batch *b, unsigned slot) {
    b->text_most = b->text.used > b->text_most ? b->text.used : b->text_most;
    if (b->text.failed) {
        /* not through b->text, which may have no room for the error either */
        char *p = batch_reply_begin(b, slot);
        if (p) {
            batch_reply_end(b, PUT(p, "SERVER_ERROR out of memory writing stats\r\n"));
        }
        return;
    }
    replies_append_text(b, slot);
}

void batch_reply_packets(struct batch *b, unsigned slot, uint8_t opcode, uint32_t opaque) {
    b->text_most = b->text.used > b->text_most ? b->text.used : b->text_most;
    struct text_out packets;
    text_out_init(&packets);
    packets_of_text(&packets, &b->text, opcode, opaque);
    if (b->text.failed || packets.failed) {
        char *p = batch_reply_begin(b, slot);
        if (p) {
            batch_reply_end(b, binary_put_text(p, opcode, opaque, BINARY_NO_MEMORY,
                                               binary_status_text(BINARY_NO_MEMORY)));
        }
        text_out_fini(&packets);
        return;
    }
    text_out_fini(&b->text);
    b->text = packets;
    replies_append_text(b, slot);
}
