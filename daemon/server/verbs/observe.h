/* Events of requests for clients that watch: lookups, stores and deletes, with the connection of
 * the request. Nothing here is called while no client watches. While a group of requests runs,
 * `serving->watched` has the watched classes. */
#ifndef SLATE_SERVER_VERBS_OBSERVE_H
#define SLATE_SERVER_VERBS_OBSERVE_H
#include "server/verbs/verbs.h"
#include "watch/event.h"

static inline bool observed(const struct serving *sv, unsigned classes) {
    return __builtin_expect(sv->watched & classes, 0);
}

/* Called before each request while clients watch these classes of events. Sets `watched` to the
 * classes that they watch for the request's key. */
static inline void observe_begin(struct serving *sv, unsigned watched, const struct request *r) {
    sv->watched =
        verb_has_key(r->verb) ? event_classes_for(watched, r->key.ptr, r->key.len) : watched;
}
/* Called before a request runs: looks its key up, and reports the result as an event. A request
 * that will be refused causes no event. */
void observe_lookup(struct serving *, const struct request *);
/* Called after a store, successful or refused. `m`: NULL unless a meta command; `view`: the stored
 * item. */
void observe_store(struct serving *, const struct request *, const struct meta_flags *m,
                   enum cache_status, const struct cache_view *view);
/* Called after an increment has created its item. */
void observe_made(struct serving *, const struct request *, const struct cache_view *view);
/* Called after a delete of the item that observe_lookup found. */
void observe_delete(struct serving *, const struct request *, const struct meta_flags *m);
#endif
