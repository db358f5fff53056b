/* Logins by SASL, off the workers: the library may wait for other processes, and threads of this
 * room wait for the library.
 *
 * A session that has a step to take makes a struct login_step, asks, and sleeps until the step is
 * answered (base/future.h). A step owns its dialogue until then; the session takes it back
 * with the answer, or goes away, and the last holder of the step ends both. The client's bytes,
 * which may hold a password, are wiped with the step.
 *
 * A client's address chooses one of LOGINS_LANES lanes, from which the threads take a step in
 * turns: a crowd from one address keeps those of its own lane waiting, not all. A step whose
 * session went away is not taken.
 *
 * Threading: a step is its asker's until logins_post, then a thread's until it is answered. Limits:
 * LOGINS_THREADS steps at once, LOGINS_WAITING more in all lanes; then the oldest of the longest
 * lane is refused, or the new step where that is its own. Cost: an allocation and a lock a step. */
#ifndef SLATE_SERVER_AUTH_LOGINS_H
#define SLATE_SERVER_AUTH_LOGINS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/future.h"
#include "server/auth/cyrus.h"

enum {
    LOGINS_THREADS = 4,
    LOGINS_WAITING = 1024,
    LOGINS_LANES = 16,
    /* after so many seconds a thread that the library still holds is left to itself */
    LOGINS_STOP_S = 2,
    LOGIN_MECHANISM_BYTES = 32, /* longest name of a mechanism, as in memcached */
    LOGIN_USER_BYTES = 256,
};

enum login_verb { LOGIN_MECHANISMS, LOGIN_BEGIN, LOGIN_CONTINUE };

struct login_step {
    struct future       future;
    struct login_step *next; /* in its lane */
    /* NULL in the step: make a new one. NULL in the answer: there was no memory for one. */
    struct cyrus      *dialogue;
    enum login_verb    verb;
    char               mechanism[LOGIN_MECHANISM_BYTES + 1];
    /* the answer; LOGIN_MECHANISMS is answered by CYRUS_PROVEN and the names, or by
     * CYRUS_REFUSED */
    enum cyrus_verdict verdict;
    struct cyrus_text  text; /* the dialogue's */
    char               user[LOGIN_USER_BYTES]; /* cut to this size, without control bytes */
    size_t             n;
    char               bytes[]; /* the client's */
};

struct logins;

/* NULL: *why is a constant that tells the reason. Called once in a process. */
struct logins *logins_create(const char **why);
/* Steps that wait are answered with a refusal. */
void           logins_destroy(struct logins **);

/* Takes the dialogue. NULL: out of memory, and the dialogue stays the caller's. */
struct login_step *login_step_create(struct cyrus *dialogue, enum login_verb, const char *mechanism,
                                     size_t mechanism_bytes, const char *bytes, size_t n);
void               login_step_release(struct login_step *);
/* `address_hash` is that of the client's address, and chooses the lane. False: too many steps wait,
 * and this one was not taken. */
bool logins_post(struct logins *, struct login_step *, uint64_t address_hash);
#endif
