#include "sample/curve_entries.h"

#include "base/random.h"

static uint32_t curve_entry_priority(const struct curve_entry *e) {
    return (uint32_t)(e->hash * RANDOM_ODD >> 32);
}

void curve_entries_sum_up(struct curve_entry *entries, uint32_t i) {
    struct curve_entry *e = &entries[i];
    e->sum = entries[e->older].sum + e->bytes + entries[e->newer].sum;
}

uint32_t curve_entries_join(struct curve_entry *entries, uint32_t a, uint32_t b) {
    if (a == 0 || b == 0) {
        return a + b;
    }
    if (curve_entry_priority(&entries[a]) > curve_entry_priority(&entries[b])) {
        entries[a].newer = curve_entries_join(entries, entries[a].newer, b);
        curve_entries_sum_up(entries, a);
        return a;
    }
    entries[b].older = curve_entries_join(entries, a, entries[b].older);
    curve_entries_sum_up(entries, b);
    return b;
}

uint32_t curve_entries_take_out(struct curve_entry *entries, uint32_t root, uint32_t which) {
    struct curve_entry *e = &entries[root];
    if (root == which) {
        return curve_entries_join(entries, e->older, e->newer);
    }
    if (entries[which].used < e->used) {
        e->older = curve_entries_take_out(entries, e->older, which);
    } else {
        e->newer = curve_entries_take_out(entries, e->newer, which);
    }
    curve_entries_sum_up(entries, root);
    return root;
}

uint64_t curve_entries_bytes_since(const struct curve_entry *entries, uint32_t root,
                                   uint32_t which) {
    uint64_t sum = 0, used = entries[which].used;
    while (root != 0 && root != which) {
        const struct curve_entry *e = &entries[root];
        if (used < e->used) {
            sum += e->bytes + entries[e->newer].sum;
            root = e->older;
        } else {
            root = e->newer;
        }
    }
    return sum + entries[entries[root].newer].sum;
}
