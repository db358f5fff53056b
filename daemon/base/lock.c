#include "base/lock.h"

/* defined also without asserts, so that code with asserts links with code without */
extern _Thread_local const struct lock *lock_owned;
_Thread_local const struct lock *lock_owned;
