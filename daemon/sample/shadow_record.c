/* The records of sampled keys: a shadow plays them to every miniature and to the curves, and counts
 * the miniatures' hits. */
#include "base/prefetch.h"
#include "sample/shadow_inner.h"

static struct recent *shadow_recent_key(struct shadow *s, uint64_t hash) {
    struct recent *r = &s->recent[sample_slot(hash, s->nodes_max * SHADOW_RECENT_FACTOR)];
    if (r->tag != (uint32_t)(hash >> 32)) {
        *r = (struct recent){.tag = (uint32_t)(hash >> 32)};
    }
    return r;
}

/* NULL: the class has no counts. If the place was another class's, its counts begin anew. */
static struct mini_class_counts *shadow_class_counts(struct shadow *s, unsigned class_id) {
    int place = curve_place(s->curve, class_id);
    struct mini_class_counts *k = place >= 0 ? &s->classes[place] : NULL;
    if (k != NULL && k->class_id != class_id) {
        *k = (struct mini_class_counts){.class_id = class_id};
    }
    return k;
}

/* A get, and the set after it if the item's bytes are known. */
static bool shadow_play_read(struct mini *m, struct mini_item item, uint32_t now_s) {
    return item.bytes != 0 ? mini_request(m, item, now_s) : mini_read(m, item.hash, now_s);
}

static struct curve_use shadow_curve_use(struct mini_item item, unsigned class_id) {
    return (struct curve_use){
        .hash = item.hash, .class_id = class_id, .bytes = item.bytes, .expires_s = item.expires_s};
}

/* Counts a read. If its class stands apart, every miniature counts as having hit or missed as the
 * cache did. */
static void shadow_record_read(struct shadow *s, struct mini_item item, unsigned class_id,
                               uint32_t now_s, bool hit) {
    uint64_t hash = item.hash;
    bool apart = s->apart[class_id],
         own = apart ? hit : shadow_play_read(s->mirror[s->own].mini, item, now_s);
    if (item.bytes != 0) {
        curve_read(s->curve, shadow_curve_use(item, class_id), hit, now_s);
    }
    struct mini_class_counts *k = shadow_class_counts(s, class_id);
    s->reads++;
    s->fills += !own;
    mini_counts_note(&s->real_now, hash, own, hit);
    if (k != NULL) {
        k->reads += 1;
        k->own_misses += !own;
    }
    for (unsigned i = 0; i < shadow_mirrors(s); i++) {
        bool other = apart || i == s->own ? own : shadow_play_read(s->mirror[i].mini, item, now_s);
        mini_counts_note(&s->mirror[i].now, hash, own, other);
        if (k != NULL && i < s->policies && other != own) {
            *(own ? &k->policy[i].worse : &k->policy[i].better) += 1;
        }
    }
}

static uint32_t shadow_ttl_s(const struct sample_record *r, uint32_t now_s) {
    return r->expires_s > now_s ? r->expires_s - now_s : r->expires_s != 0;
}

/* A read's record has the remaining time to live: less than that of the store, which may not be
 * known. */
static void shadow_learn_ttl(struct recent *known, const struct sample_record *r, uint32_t now_s) {
    uint32_t left_s = shadow_ttl_s(r, now_s);
    bool     is_new = known->bytes == 0 || left_s == 0;
    known->ttl_s = is_new || left_s > known->ttl_s ? left_s : known->ttl_s;
}

/* The item that the set after a miss will store, as far as known. */
static struct mini_item shadow_next_item(uint64_t hash, const struct recent *known,
                                         uint32_t now_s) {
    return (struct mini_item){.hash = hash,
                              .bytes = known->bytes,
                              .expires_s = known->ttl_s != 0 ? now_s + known->ttl_s : 0};
}

/* A key was stored. The set that follows a miss has happened in the miniatures already if they knew
 * the key's size; that set had the key's earlier time to live. */
static void shadow_record_store(struct shadow *s, const struct sample_record *r,
                                const struct recent *known, uint32_t now_s) {
    bool waited = known->state == RECENT_WAITING, apart = s->apart[r->class_id];
    if (known->state == RECENT_FILLING && known->bytes == r->bytes) {
        return;
    }
    struct mini_item item = {.hash = r->hash, .bytes = r->bytes, .expires_s = r->expires_s};
    for (unsigned i = 0; !apart && i < shadow_mirrors(s); i++) {
        (waited ? mini_fill : mini_store)(s->mirror[i].mini, item, now_s);
    }
    if (waited) {
        curve_read(s->curve, shadow_curve_use(item, r->class_id), false, now_s);
    } else {
        curve_store(s->curve, shadow_curve_use(item, r->class_id), now_s);
    }
}

void shadow_prefetch_later(const struct shadow *s, uint64_t hash) {
    for (unsigned i = 0; i < shadow_mirrors(s); i++) {
        mini_prefetch_bucket(s->mirror[i].mini, hash);
    }
    curve_prefetch_bucket(s->curve, hash);
    prefetch_to_write(&s->recent[sample_slot(hash, s->nodes_max * SHADOW_RECENT_FACTOR)]);
}

void shadow_prefetch_next(const struct shadow *s, uint64_t hash) {
    for (unsigned i = 0; i < shadow_mirrors(s); i++) {
        mini_prefetch_key(s->mirror[i].mini, hash);
    }
    curve_prefetch_key(s->curve, hash);
}

void shadow_record(struct shadow *s, const struct sample_record *r, uint32_t now_s) {
    if (!sample_takes(r->hash, s->below)) {
        return; /* the record was on its way when the rate was lowered */
    }
    struct recent *known = shadow_recent_key(s, r->hash);
    switch ((enum sample_verb)r->verb) {
    case SAMPLE_MISS:
        shadow_record_read(s, shadow_next_item(r->hash, known, now_s), known->class_id, now_s,
                           false);
        known->state = known->bytes != 0 ? RECENT_FILLING : RECENT_WAITING;
        return;
    case SAMPLE_HIT:
        shadow_learn_ttl(known, r, now_s);
        known->bytes = r->bytes;
        shadow_record_read(s, shadow_next_item(r->hash, known, now_s), r->class_id, now_s, true);
        break;
    case SAMPLE_STORE:
        shadow_record_store(s, r, known, now_s);
        known->ttl_s = shadow_ttl_s(r, now_s);
        break;
    case SAMPLE_TOUCH:
        for (unsigned i = 0; i < shadow_mirrors(s); i++) {
            mini_touch(s->mirror[i].mini, r->hash, r->expires_s, now_s);
        }
        curve_set_expiry(s->curve, r->hash, r->expires_s);
        known->ttl_s = shadow_ttl_s(r, now_s);
        return;
    case SAMPLE_GONE:
        /* expiry happens in each miniature and in the curves by itself */
        if (r->expires_s == 0) {
            for (unsigned i = 0; i < shadow_mirrors(s); i++) {
                mini_delete(s->mirror[i].mini, r->hash);
            }
            curve_gone(s->curve, r->hash);
        }
        known->state = RECENT_HELD; /* a later miss may use the size */
        return;
    case SAMPLE_KEY: return;
    }
    known->bytes = r->bytes;
    known->class_id = r->class_id;
    known->state = RECENT_HELD;
}
