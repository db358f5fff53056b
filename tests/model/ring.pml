/* The rings of events and of sampled keys (daemon/watch/ring.c): a writer that drops what has no room, and a reader.
 *
 * The ring has two places. The reader stores a 0 where it has read, so that the machine sees whether the writer knows of it.
 *
 * claim: records come whole, once and in order, and none is written over that is not read yet
 * without RELEASE_OF_PUBLISH: the store of ring_publish is relaxed
 * without ACQUIRE_OF_PEEK: the load of ring_peek is relaxed
 * without RELEASE_OF_POP: the store of ring_pop is relaxed
 * without ACQUIRE_OF_RESERVE: the load of ring_reserve is relaxed */
#define THREADS 2
#define PLACES 4
#define HEAD 0
#define TAIL 1
#define RECORD(n) (2 + (n) % 2)
#define RECORDS 4
#include "machine.pml"

active proctype writer() {
    Regs; byte head, i;
    do
    :: i < RECORDS ->
        i++;
#ifdef WITHOUT_ACQUIRE_OF_RESERVE
        load(0, TAIL);
#else
        load_acquire(0, TAIL);
#endif
        if
        :: head - got < 2 ->
            store(0, RECORD(head), head + 1);
            head++;
#ifdef WITHOUT_RELEASE_OF_PUBLISH
            store(0, HEAD, head)
#else
            store_release(0, HEAD, head)
#endif
        :: else
        fi
    :: else -> break
    od
}
active proctype reader() {
    Regs; byte tail, i;
    do
    :: i < RECORDS ->
        i++;
#ifdef WITHOUT_ACQUIRE_OF_PEEK
        load(1, HEAD);
#else
        load_acquire(1, HEAD);
#endif
        if
        :: got != tail ->
            load(1, RECORD(tail));
            assert(got == tail + 1);
            store(1, RECORD(tail), 0);
            tail++;
#ifdef WITHOUT_RELEASE_OF_POP
            store(1, TAIL, tail)
#else
            store_release(1, TAIL, tail)
#endif
        :: else
        fi
    :: else -> break
    od
}
