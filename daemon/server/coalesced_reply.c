#include "server/coalesced_reply.h"

#include <stdlib.h>

void shared_answer_init(struct shared_answer *s) {
    *s = (struct shared_answer){.making = false};
    lock_init(&s->lock);
}

static void text_free(struct shared_text *text) {
    if (text != NULL) {
        text_out_fini(&text->out);
        free(text);
    }
}

void shared_answer_fini(struct shared_answer *s) {
    text_free(s->last);
    s->last = NULL;
    lock_fini(&s->lock);
}

/* --- under the lock --- */

/* Returns the text if nobody holds it any more; the caller frees it without the lock. */
static struct shared_text *release_locked(struct shared_text *text) {
    return text != NULL && --text->holders == 0 ? text : NULL;
}

static void hold_locked(struct shared_seat *seat, struct shared_text *text) {
    text->holders++;
    seat->text = text;
}

static void wait_locked(struct shared_answer *s, struct shared_seat *seat) {
    struct shared_seat **end = &s->waiting;
    while (*end != NULL) {
        end = &(*end)->next;
    }
    seat->next = NULL;
    seat->link = end;
    *end = seat;
}

static void unlink_locked(struct shared_seat *seat) {
    if (seat->link != NULL) {
        *seat->link = seat->next;
        if (seat->next != NULL) {
            seat->next->link = seat->link;
        }
        seat->link = NULL;
    }
}

static void wake_all_locked(struct shared_answer *s, struct shared_text *text) {
    for (struct shared_seat *seat; (seat = s->waiting) != NULL;) {
        unlink_locked(seat);
        if (text != NULL) {
            hold_locked(seat, text);
        }
        seat->wake(seat->wake_arg);
    }
}

/* --- seats --- */

enum shared_part shared_sit(struct shared_answer *s, struct shared_seat *seat, uint64_t now_us) {
    lock_take(&s->lock);
    if (seat->text == NULL && s->last != NULL && now_us < s->last->until_us) {
        hold_locked(seat, s->last);
    }
    if (seat->text == NULL && !s->making) {
        s->making = seat->makes = true;
    }
    if (seat->text != NULL || seat->makes) {
        unlink_locked(seat);
    } else if (seat->link == NULL) {
        wait_locked(s, seat);
    }
    enum shared_part part = seat->text != NULL ? SHARED_HAS
                            : seat->makes      ? SHARED_MAKES
                                               : SHARED_WAITS;
    lock_release(&s->lock);
    return part;
}

bool shared_made(struct shared_answer *s, struct shared_seat *seat, struct text_out *made,
                 uint64_t age_us, uint64_t now_us) {
    struct shared_text *text = malloc(sizeof *text);
    if (text == NULL) {
        return false;
    }
    age_us = age_us < SHARED_AGE_MAX_US ? age_us : SHARED_AGE_MAX_US;
    *text = (struct shared_text){.until_us = now_us + age_us, .holders = 1, .out = *made};
    text_out_init(made);
    lock_take(&s->lock);
    struct shared_text *old = release_locked(s->last);
    s->last = text;
    s->making = seat->makes = false;
    hold_locked(seat, text);
    wake_all_locked(s, text);
    lock_release(&s->lock);
    text_free(old);
    return true;
}

void shared_leave(struct shared_answer *s, struct shared_seat *seat) {
    lock_take(&s->lock);
    unlink_locked(seat);
    struct shared_text *old = release_locked(seat->text);
    seat->text = NULL;
    if (seat->makes) {
        s->making = seat->makes = false;
        wake_all_locked(s, NULL);
    }
    lock_release(&s->lock);
    text_free(old);
}
