/* A machine with weakly ordered memory, after the C11 model as repaired by Lahav and others (RC11, PLDI 2017), in the operational form
 * of Kang and others ("A promising semantics", POPL 2017) without promises.
 *
 * A place in memory is a list of the values that were ever stored there. A thread has a view: of each place the oldest value that it
 * may still read. A relaxed load reads any value from there on. A release store carries the storer's view, and an acquire load that
 * reads it takes that view over; a relaxed load keeps it for a later acquire fence, and a release fence lends a view to later
 * relaxed stores. Sequentially consistent fences exchange views with one another. So any two accesses may pass each other that no
 * rule keeps in order, as on AArch64, but for one pair: a store does not pass a load that comes before it.
 *
 * Each place must be stored to in an order that the storers know, which the machine claims at each store. Memory that one thread
 * may only use after another has done with it is such a place: the claim fails when it does not know.
 *
 * A model defines PLACES and THREADS before it includes this, has `Regs;` in each proctype, and numbers its threads from 0. */
#ifndef VALUES
#define VALUES 6 /* that a place may get */
#endif

byte value[PLACES * VALUES];
byte lent[PLACES * VALUES * PLACES]; /* the view that a value carries */
byte last[PLACES];                   /* the newest value of a place */
byte now[THREADS * PLACES];          /* views: what a thread may read, */
byte ahead[THREADS * PLACES];        /* … will know with an acquire fence, */
byte behind[THREADS * PLACES];       /* … knew at its last release fence */
byte fences[PLACES];
byte locked;                         /* of one lock: the thread that has it, plus 1 */
byte lock_view[PLACES];

#define Regs byte at, p, got

#define NOW(t, l) now[(t) * PLACES + (l)]
#define AHEAD(t, l) ahead[(t) * PLACES + (l)]
#define BEHIND(t, l) behind[(t) * PLACES + (l)]
#define LENT(l, v, m) lent[((l) * VALUES + (v)) * PLACES + (m)]
#define JOIN(to, from) to = ((from) > (to) -> (from) : (to))
#define EACH(body) p = 0; do :: p < PLACES -> body; p++ :: else -> p = 0; break od

/* `got` becomes a value that thread t may read from place l. */
inline load(t, l) {
    atomic {
        at = NOW(t, l);
        do
        :: at < last[l] -> at++
        :: break
        od;
        true;
        d_step {
            got = value[(l) * VALUES + at];
            NOW(t, l) = at;
            JOIN(AHEAD(t, l), at);
            EACH(JOIN(AHEAD(t, p), LENT(l, at, p)));
            at = 0
        }
    }
}
inline load_acquire(t, l) {
    atomic {
        load(t, l);
        true;
        d_step {
            /* what was read is the newest of the view, so its loan is found again */
            EACH(JOIN(NOW(t, p), LENT(l, NOW(t, l), p)))
        }
    }
}
#define STORE(t, l, v, VIEW) \
    atomic { \
        true; \
        d_step { \
            assert(NOW(t, l) == last[l] && last[l] + 1 < VALUES); \
            last[l] = last[l] + 1; \
            value[(l) * VALUES + last[l]] = v; \
            EACH(LENT(l, last[l], p) = VIEW(t, p)); \
            LENT(l, last[l], l) = last[l]; \
            NOW(t, l) = last[l]; \
            JOIN(AHEAD(t, l), last[l]) \
        } \
    }
inline store(t, l, v) { STORE(t, l, v, BEHIND) }
inline store_release(t, l, v) { STORE(t, l, v, NOW) }
inline fence_acquire(t) { atomic { true; d_step { EACH(NOW(t, p) = AHEAD(t, p)) } } }
inline fence_release(t) { atomic { true; d_step { EACH(BEHIND(t, p) = NOW(t, p)) } } }
inline fence_seq_cst(t) {
    atomic {
        true;
        d_step {
            EACH(JOIN(NOW(t, p), AHEAD(t, p)); JOIN(NOW(t, p), fences[p]); fences[p] = NOW(t, p));
            EACH(JOIN(AHEAD(t, p), NOW(t, p)); BEHIND(t, p) = NOW(t, p))
        }
    }
}
inline lock_take(t) {
    atomic { locked == 0 -> locked = t + 1; d_step { EACH(JOIN(NOW(t, p), lock_view[p]); JOIN(AHEAD(t, p), NOW(t, p))) } }
}
inline lock_release(t) {
    atomic { true; d_step { assert(locked == t + 1); EACH(lock_view[p] = NOW(t, p)); locked = 0 } }
}
