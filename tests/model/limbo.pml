/* The limbo of the heap store (daemon/cache/alloc/deferred_free.c) when another thread takes it over: READER, OWNER and HEIR of turns.pml.
 *
 * without FENCE_ON_ENTRY: turn_enter stores the number and goes on
 * without FENCE_ON_LOOK: turns_read does not begin with a fence
 * without RELEASE_ON_LEAVE: the store of turn_leave is relaxed
 * without ACQUIRE_ON_LOOK: the loads of turns_read and turn_lasts are relaxed */
#define HEIRS
#include "turns.pml"
