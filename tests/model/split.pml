/* A bucket of the index is split while a reader looks for a key that moves to the new half (daemon/index/index.h:
 * index_find_from; bucket.c: bucket_split; chained.c: chained_split, likewise).
 *
 * claim: a key that is there all the time is not missed
 * without COUNT_AGAIN: index_find_from does not load the count once more after it noted the version
 * without RELEASE_OF_COUNT: the store of the count is relaxed
 * without COUNT_BEFORE_VERSION: the count is stored after the version's end
 * without FENCE_ON_CHECK: index_unchanged does not begin with a fence
 * without FENCE_ON_BEGIN: index_version_begin does not end with a fence */
#define THREADS 2
#define PLACES 5
#define COUNT 0 /* less 1 */
#define VERSION(bucket) (1 + (bucket))
#define SLOT(bucket) (3 + (bucket)) /* 1: the key */
#include "machine.pml"

inline store_count(t) {
#ifdef WITHOUT_RELEASE_OF_COUNT
    store(t, COUNT, 1)
#else
    store_release(t, COUNT, 1)
#endif
}

init {
    atomic {
        value[SLOT(0) * VALUES] = 1;
        run splitter();
        run reader()
    }
}
proctype splitter() {
    Regs;
    store(0, VERSION(0), 1);
#ifndef WITHOUT_FENCE_ON_BEGIN
    fence_release(0);
#endif
    store(0, SLOT(0), 0);
    store(0, SLOT(1), 1);
#ifdef WITHOUT_COUNT_BEFORE_VERSION
    store_release(0, VERSION(0), 2);
    store_count(0)
#else
    store_count(0);
    store_release(0, VERSION(0), 2)
#endif
}
proctype reader() {
    Regs; byte bucket, look, found;
    load_acquire(1, COUNT);
    do
    ::  bucket = got;
        load_acquire(1, VERSION(bucket));
        look = got & 254;
#ifdef WITHOUT_COUNT_AGAIN
        break
#else
        load_acquire(1, COUNT);
        if
        :: got == bucket -> break
        :: else
        fi
#endif
    od;
    load(1, SLOT(bucket));
    found = got;
#ifndef WITHOUT_FENCE_ON_CHECK
    fence_acquire(1);
#endif
    load(1, VERSION(bucket));
    assert(got != look || found == 1)
}
