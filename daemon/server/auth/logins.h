/* Logins by SASL on threads of their own, because the library may wait for other processes.
 *
 * A session makes a struct login_step for each step of a dialogue, posts the step, and sleeps
 * until it is answered (base/future.h). The step owns the dialogue meanwhile; the session takes
 * the dialogue back with the answer. If the session ends first, the last holder of the step
 * destroys both. The client's bytes, which may hold a password, are wiped with the step.
 *
 * A hash of the client's address chooses one of LOGINS_LANES lanes. The threads serve the lanes
 * in turn, so that many clients of one address delay only their own lane. A step whose session
 * has ended is not run.
 *
 * Threading: a step belongs to the session until logins_post, then to a thread until it is
 * answered. Limits: LOGINS_THREADS steps run at once, LOGINS_WAITING more wait in all lanes.
 * Beyond that the oldest step of the longest lane is refused, or the new step if it belongs to
 * that lane. Cost: an allocation and a lock a step. */
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
    /* seconds after which a thread that still waits for the library is detached */
    LOGINS_STOP_S = 2,
    LOGIN_MECHANISM_BYTES = 32, /* longest name of a mechanism, as in memcached */
    LOGIN_USER_BYTES = 256,
};

enum login_verb { LOGIN_MECHANISMS, LOGIN_BEGIN, LOGIN_CONTINUE };

struct login_step {
    struct future       future;
    struct login_step *next; /* in its lane */
    /* NULL in the request: make a new dialogue. NULL in the answer: out of memory. */
    struct cyrus      *dialogue;
    enum login_verb    verb;
    char               mechanism[LOGIN_MECHANISM_BYTES + 1];
    /* the answer; to LOGIN_MECHANISMS: CYRUS_PROVEN and the names, or CYRUS_REFUSED */
    enum cyrus_verdict verdict;
    struct cyrus_text  text; /* owned by the dialogue */
    char               user[LOGIN_USER_BYTES]; /* cut to this size, without control bytes */
    size_t             n;
    char               bytes[]; /* of the client */
};

struct logins;

/* Called once in a process. NULL: *why is a constant with the reason. */
struct logins *logins_create(const char **why);
/* Answers waiting steps with a refusal. */
void           logins_destroy(struct logins **);

/* Takes the dialogue. NULL: out of memory, and the dialogue stays the caller's. */
struct login_step *login_step_create(struct cyrus *dialogue, enum login_verb, const char *mechanism,
                                     size_t mechanism_bytes, const char *bytes, size_t n);
void               login_step_release(struct login_step *);
/* Queues the step in the lane that `address_hash`, the hash of the client's address, chooses.
 * False: too many steps wait, and this one was refused. */
bool logins_post(struct logins *, struct login_step *, uint64_t address_hash);
#endif
