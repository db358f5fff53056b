/* Turns and cache_quiesce (daemon/cache/pages/epoch.h: turn_enter, turn_leave, turns_read, turn_lasts; daemon/cache/pages/epoch_turn.c). The turns that a page
 * on the move waits for (daemon/cache/pages/page_move.c) are noted and awaited by the same functions, and its driver hands it over before it enters
 * its turn again.
 *
 * MOVER makes an item unreachable, quiesces, and uses its memory for something else. OTHER finds the item by a slot of the index, as any
 * reader does: it reads the memory, and notes a hit there. It may then quiesce too, for a page of its own, and goes on in the same
 * turn as a reader. For limbo.pml there are a READER, an OWNER who makes the item unreachable, leaves it in a limbo and is idle,
 * and an HEIR who takes it from there.
 *
 * claim: no thread uses the memory after it was given away, and what is done with it afterwards comes after all earlier use
 * without FENCE_ON_ENTRY: turn_enter stores the number and goes on
 * without FENCE_ON_RETURN: the same where cache_quiesce enters its turn again
 * without FENCE_ON_LOOK: turns_read does not begin with a fence
 * without RELEASE_ON_LEAVE: the store of turn_leave is relaxed */
#ifdef HEIRS
#define THREADS 3
#define PLACES 3
#else
#define THREADS 2
#define PLACES 4
#endif
#define SLOT 0   /* of the index: 0 leads to the item, 1 to nothing */
#define MEMORY 1 /* 0: the item's; 2: another's */
#define TURN(t) (2 + (t)) /* the numbers of those who look for references */
#include "machine.pml"

#ifdef WITHOUT_RELEASE_ON_LEAVE
#define store_to_leave(t, l, v) store(t, l, v)
#else
#define store_to_leave(t, l, v) store_release(t, l, v)
#endif
#ifdef WITHOUT_ACQUIRE_ON_LOOK
#define load_number(t, l) load(t, l)
#else
#define load_number(t, l) load_acquire(t, l)
#endif

inline enter(t, number) {
    number++;
    store_release(t, TURN(t), number);
#ifndef WITHOUT_FENCE_ON_ENTRY
    fence_seq_cst(t)
#endif
}
inline enter_again(t, number) {
    number++;
    store_release(t, TURN(t), number);
#ifndef WITHOUT_FENCE_ON_RETURN
    fence_seq_cst(t)
#endif
}
inline leave(t, number) {
    number++;
    store_to_leave(t, TURN(t), number)
}
inline look(t, other) {
#ifndef WITHOUT_FENCE_ON_LOOK
    fence_seq_cst(t);
#endif
    load_number(t, TURN(other))
}
inline quiesce(t, number, other, seen) {
    leave(t, number);
    look(t, other);
    seen = got;
    do
    :: seen % 2 == 0 -> break
    :: else -> load_number(t, TURN(other)); if :: got != seen -> break :: else fi
    od;
    enter_again(t, number)
}
inline use(t) {
    load(t, SLOT);
    if
    :: got == 0 ->
        load(t, MEMORY);
        assert(got != 2);
        store(t, MEMORY, 1) /* its hit */
    :: else
    fi
}
inline reuse(t) { store(t, MEMORY, 2) }
inline unlink(t) { store(t, SLOT, 1) }

#ifdef HEIRS
bool retired;

active proctype reader() {
    Regs; byte number;
    enter(0, number); use(0); leave(0, number)
}
active proctype owner() {
    Regs;
    unlink(1);
    lock_take(1); retired = true; lock_release(1)
}
active proctype heir() {
    Regs; byte seen;
    lock_take(2);
    bool mine = retired;
    retired = false;
    lock_release(2);
    if
    :: mine ->
        look(2, 0);
        seen = got;
        do
        :: seen % 2 == 0 -> break
        :: else -> load_number(2, TURN(0)); if :: got != seen -> break :: else fi
        od;
        reuse(2)
    :: else
    fi
}
#else
active proctype mover() {
    Regs; byte number, seen;
    enter(0, number); unlink(0); quiesce(0, number, 1, seen); reuse(0); leave(0, number)
}
active proctype other() {
    Regs; byte number, seen;
    enter(1, number);
    use(1);
    if
    :: quiesce(1, number, 0, seen); use(1)
    :: true
    fi;
    leave(1, number)
}
#endif
