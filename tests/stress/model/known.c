#include "known.h"

#include <inttypes.h>
#include <stdio.h>

enum { CHOSEN_CAS_BITS = 48 }; /* numbers that the server chooses stay below, those that E gives are above */

void known_wrong(struct world *w, enum wrong what, const struct request *r, struct entry *e, const char *how, const char *reply) {
    world_wrong(w, what, "%s, %s of %.20s: %s%s%.200s", how, op_names[r->op], e->key, e->held ? "held" : "gone",
                reply != NULL ? ", reply " : "", reply != NULL ? reply : "");
    entry_broken(e);
}

bool known_alive(const struct request *r, struct entry *e, struct world *w, const char *reply) {
    if (!e->held) {
        known_wrong(w, CAME_BACK, r, e, "it is there again", reply);
    } else if (!e->life.never && r->sent_s > e->life.most_s) {
        known_wrong(w, CAME_BACK, r, e, "it outlived its time", reply);
    } else if (r->flushes_over > e->flush_until) {
        known_wrong(w, CAME_BACK, r, e, "it outlived a flush", reply);
    }
    return e->held;
}

void known_gone(const struct request *r, struct entry *e, struct world *w) {
    bool explained = !e->held || e->excused || (!e->life.never && now_s() >= e->life.least_s) ||
                     atomic_load(&w->flushes_begun) > e->flush_from;
    if (!explained) {
        world_count(w, OP_LOST);
    }
    if (!explained && w->roomy) {
        world_wrong(w, MISSING, "missing, %s of %.20s: %zu bytes, %s, last request %u, now %u", op_names[r->op], e->key, e->value_bytes,
                    e->life.never ? "for ever" : "for a time", e->changed, r->version);
    }
    e->held = false;
}

void known_give_cas(struct entry *e, uint64_t given) {
    e->cas_known = given != 0;
    e->cas = given != 0 ? given : e->cas;
}

void known_learn_cas(const struct request *r, struct entry *e, struct world *w, uint64_t cas) {
    if (e->cas_known ? cas != e->cas : cas == e->cas || (cas >> CHOSEN_CAS_BITS == 0 && cas <= e->cas_most)) {
        char text[100];
        snprintf(text, sizeof text, "%" PRIu64 ", %s %" PRIu64 ", most %" PRIu64, cas, e->cas_known ? "known" : "before", e->cas,
                 e->cas_most);
        known_wrong(w, WRONG_FACT, r, e, "CAS", text);
        return;
    }
    e->cas_known = true;
    e->cas = cas;
    if (cas >> CHOSEN_CAS_BITS == 0) {
        e->cas_most = cas;
        if (!world_note_cas(w, e->key_id, cas)) {
            known_wrong(w, SAME_CAS, r, e, "its CAS is another key's", NULL);
        }
    }
}

bool known_cas_matches(const struct request *r, const struct entry *e) { return e->cas_known && e->cas == r->compare_cas; }

void known_check_value(const struct request *r, struct entry *e, struct world *w, const char *bytes, size_t n) {
    if (entry_value_is(e, bytes, n)) {
        return;
    }
    struct value_tale tale = value_read(e->key_id, bytes, n);
    uint32_t newest = 0;
    for (unsigned i = 0; i < e->segment_count; i++) {
        newest = e->segments[i].version > newest ? e->segments[i].version : newest;
    }
    char text[100];
    snprintf(text, sizeof text, "%zu bytes of version %u, not %zu of %u%s", n, tale.version, e->value_bytes, newest,
             tale.sound ? "" : "; torn");
    known_wrong(w, tale.sound && tale.version < newest ? OLD_VALUE : WRONG_VALUE, r, e, text, NULL);
}

void known_touched(const struct request *r, struct entry *e) {
    e->life = lifetime_of(r->exptime, r->sent_s, now_s());
    e->held &= r->exptime >= 0;
}

void known_stored(struct entry *e, const struct request *r, struct world *w, bool joined) {
    e->flush_from = r->flushes_over;
    e->flush_until = atomic_load(&w->flushes_begun);
    e->excused = false;
    e->held = true;
    e->changed = r->version;
    known_give_cas(e, r->give_cas);
    if (!joined || r->segment.bytes >= SEGMENT_HEAD_BYTES) { /* otherwise readers see no version of the key */
        world_raise_floor(w, e->key_id, r->version);
    }
}

void known_vivified(struct entry *e, const struct request *r, struct world *w) {
    known_gone(r, e, w);
    entry_put(e, &r->segment);
    e->client_flags = 0;
    e->life = lifetime_of(r->vivify_exptime, r->sent_s, now_s());
    e->stale = e->won = false;
    known_stored(e, r, w, false);
}
