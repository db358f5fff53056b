#include "base/lock.h"

/* Always there, so that code with asserts links with code without. */
extern _Thread_local const struct lock *lock_owned;
_Thread_local const struct lock *lock_owned;
