/* Where the replies of a turn lie: one run of bytes, of which every session has a part. */
#include <stdlib.h>

#include "protocol/binary.h"
#include "server/session/packets.h"
#include "server/session/session_internal.h"

void batch_end(struct batch *b) {
    for (unsigned i = 0; b->sv.value_count > 0 && i < b->slot_count; i++) {
        struct output *out = &b->slots[i].output;
        for (; out->value_next < out->value_end; out->value_next++) {
            cache_return(b->sv.ct, b->sv.values[out->value_next].item);
        }
    }
    b->sv.value_count = 0;
}

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

void batch_lose(struct batch *b, struct slot *slot) {
    struct output *out = &slot->output;
    /* the slot is the current one, so the last values are its own */
    out->value_end = (uint32_t)b->sv.value_count;
    for (; out->value_next < out->value_end; out->value_next++) {
        cache_return(b->sv.ct, b->sv.values[out->value_next].item);
    }
    b->sv.used = out->at;
    out->end = out->at;
    slot->lost = true;
    b->slot_current = NO_SLOT;
    if (slot->session) {
        slot->session->closing = true;
        slot->session->need = SESSION_CLOSE;
    }
}

void batch_settle_slot(struct batch *b) {
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
        batch_settle_slot(b);
        b->slot_current = slot;
        struct output *out = &b->slots[slot].output;
        out->first = out->at = out->end = b->sv.used;
        out->value_first = out->value_next = out->value_end = (uint32_t)b->sv.value_count;
        b->sv.value_bytes = 0;
    }
    if (b->sv.room - b->sv.used < VERB_REPLY_BYTES && !serving_grow(&b->sv, VERB_REPLY_BYTES)) {
        batch_lose(b, &b->slots[slot]);
        return NULL;
    }
    return b->sv.bytes + b->sv.used;
}

/* Puts the text behind the replies of the slot. */
static void append_text(struct batch *b, unsigned slot) {
    if (b->text.used == 0 || !batch_reply_begin(b, slot)) {
        return;
    }
    if (b->sv.room - b->sv.used < b->text.used && !serving_grow(&b->sv, b->text.used)) {
        batch_lose(b, &b->slots[slot]);
        return;
    }
    memcpy(b->sv.bytes + b->sv.used, b->text.bytes, b->text.used);
    b->sv.used += b->text.used;
}

void batch_reply_text(struct batch *b, unsigned slot) {
    b->text_most = b->text.used > b->text_most ? b->text.used : b->text_most;
    if (b->text.failed) {
        /* Not through b->text, which may have no room for this either. */
        char *p = batch_reply_begin(b, slot);
        if (p) {
            batch_reply_end(b, PUT(p, "SERVER_ERROR out of memory writing stats\r\n"));
        }
        return;
    }
    append_text(b, slot);
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
    append_text(b, slot);
}
