/* Reads a reply and compares it with the model. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "change.h"
#include "known.h"
#include "meta.h"

/* --- get, gets, gat, gats --- */

static bool hear_value(const struct request *r, struct entry *e, struct world *w, struct wire *c, char *line) {
    uint32_t flags;
    size_t bytes;
    uint64_t cas = 0;
    bool with_cas = r->op == OP_GETS || r->op == OP_GATS;
    int fields = sscanf(line + strlen("VALUE ") + e->key_bytes, " %u %zu %" SCNu64, &flags, &bytes, &cas);
    if (fields != 2 + with_cas || bytes > 2 * VALUE_BYTES_MAX) {
        known_wrong(w, OUT_OF_PLACE, r, e, "reply", line);
        return false;
    }
    char *value = wire_block(c, bytes);
    if (value == NULL) {
        known_wrong(w, OUT_OF_PLACE, r, e, "a value does not end where it should", NULL);
        return false;
    }
    world_count(w, OP_HIT);
    if (e->broken || !known_alive(r, e, w, NULL)) {
        return true;
    }
    known_check_value(r, e, w, value, bytes);
    if (!e->broken && flags != e->client_flags) {
        known_wrong(w, WRONG_FACT, r, e, "client flags", NULL);
    }
    if (!e->broken && with_cas) {
        known_learn_cas(r, e, w, cas);
    }
    if (!e->broken && (r->op == OP_GAT || r->op == OP_GATS)) {
        known_touched(r, e);
    }
    return true;
}

static bool is_value_of(const struct entry *e, const char *line) {
    return line != NULL && strncmp(line, "VALUE ", 6) == 0 && strncmp(line + 6, e->key, e->key_bytes) == 0 && line[6 + e->key_bytes] == ' ';
}

static bool hear_gets(const struct request *r, struct world *w, struct wire *c) {
    char *line = wire_line(c);
    for (unsigned i = 0; i < r->keys; i++) {
        struct entry *e = r->e[i];
        if (!is_value_of(e, line)) {
            known_gone(r, e, w);
            continue;
        }
        if (!hear_value(r, e, w, c, line)) {
            return false;
        }
        line = wire_line(c);
    }
    if (line == NULL || strcmp(line, "END") != 0) {
        known_wrong(w, OUT_OF_PLACE, r, r->e[0], "instead of END", line);
        return false;
    }
    return true;
}

/* --- mg --- */

static void check_marks(const struct request *r, struct entry *e, struct world *w, const struct meta_marks *m) {
    bool about = r->recache_s != 0 && !e->life.never && e->life.most_s - r->sent_s < r->recache_s;
    bool won = !e->won && (e->stale || about);
    if (m->won != won || m->lost != e->won || m->stale != e->stale) {
        char text[100];
        snprintf(text, sizeof text, "marks%s%s%s, not%s%s%s", m->won ? " W" : "", m->lost ? " Z" : "", m->stale ? " X" : "",
                 won ? " W" : "", e->won ? " Z" : "", e->stale ? " X" : "");
        known_wrong(w, WRONG_FACT, r, e, text, NULL);
        return;
    }
    e->won |= won;
}

/* Whether the reply is that of an item which N just made. N and R are not sent together, so an item that was there is won only if it is
 * stale, and the reply shows that, too. */
static bool was_made(const struct request *r, const char *line) {
    size_t n = strlen(line);
    return r->vivifies && n >= 4 && strcmp(line + n - 2, " W") == 0 && strcmp(line + n - 4, " X W") != 0;
}

static bool hear_mg(const struct request *r, struct world *w, struct wire *c, char *line) {
    struct entry *e = r->e[0];
    uint64_t size = 0;
    double ttl = 0;
    bool never = true, has_value = strncmp(line, "VA ", 3) == 0;
    uint32_t flags = 0;
    struct meta_marks marks = {0};
    if (strncmp(line, "EN", 2) == 0) {
        if (!meta_hear_flags(r, e, w, line + 2, "kO", false, &size, &ttl, &never, &flags, &marks)) {
            known_wrong(w, OUT_OF_PLACE, r, e, "reply", line);
        }
        world_count_if(w, OP_REFUSED, r->vivifies);
        known_gone(r, e, w);
        return true;
    }
    bool made = was_made(r, line);
    if (!e->broken && made) {
        known_vivified(e, r, w);
    } else if (!e->broken && !known_alive(r, e, w, line)) {
        made = false;
    }
    char copy[800];
    snprintf(copy, sizeof copy, "%s", line);
    char *at = copy + 2;
    size_t bytes = has_value ? strtoul(copy + 3, &at, 10) : 0;
    bool matches = r->compares && known_cas_matches(r, e);
    bool withheld = meta_shows(r, 'v') && !has_value;
    char *value = NULL;
    if (has_value && (bytes > 2 * VALUE_BYTES_MAX || (value = wire_block(c, bytes)) == NULL)) {
        known_wrong(w, OUT_OF_PLACE, r, e, "a value does not end where it should", copy);
        return false;
    }
    if (e->broken) {
        return true;
    }
    if (!meta_hear_flags(r, e, w, at, "cfhkOslt", true, &size, &ttl, &never, &flags, &marks)) {
        known_wrong(w, OUT_OF_PLACE, r, e, "reply", copy);
        return true;
    }
    matches |= r->compares && known_cas_matches(r, e); /* c may have shown it */
    world_count(w, OP_HIT);
    if (e->broken) {
        return true;
    }
    if (withheld != (matches && meta_shows(r, 'v')) || (has_value && !meta_shows(r, 'v'))) {
        known_wrong(w, WRONG_ANSWER, r, e, "whether the value is shown", copy);
        return true;
    }
    if (value != NULL) {
        known_check_value(r, e, w, value, bytes);
    }
    if (!e->broken && ((meta_shows(r, 's') && size != e->value_bytes) || (meta_shows(r, 'f') && flags != e->client_flags))) {
        known_wrong(w, WRONG_FACT, r, e, "size or flags", copy);
    }
    if (!e->broken && made) {
        e->won = true;
        return true;
    }
    if (!e->broken && r->touches) { /* T stands before R: R sees the new time */
        known_touched(r, e);
    }
    if (!e->broken) {
        check_marks(r, e, w, &marks);
    }
    if (!e->broken && meta_shows(r, 't') && r->exptime >= 0) {
        meta_check_ttl(r, e, w, ttl, never);
    }
    return true;
}

/* --- me, and all --- */

static void hear_me(const struct request *r, struct world *w, const char *line) {
    struct entry *e = r->e[0];
    long long exp;
    uint64_t cas;
    const char *facts = strstr(line, " exp=");
    if (strcmp(line, "EN") == 0) {
        known_gone(r, e, w);
    } else if (facts == NULL || sscanf(facts, " exp=%lld la=%*d cas=%" SCNu64, &exp, &cas) != 2) {
        known_wrong(w, OUT_OF_PLACE, r, e, "reply", line);
    } else if (!e->broken && known_alive(r, e, w, line)) {
        meta_check_ttl(r, e, w, (double)exp, exp == -1);
        if (!e->broken) {
            known_learn_cas(r, e, w, cas);
        }
    }
}

bool request_hear(const struct request *r, struct world *w, struct wire *c) {
    bool good = true;
    world_count(w, r->op);
    for (unsigned i = 0; i < r->keys; i++) {
        r->e[i]->pending--;
    }
    if (r->op >= OP_GET && r->op <= OP_GATS) {
        return hear_gets(r, w, c);
    }
    char *line = wire_line(c);
    if (line == NULL) {
        known_wrong(w, OUT_OF_PLACE, r, r->e[0], "no reply", NULL);
        return false;
    }
    if (r->silent && strcmp(line, "MN") == 0) {
        change_hear_silence(r, w);
        return true;
    }
    if (r->op == OP_MG) {
        good = hear_mg(r, w, c, line);
    } else if (r->op == OP_ME) {
        hear_me(r, w, line);
    } else {
        good = change_hear(r, w, c, line);
    }
    if (good && r->silent && ((line = wire_line(c)) == NULL || strcmp(line, "MN") != 0)) {
        known_wrong(w, OUT_OF_PLACE, r, r->e[0], "instead of MN", line);
        good = false;
    }
    return good;
}
