/* The version of an index's bucket (daemon/index/index.h: index_look_at, index_version_begin, index_version_end, index_unchanged) and the
 * chunks it leads to (daemon/cache/items/link.c: link_init_item, link_insert_locked).
 *
 * A chunk holds a value of two words. WRITER stores a new value of the key in a free chunk, publishes it in place of the old one,
 * then writes over it where it lies. TAKER gets the old one's chunk by way of a lock and makes a draft of it. READER takes no lock.
 *
 * claim: an accepted read has both words of one value, the one that the version it noted stands for, and nothing of a draft
 * without ACQUIRE_ON_LOOK: the load of index_look_at is relaxed
 * without FENCE_ON_CHECK: index_unchanged does not begin with a fence
 * without FENCE_ON_BEGIN: index_version_begin does not end with a fence
 * without RELEASE_ON_END: the store of index_version_end is relaxed
 * without FENCE_ON_INIT: link_init_item does not begin with a fence */
#define THREADS 3
#define PLACES 6
#define VERSION 0
#define SLOT 1                                      /* 0: leads to the old chunk, 1: to the new one */
#define WORD(chunk, i) (2 + 2 * (chunk) + (i))
#define DRAFT 5
#include "machine.pml"

bool is_free; /* the old chunk; under the lock */

inline version_begin(t, number) {
    store(t, VERSION, number);
#ifndef WITHOUT_FENCE_ON_BEGIN
    fence_release(t)
#endif
}
inline version_end(t, number) {
#ifdef WITHOUT_RELEASE_ON_END
    store(t, VERSION, number)
#else
    store_release(t, VERSION, number)
#endif
}
inline link_init_item(t) {
#ifndef WITHOUT_FENCE_ON_INIT
    fence_release(t)
#endif
    skip
}

init {
    atomic {
        value[WORD(0, 0) * VALUES] = 1;
        value[WORD(0, 1) * VALUES] = 1;
        run writer();
        run taker();
        run reader()
    }
}
proctype writer() {
    Regs;
    link_init_item(0);
    store(0, WORD(1, 0), 2);
    store(0, WORD(1, 1), 2);
    lock_take(0);
    version_begin(0, 1);
    store(0, SLOT, 1);
    version_end(0, 2);
    is_free = true;
    lock_release(0);
    lock_take(0);
    version_begin(0, 3);
    store(0, WORD(1, 0), 3);
    store(0, WORD(1, 1), 3);
    version_end(0, 4);
    lock_release(0)
}
proctype taker() {
    Regs;
    lock_take(1);
    bool mine = is_free;
    lock_release(1);
    if
    :: mine ->
        link_init_item(1);
        store(1, WORD(0, 0), DRAFT);
        store(1, WORD(0, 1), DRAFT)
    :: else
    fi
}
proctype reader() {
    Regs; byte look, first, chunk;
#ifdef WITHOUT_ACQUIRE_ON_LOOK
    load(2, VERSION);
#else
    load_acquire(2, VERSION);
#endif
    look = got & 254;
    load(2, SLOT);
    chunk = got;
    load(2, WORD(chunk, 0));
    first = got;
    load(2, WORD(chunk, 1));
    chunk = got;
#ifndef WITHOUT_FENCE_ON_CHECK
    fence_acquire(2);
#endif
    load(2, VERSION);
    if
    :: got == look ->
        assert(first != DRAFT && chunk != DRAFT);
        assert(first == chunk && first == look / 2 + 1)
    :: else
    fi
}
