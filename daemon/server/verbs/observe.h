/* What requests tell those who watch: lookups, stores and deletes, with the client's connection.
 * Nothing here is called while nobody watches; `serving->watched` says which classes are watched
 * while a group of requests runs. */
#ifndef SLATE_SERVER_VERBS_OBSERVE_H
#define SLATE_SERVER_VERBS_OBSERVE_H
#include "server/verbs/verbs.h"
#include "watch/event.h"

static inline bool observed(const struct serving *sv, unsigned classes) {
    return __builtin_expect(sv->watched & classes, 0);
}

/* Before each request while somebody watches these classes: some may be watched for other keys. */
static inline void observe_begin(struct serving *sv, unsigned watched, const struct request *r) {
    sv->watched =
        verb_has_key(r->verb) ? event_classes_for(watched, r->key.ptr, r->key.len) : watched;
}
/* Before a request runs: looks its key up and tells what it will find. Requests that will be
 * refused tell nothing. */
void observe_lookup(struct serving *, const struct request *);
/* After a store, refused ones too. `m` is NULL but for a meta command; `view` is of what was
 * stored. */
void observe_store(struct serving *, const struct request *, const struct meta_flags *m,
                   enum cache_status, const struct cache_view *view);
/* After an increment has made its item. */
void observe_made(struct serving *, const struct request *, const struct cache_view *view);
/* After a delete; the item is what observe_lookup saw. */
void observe_delete(struct serving *, const struct request *, const struct meta_flags *m);
#endif
