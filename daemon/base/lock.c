#include "base/lock.h"

#ifndef NDEBUG
_Thread_local const struct lock *lock_owned;
#else
typedef int lock_has_no_code_without_asserts;
#endif
