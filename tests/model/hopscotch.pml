/* A line of the index `hopscotch` is split while a reader looks for a key that lies in a line that follows (daemon/index/hopscotch.c:
 * hopscotch_split, move_key, hopscotch_find_behind; index.h: index_find_from). A version has the line's map below it: which lines that follow have keys of its own.
 *
 * The key's own line is OLD, and NEW once that is split; it lies AWAY, as the map of its own line tells. The split gives NEW its map, tells the count, and
 * takes the map from OLD. Then the key comes home, from AWAY to NEW. Last it is removed, and its memory used for something else.
 *
 * claim: a key that is there is not missed, and an accepted look that found it reads its memory as long as that is its own
 * without COUNT_AGAIN: index_find_from does not load the count once more after it noted the version
 * without RELEASE_OF_COUNT: the store of the count is relaxed
 * without COUNT_BEFORE_VERSION: the count is stored after the version's end
 * without MAP_WITH_VERSION: the map of NEW is told after the count, within a change
 * without CHANGE_OF_OWN: move_key does not change the version of the key's own line
 * without CHANGE_OF_FROM: move_key does not change the version of the line that the key leaves
 * without ACQUIRE_ON_LOOK: the loads of index_look_at are relaxed
 * without RELEASE_ON_END: the store of index_version_end is relaxed
 * without FENCE_ON_CHECK: index_unchanged does not begin with a fence
 * without FENCE_ON_BEGIN: index_version_begin does not end with a fence */
#define THREADS 2
#define PLACES 7
#define VALUES 8
#define COUNT 0           /* 1: OLD is split */
#define OLD 0
#define NEW 1
#define AWAY 2
#define VERSION(line) (1 + (line))
#define SLOT_OF_NEW 4     /* 1: the key */
#define SLOT_OF_AWAY 5
#define MEMORY 6          /* 0: the key's; 1: another's */
#define MAP 64            /* beside a version: a key lies AWAY */
#include "machine.pml"

inline begin(line, version) {
    store(0, VERSION(line), version);
#ifndef WITHOUT_FENCE_ON_BEGIN
    fence_release(0)
#endif
}
inline end(line, version) {
#ifdef WITHOUT_RELEASE_ON_END
    store(0, VERSION(line), version)
#else
    store_release(0, VERSION(line), version)
#endif
}
inline look_at(line) {
#ifdef WITHOUT_ACQUIRE_ON_LOOK
    load(1, VERSION(line))
#else
    load_acquire(1, VERSION(line))
#endif
}
inline tell_count() {
#ifdef WITHOUT_RELEASE_OF_COUNT
    store(0, COUNT, 1)
#else
    store_release(0, COUNT, 1)
#endif
}

bool removed; /* or about to be */

init {
    atomic {
        value[VERSION(OLD) * VALUES] = MAP;
        value[SLOT_OF_AWAY * VALUES] = 1;
        run writer();
        run reader()
    }
}
proctype writer() {
    Regs;
    /* the split */
#ifdef WITHOUT_MAP_WITH_VERSION
    tell_count();
    store(0, VERSION(NEW), MAP);
#else
    store(0, VERSION(NEW), MAP);
#ifndef WITHOUT_COUNT_BEFORE_VERSION
    tell_count();
#endif
#endif
    begin(OLD, MAP + 1);
    store(0, VERSION(OLD), 1);
    end(OLD, 2);
#ifdef WITHOUT_COUNT_BEFORE_VERSION
    tell_count();
#endif
    /* the key comes home */
#ifndef WITHOUT_CHANGE_OF_OWN
    begin(NEW, MAP + 1);
#endif
#ifndef WITHOUT_CHANGE_OF_FROM
    begin(AWAY, 1);
#endif
    store(0, SLOT_OF_NEW, 1);
    store(0, SLOT_OF_AWAY, 0);
#ifdef WITHOUT_CHANGE_OF_OWN
    store(0, VERSION(NEW), 0);
#else
    store(0, VERSION(NEW), 1);
    end(NEW, 2);
#endif
#ifndef WITHOUT_CHANGE_OF_FROM
    end(AWAY, 2);
#endif
    /* it is removed */
    removed = true;
    begin(NEW, 3);
    store(0, SLOT_OF_NEW, 0);
    end(NEW, 4);
    fence_release(0);
    store(0, MEMORY, 1)
}
proctype reader() {
    Regs; byte count, line, look, found, its;
    load_acquire(1, COUNT);
    do
    ::  count = got;
        line = count; /* OLD or NEW */
        look_at(line);
        look = got & 254;
#ifdef WITHOUT_COUNT_AGAIN
        break
#else
        load_acquire(1, COUNT);
        if
        :: got == count -> break
        :: else
        fi
#endif
    od;
    if
    :: line == NEW -> load(1, SLOT_OF_NEW); found = got
    :: else /* where it never lies */
    fi;
    if
    :: !found && look >= MAP ->
        look_at(AWAY);
        its = got & 254;
        load(1, SLOT_OF_AWAY);
        if
        :: got == 1 -> found = 1; line = AWAY; look = its
        :: else
        fi
    :: else
    fi;
    its = 0;
    if
    :: found -> load(1, MEMORY); its = got
    :: else
    fi;
#ifndef WITHOUT_FENCE_ON_CHECK
    fence_acquire(1);
#endif
    load(1, VERSION(line));
    assert(got != look || its == 0);
    assert(got != look || found || removed)
}
