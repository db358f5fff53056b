#include "cache/persist/file_state.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/failpoint.h"
#include "mem/load_classes.h"
#include "mem/settings_blob.h"

/* A cache with more memory has more partitions. A file has room for the largest number without an
 * option. */
enum { FRONT_PARTITIONS_LEAST = 1024 };

#define ANEW "; remove it to start with an empty cache"

static struct memory_head *file_head(const struct cache *c) { return c->arena->file->head; }

__attribute__((format(printf, 2, 3))) static bool file_refuse(const struct cache *c,
                                                              const char *format, ...) {
    va_list ap;
    const char *path = c->arena != NULL ? c->arena->file->path : c->config.memory_file->path;
    int len = snprintf(c->config.why, CACHE_WHY_BYTES, "%s: ", path);
    va_start(ap, format);
    vsnprintf(c->config.why + len, (size_t)(CACHE_WHY_BYTES - len), format, ap);
    va_end(ap);
    errno = EINVAL;
    return false;
}

/* --- CAS --- */

int cache_file(const struct cache *c) { return c->arena->file != NULL ? c->arena->file->fd : -1; }

static char *file_front(const struct cache *c) { return (char *)file_head(c) + MEMORY_FRONT_AT; }

/* Finds the highest CAS given. False: a partition's CAS is damaged. */
static bool file_cas_max(const struct cache *c, uint64_t *most) {
    const struct memory_head *h = file_head(c);
    uint32_t at, step, count, valid;
    if (!ordered_get_number(&h->cas_most, most) || !ordered_get(&h->cas_at, &at) ||
        !ordered_get(&h->cas_step, &step) || !ordered_get(&h->cas_count, &count) ||
        !ordered_get(&h->cas_valid, &valid)) {
        return false;
    }
    if (!valid) {
        return true;
    }
    if (count == 0 || at % sizeof(uint64_t) != 0 || step % sizeof(uint64_t) != 0 ||
        at < MEMORY_FRONT_AT || at + (uint64_t)step * count > c->arena->file->shape.table_at) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint64_t cas;
        memcpy(&cas, (const char *)h + at + (size_t)i * step, sizeof cas);
        if (cas % count != i) {
            /* each partition starts at its own number, and counts in steps of the number of
             * partitions */
            return false;
        }
        *most = cas > *most ? cas : *most;
    }
    return true;
}

void file_state_begin_cas(struct cache *c) {
    uint64_t most = 0;
    unsigned n = c->partition_count;
    if (c->arena->file != NULL) {
        file_cas_max(c, &most); /* file_state_open has checked the counts */
        most = (most + n - 1) / n * n;
        ordered_set_number(&file_head(c)->cas_most, most);
        ordered_set(&file_head(c)->cas_valid, false);
        failpoint_reach("cas_noted");
    }
    for (unsigned i = 0; i < n; i++) {
        c->partitions[i].cas = most + i;
        c->partitions[i].cas_step = n;
    }
    if (c->arena->file != NULL) {
        struct memory_head *h = file_head(c);
        ordered_set(&h->cas_at, (uint32_t)((char *)&c->partitions[0].cas - (char *)h));
        ordered_set(&h->cas_step, sizeof(struct partition));
        ordered_set(&h->cas_count, n);
        ordered_fence();
        failpoint_reach("cas_half_counted");
        ordered_set(&h->cas_valid, true);
    }
}

/* --- time --- */

void cache_save_time(struct cache *c) {
    if (c->arena->file != NULL) {
        uint32_t now_s = clock_now_s();
        ordered_set(&file_head(c)->unix_at_0, (uint32_t)clock_unix_at_0());
        ordered_advance(&file_head(c)->last_s, now_s);
    }
}

bool cache_save_settings(struct cache *c, const char *text, size_t bytes) {
    return c->arena->file == NULL || settings_blob_write(c->arena->file, text, bytes);
}

void file_state_save_flush(struct cache *c) {
    if (c->arena->file != NULL) {
        struct memory_head *h = file_head(c);
        struct item_clock clock = cache_item_clock(c);
        ordered_advance(&h->ahead_s,
                        clock.ahead_s); /* ahead_s only grows, so it is written first */
        ordered_fence();
        failpoint_reach("flush_half_noted");
        ordered_advance(&h->flushed, clock.flushed_s);
        ordered_set(&h->flush_at_s, atomic_load_explicit(&c->flush_at_s, memory_order_relaxed));
    }
}

static bool file_resume_clock(struct cache *c) {
    struct memory_head *h = file_head(c);
    uint32_t unix_at_0, last_s, flushed, ahead_s, flush_at_s;
    bool valid = ordered_get(&h->unix_at_0, &unix_at_0) && ordered_get(&h->last_s, &last_s) &&
                 ordered_get(&h->flushed, &flushed) && ordered_get(&h->ahead_s, &ahead_s) &&
                 ordered_get(&h->flush_at_s, &flush_at_s);
    if (valid) {
        clock_continue(unix_at_0, last_s);
        atomic_init(&c->item_clock, item_clock_pack((struct item_clock){flushed, ahead_s}));
        atomic_init(&c->flush_at_s, flush_at_s);
    }
    return valid;
}

/* --- policies --- */

static uint32_t file_name_hash(const char *name) { /* FNV-1a */
    uint32_t hash = 2166136261u;
    for (; *name != '\0'; name++) {
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    }
    return hash;
}

const struct evict_policy *file_state_policy(const struct cache *c, unsigned class_id) {
    uint32_t hash;
    if (!ordered_get(&file_head(c)->policies[class_id], &hash)) {
        return NULL;
    }
    const struct evict_policy *const *p = evict_policies;
    while (*p != NULL && file_name_hash((*p)->name) != hash) {
        p++;
    }
    return *p;
}

void file_state_save_policy(struct cache *c, unsigned class_id) {
    if (c->arena->file != NULL) {
        const struct evict_policy *policy =
            class_id == 0 ? atomic_load_explicit(&c->policy, memory_order_relaxed)
                          : policy_of(c, class_id);
        ordered_set(&file_head(c)->policies[class_id], file_name_hash(policy->name));
    }
}

/* --- the file --- */

static struct memory_request file_wish(const struct cache_config *cfg, size_t reserve_bytes,
                                       unsigned partitions) {
    unsigned front = partitions > FRONT_PARTITIONS_LEAST ? partitions : FRONT_PARTITIONS_LEAST;
    return (struct memory_request){
        .limit_bytes = cfg->limit_bytes,
        .reserve_bytes = reserve_bytes,
        .front_bytes = front * sizeof(struct partition),
        .store = cfg->store,
        .store_name = "slab",
        .chunk_bytes_max = cfg->slab.chunk_bytes_max,
    };
}

bool file_state_fits(const struct cache_config *cfg, unsigned partitions) {
    struct memory_request wish = file_wish(cfg, 0, partitions);
    return memory_file_fits(cfg->memory_file, &wish, cfg->why);
}

bool file_state_open(struct cache *c, size_t reserve_bytes, unsigned partitions) {
    const struct cache_config *cfg = &c->config;
    struct memory_request wish = file_wish(cfg, reserve_bytes, partitions);
    struct memory_file *f = cfg->memory_file;
    if (cfg->store != CACHE_STORE_SLAB) {
        return file_refuse(c, "only items of --store=slab can be kept in a memory file");
    }
    if (!memory_file_begin(f, &wish, cfg->why)) {
        return false;
    }
    bool old = !f->is_new;
    c->config.memory_file = NULL; /* the arena owns the file now */
    char path[MEMORY_WHY_BYTES / 2];
    snprintf(path, sizeof path, "%s", f->path);
    c->arena = arena_create_in(f, cfg->limit_bytes, cfg->huge_pages);
    if (c->arena == NULL) {
        snprintf(cfg->why, CACHE_WHY_BYTES, "%s: cannot map it: %s", path, strerror(errno));
        return false;
    }
    if (!old) {
        return true;
    }
    uint64_t most;
    if (!file_cas_max(c, &most) || !file_resume_clock(c)) {
        return file_refuse(c, "its head is damaged (counts)" ANEW);
    }
    /* from here on the file is changed */
    ordered_set(&file_head(c)->boot, memory_boot_hash());
    ordered_set(&file_head(c)->state, MEMORY_SERVING);
    failpoint_reach("file_opened");
    return true;
}

/* Loads the policy of the cache, and the policies of single classes. */
static void file_load_policies(struct cache *c) {
    const struct evict_policy *had = file_state_policy(c, SLAB_CLASS_NONE),
                              *policy = c->config.policy;
    policy = c->config.policy_of_file && had != NULL ? had : policy;
    atomic_init(&c->policy, policy);
    for (unsigned i = 0; i < SLAB_CLASSES_MAX; i++) {
        const struct evict_policy *own = file_state_policy(c, i);
        atomic_init(&c->class_policy[i], own != NULL && own != had ? own : policy);
    }
}

bool file_state_load_classes(struct cache *c) {
    uint32_t saved_hash;
    file_load_policies(c);
    c->sizes_wanted = !ordered_get(&file_head(c)->sizes_hash, &saved_hash) ||
                      saved_hash != size_list_hash(&c->slab->configured_sizes);
    return load_classes(c->slab) || file_refuse(c, "its head is damaged (classes)" ANEW);
}

bool cache_sizes_wanted(const struct cache *c, struct size_list *sizes) {
    if (c->sizes_wanted) {
        *sizes = c->slab->configured_sizes;
    }
    return c->sizes_wanted;
}

void cache_sizes_settled(struct cache *c) {
    c->sizes_wanted = false;
    if (c->arena->file != NULL) {
        ordered_set(&file_head(c)->sizes_hash, size_list_hash(&c->slab->configured_sizes));
    }
}

struct partition *file_state_make_partitions(struct cache *c, unsigned count) {
    size_t bytes = count * sizeof(struct partition);
    struct partition *made;
    if (c->arena->file == NULL) {
        made = aligned_alloc(64, bytes);
    } else {
        /* saves the highest CAS in the file's head: the partitions in the front, with their CAS,
         * are about to be cleared, and file_state_begin_cas starts them anew */
        uint64_t most;
        file_cas_max(c, &most);
        ordered_set_number(&file_head(c)->cas_most, most);
        ordered_set(&file_head(c)->cas_valid, false);
        made = (struct partition *)(void *)file_front(c);
    }
    return made != NULL ? memset(made, 0, bytes) : NULL;
}

void file_state_free_partitions(struct cache *c) {
    if (c->arena == NULL || c->arena->file == NULL) {
        free(c->partitions);
    }
}

void file_state_serve(struct cache *c) {
    if (c->arena->file == NULL) {
        return;
    }
    struct memory_head *h = file_head(c);
    if (!c->sizes_wanted) {
        cache_sizes_settled(c);
    }
    file_state_save_flush(c);
    for (unsigned i = 0; i < SLAB_CLASSES_MAX; i++) {
        file_state_save_policy(c, i);
    }
    cache_save_time(c);
    ordered_set(&h->boot, memory_boot_hash());
    ordered_set(&h->state, MEMORY_SERVING);
    failpoint_reach("about_to_serve");
    memory_file_complete(c->arena->file);
    c->file_complete = true;
}

void file_state_stop(struct cache *c) {
    if (!c->file_complete) {
        return;
    }
    uint64_t most;
    failpoint_reach("stopping");
    if (file_cas_max(c, &most)) {
        ordered_set_number(&file_head(c)->cas_most, most);
    }
    cache_save_time(c);
    memory_file_sync(c->arena->file);
    failpoint_reach("about_to_be_stopped");
    ordered_set(&file_head(c)->state, MEMORY_STOPPED);
    failpoint_reach("stopped");
    memory_file_sync(c->arena->file);
}
