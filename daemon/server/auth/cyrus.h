/* Cyrus SASL behind one type: a dialogue that proves the name of a client.
 *
 * The library reads its settings as for memcached: the application's name is `memcached`, so
 * that /etc/sasl2/memcached.conf, SASL_CONF_PATH and memcached's database of users work
 * unchanged. A dialogue ends with a name or with a refusal. A dialogue never agrees on a
 * security layer, because the binary protocol has none (TLS encrypts). No client gets in without
 * a name: ANONYMOUS is not offered, although the library would offer it by default.
 *
 * Threading: cyrus_start and cyrus_stop on one thread, first and last; a dialogue on one thread
 * at a time. Cost: the library may wait for other processes, without a bound. So no worker calls
 * it (server/auth/logins.h). */
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

/* Bytes that the library owns, valid until the dialogue's next call. */
struct cyrus_text {
    const char *bytes;
    size_t      n;
};

/* Starts the library. Returns NULL, or a constant with the reason of a failure. */
const char *cyrus_start(void);
void        cyrus_stop(void);

struct cyrus *cyrus_create(void); /* NULL: out of memory */
void          cyrus_destroy(struct cyrus **);

/* The names of the mechanisms, separated by blanks. False: there are none. */
bool cyrus_mechanisms(struct cyrus *, struct cyrus_text *);
/* Passes the client's first bytes in the mechanism that it chose (cyrus_begin), and later bytes
 * (cyrus_continue). After CYRUS_CONTINUES `challenge` is to be sent to the client. */
enum cyrus_verdict cyrus_begin(struct cyrus *, const char *mechanism, const char *bytes, size_t n,
                               struct cyrus_text *challenge);
enum cyrus_verdict cyrus_continue(struct cyrus *, const char *bytes, size_t n,
                                  struct cyrus_text *challenge);
/* After CYRUS_PROVEN: the name of the client, cut to the room, with `?` for control bytes; "" if
 * unknown. */
void cyrus_user(const struct cyrus *, char *name, size_t room);
#endif
