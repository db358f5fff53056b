#include "server/config/undo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void undo_fini(struct undo *u) {
    for (unsigned i = 0; i < u->count; i++) {
        free(u->steps[i]);
    }
}

/* A class that follows the cache's policy is stored as NULL, not as that policy: s3auto may
 * change the cache's policy before the undo. */
static void undo_copy_policies(const struct cache *cache,
                               const struct evict_policy *to[SLAB_CLASSES_MAX]) {
    const struct evict_policy *common = cache_policy(cache);
    for (unsigned id = SLAB_CLASS_NONE + 1; id < SLAB_CLASSES_MAX; id++) {
        const struct evict_policy *policy = cache_class_policy(cache, id);
        to[id] = policy != common ? policy : NULL;
    }
}

struct undo_step *undo_begin(struct cache *cache, const struct settings *was) {
    struct undo_step *step = calloc(1, sizeof *step);
    if (step) {
        step->was = *was;
        for (unsigned id = SLAB_CLASS_NONE + 1; id < SLAB_CLASSES_MAX; id++) {
            step->chunk_bytes[id] = slab_chunk_bytes(cache_slab(cache), id);
        }
        undo_copy_policies(cache, step->policy_was);
    }
    return step;
}

/* The time of flush_all cannot be undone: the items are gone. */
static bool undo_is_change(const struct undo_step *step, const struct setting *row) {
    return row->when == SETTING_RUNTIME && !setting_same(&step->was, &step->is, row) &&
           row->offset != offsetof(struct settings, oldest);
}

static bool undo_is_empty(const struct undo_step *step) {
    for (const struct setting *row = setting_table; row < setting_table + SETTING_ROWS; row++) {
        if (undo_is_change(step, row)) {
            return false;
        }
    }
    return memcmp(step->policy_was, step->policy_is, sizeof step->policy_was) == 0;
}

static void undo_add(struct undo *u, struct undo_step *taken) {
    if (u->count == UNDO_STEPS_MAX) {
        free(u->steps[0]);
        memmove(u->steps, u->steps + 1, sizeof u->steps - sizeof *u->steps);
        u->count--;
    }
    u->steps[u->count++] = taken;
}

void undo_commit(struct undo *u, const struct cache *cache, const struct settings *is,
                 struct undo_step *taken) {
    if (taken == NULL) {
        return;
    }
    taken->is = *is;
    undo_copy_policies(cache, taken->policy_is);
    if (undo_is_empty(taken)) {
        free(taken);
    } else {
        undo_add(u, taken);
    }
}

const struct undo_step *undo_last(const struct undo *u) {
    return u->count > 0 ? u->steps[u->count - 1] : NULL;
}

void undo_drop_last(struct undo *u) { free(u->steps[--u->count]); }

void undo_settings(const struct undo_step *step, struct settings *to) {
    for (const struct setting *row = setting_table; row < setting_table + SETTING_ROWS; row++) {
        if (undo_is_change(step, row)) {
            setting_copy(to, &step->was, row);
        }
    }
}

/* A change of the sizes may have given the id to other chunks since. */
static bool undo_has_class(const struct undo_step *step, struct cache *cache, unsigned id) {
    return slab_class_state(cache_slab(cache), id) != SLAB_CLASS_UNUSED &&
           slab_chunk_bytes(cache_slab(cache), id) == step->chunk_bytes[id];
}

unsigned undo_policies(const struct undo_step *step, struct cache *cache) {
    unsigned changed = 0;
    for (unsigned id = SLAB_CLASS_NONE + 1; id < SLAB_CLASSES_MAX; id++) {
        const struct evict_policy *was = step->policy_was[id];
        if (was != step->policy_is[id] && undo_has_class(step, cache, id)) {
            changed++;
            cache_set_policy(cache, was != NULL ? was : cache_policy(cache), id);
        }
    }
    return changed;
}

void undo_describe(const struct undo_step *step, struct cache *cache,
                   char text[UNDO_TEXT_BYTES]) {
    char value[SETTING_LIST_BYTES];
    unsigned classes = 0, last = 0, gone = 0;
    size_t used = 0;
    text[0] = '\0';
    for (const struct setting *row = setting_table;
         row < setting_table + SETTING_ROWS && used < UNDO_TEXT_BYTES; row++) {
        if (undo_is_change(step, row)) {
            setting_format(&step->was, row, value, sizeof value);
            used += (size_t)snprintf(text + used, UNDO_TEXT_BYTES - used, "%s%s is %.64s again",
                                     used ? ", " : "",
                                     row->stat   ? row->stat
                                     : row->name ? row->name
                                                 : row->field,
                                     value);
        }
    }
    for (unsigned id = SLAB_CLASS_NONE + 1; id < SLAB_CLASSES_MAX; id++) {
        if (step->policy_was[id] == step->policy_is[id]) {
            continue;
        }
        if (undo_has_class(step, cache, id)) {
            classes++;
            last = id;
        } else {
            gone++;
        }
    }
    if (classes == 1 && used < UNDO_TEXT_BYTES) {
        const struct evict_policy *was = step->policy_was[last];
        used += (size_t)snprintf(text + used, UNDO_TEXT_BYTES - used,
                                 "%spolicy of class %u is %s again", used ? ", " : "", last,
                                 was != NULL ? was->name : "the whole's");
    } else if (used == 0) {
        used = (size_t)snprintf(text, UNDO_TEXT_BYTES, "policies of %u classes are what they were",
                                classes);
    }
    if (gone > 0 && used < UNDO_TEXT_BYTES) {
        snprintf(text + used, UNDO_TEXT_BYTES - used,
                 ", but not of %u, whose chunk sizes have changed", gone);
    }
}
