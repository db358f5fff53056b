/* Cyrus SASL, of which the rest of slated knows only this: a dialogue that proves who a client is.
 *
 * The library reads its settings as it does for memcached: the application is `memcached`, so that
 * /etc/sasl2/memcached.conf, SASL_CONF_PATH and the user database of a memcached stay as they are.
 * A dialogue ends in a name or in a refusal. It never agrees on a security layer, because the
 * binary protocol has none (TLS does that). Nobody is let in without a name: ANONYMOUS is not
 * offered, which the library does where its settings do not list mechanisms.
 *
 * Threading: cyrus_start and cyrus_stop on one thread, before and after all else; a dialogue is one
 * thread's at a time. Cost: the library may ask other processes, and wait for their answer as long
 * as they take: it is never called on a worker (server/auth/logins.h). */
#ifndef SLATE_SERVER_AUTH_CYRUS_H
#define SLATE_SERVER_AUTH_CYRUS_H
#include <stdbool.h>
#include <stddef.h>

struct cyrus; /* a dialogue */

enum cyrus_verdict {
    CYRUS_REFUSED,
    CYRUS_CONTINUES, /* the client has to answer a challenge */
    CYRUS_PROVEN,
};

/* Bytes of the library's. They are valid until the dialogue's next call. */
struct cyrus_text {
    const char *bytes;
    size_t      n;
};

/* NULL, or why the library cannot be had: a constant. */
const char *cyrus_start(void);
void        cyrus_stop(void);

struct cyrus *cyrus_create(void); /* NULL: out of memory */
void          cyrus_destroy(struct cyrus **);

/* The names of the ways to log in, with a blank between them. False: there are none. */
bool cyrus_mechanisms(struct cyrus *, struct cyrus_text *);
/* The client's first words in the way it chose, and those that follow. `challenge` is for the
 * client while the dialogue goes on. */
enum cyrus_verdict cyrus_begin(struct cyrus *, const char *mechanism, const char *bytes, size_t n,
                               struct cyrus_text *challenge);
enum cyrus_verdict cyrus_continue(struct cyrus *, const char *bytes, size_t n,
                                  struct cyrus_text *challenge);
/* After CYRUS_PROVEN: who the client is, as far as there is room, with `?` for control bytes; or
 * "". */
void cyrus_user(const struct cyrus *, char *name, size_t room);
#endif
