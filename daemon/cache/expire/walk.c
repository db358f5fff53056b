/* Walking all items, a chain of the index at a time. */
#include "cache/alloc/magazine.h"
#include "cache/items/item_value.h"
#include "cache/items/link.h"
#include "cache/partition.h"

int cache_walk_next(struct cache_thread *ct, struct cache_walk *walk, struct cache_walked *out,
                    int max) {
    struct cache *c = ct->cache;
    uint32_t refs[INDEX_CHAIN_MOST];
    unsigned count = 0;
    while (walk->partition < c->partition_count) {
        struct partition *p = &c->partitions[walk->partition];
        lock_take(&p->lock);
        if (!index_chain(&p->index, (uint32_t)walk->bucket, refs, INDEX_CHAIN_MOST, &count)) {
            lock_release(&p->lock);
            walk->partition++;
            walk->bucket = 0;
            continue;
        }
        walk->bucket++;
        int n = 0;
        for (unsigned i = 0; i < count; i++) {
            struct item *it = item_at(c, refs[i]);
            unsigned class_id = cache_item_class(c, it);
            COUNT_CLASS(ct, class_id, crawler_items_checked);
            walk->checked++;
            if (!cache_item_dead(c, it, ct->now_s)) {
                if (n < max) {
                    struct cache_walked *w = &out[n++];
                    w->key_len = item_copy_key(it, w->key);
                    cache_view_item(c, it, &w->view);
                    w->class_id = w->view.class_id;
                }
                continue;
            }
            COUNT_CLASS(ct, class_id, crawler_reclaimed);
            if (cache_item_expired(it, ct->now_s) && !node_fetched(&it->node)) {
                COUNT_CLASS(ct, class_id, expired_unfetched);
            }
            walk->reclaimed++;
            link_remove_locked(ct, p, item_hash(&it->node), it);
        }
        lock_release(&p->lock);
        magazine_settle(ct);
        return n;
    }
    return -1;
}
