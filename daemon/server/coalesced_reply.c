#include "server/coalesced_reply.h"

#include <stdlib.h>

void coalesced_reply_init(struct coalesced_reply *s) {
    *s = (struct coalesced_reply){.making = false};
    lock_init(&s->lock);
}

static void coalesced_text_free(struct coalesced_text *text) {
    if (text != NULL) {
        text_out_fini(&text->out);
        free(text);
    }
}

void coalesced_reply_fini(struct coalesced_reply *s) {
    coalesced_text_free(s->last);
    s->last = NULL;
    lock_fini(&s->lock);
}

/* --- under the lock --- */

/* Returns the text if this was its last holder. The caller frees the text without the lock. */
static struct coalesced_text *coalesced_release_locked(struct coalesced_text *text) {
    return text != NULL && --text->holders == 0 ? text : NULL;
}

static void coalesced_hold_locked(struct coalesced_waiter *waiter, struct coalesced_text *text) {
    text->holders++;
    waiter->text = text;
}

static void coalesced_wait_locked(struct coalesced_reply *s, struct coalesced_waiter *waiter) {
    struct coalesced_waiter **end = &s->waiting;
    while (*end != NULL) {
        end = &(*end)->next;
    }
    waiter->next = NULL;
    waiter->link = end;
    *end = waiter;
}

static void coalesced_unlink_locked(struct coalesced_waiter *waiter) {
    if (waiter->link != NULL) {
        *waiter->link = waiter->next;
        if (waiter->next != NULL) {
            waiter->next->link = waiter->link;
        }
        waiter->link = NULL;
    }
}

static void coalesced_wake_all_locked(struct coalesced_reply *s, struct coalesced_text *text) {
    for (struct coalesced_waiter *waiter; (waiter = s->waiting) != NULL;) {
        coalesced_unlink_locked(waiter);
        if (text != NULL) {
            coalesced_hold_locked(waiter, text);
        }
        waiter->wake(waiter->wake_arg);
    }
}

/* --- waiters --- */

enum coalesced_part coalesced_join(struct coalesced_reply *s, struct coalesced_waiter *waiter,
                                   uint64_t now_us) {
    lock_take(&s->lock);
    if (waiter->text == NULL && s->last != NULL && now_us < s->last->until_us) {
        coalesced_hold_locked(waiter, s->last);
    }
    if (waiter->text == NULL && !s->making) {
        s->making = waiter->makes = true;
    }
    if (waiter->text != NULL || waiter->makes) {
        coalesced_unlink_locked(waiter);
    } else if (waiter->link == NULL) {
        coalesced_wait_locked(s, waiter);
    }
    enum coalesced_part part = waiter->text != NULL ? COALESCED_READY
                               : waiter->makes      ? COALESCED_MAKE
                                                  : COALESCED_WAIT;
    lock_release(&s->lock);
    return part;
}

bool coalesced_publish(struct coalesced_reply *s, struct coalesced_waiter *waiter,
                       struct text_out *made, uint64_t age_us, uint64_t now_us) {
    struct coalesced_text *text = malloc(sizeof *text);
    if (text == NULL) {
        return false;
    }
    age_us = age_us < COALESCED_AGE_MAX_US ? age_us : COALESCED_AGE_MAX_US;
    *text = (struct coalesced_text){.until_us = now_us + age_us, .holders = 1, .out = *made};
    text_out_init(made);
    lock_take(&s->lock);
    struct coalesced_text *old = coalesced_release_locked(s->last);
    s->last = text;
    s->making = waiter->makes = false;
    coalesced_hold_locked(waiter, text);
    coalesced_wake_all_locked(s, text);
    lock_release(&s->lock);
    coalesced_text_free(old);
    return true;
}

void coalesced_leave(struct coalesced_reply *s, struct coalesced_waiter *waiter) {
    lock_take(&s->lock);
    coalesced_unlink_locked(waiter);
    struct coalesced_text *old = coalesced_release_locked(waiter->text);
    waiter->text = NULL;
    if (waiter->makes) {
        s->making = waiter->makes = false;
        coalesced_wake_all_locked(s, NULL);
    }
    lock_release(&s->lock);
    coalesced_text_free(old);
}
