/* The users of the file of -Y, and log lines about refused requests.
 *
 *     user:password           the user has the role of the listener
 *     user:password:read      the user has this role: read, write or admin
 *     certificate NAME read   a TLS client whose verified certificate has this name, which may
 *                             hold blanks and colons; such a client needs no login
 *
 * One user a line; empty lines and lines that begin with # are ignored. The user's name ends at
 * the first colon. A password may hold colons: the last field is a role only if it is exactly
 * one. Limits: USERS_MAX users and certificates, USER_TOKEN_BYTES for a name and its password,
 * USERS_FILE_BYTES for the file; a file beyond a limit is refused as a whole.
 *
 * Threading: any; own lock, with no other project lock held. Cost of a check: one comparison of
 * USER_TOKEN_BYTES a user, in constant time. */
#ifndef SLATE_SERVER_AUTH_USERS_H
#define SLATE_SERVER_AUTH_USERS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/lock.h"
#include "server/auth/role.h"

enum {
    USERS_MAX = 64,
    USER_TOKEN_BYTES = 256, /* a name, a separator and a password */
    USERS_FILE_BYTES = 64 * 1024,
    USERS_WHY_BYTES = 512,
};

struct user_table;

struct users {
    const char        *path; /* the file; NULL: no client has to log in */
    struct lock        lock;
    struct user_table *table;
    uint32_t           refusal_logged_s; /* when a refusal was logged last */
    uint64_t           refusals_unlogged; /* refusals since then that were not logged */
};

void users_init(struct users *, const char *path);
void users_fini(struct users *);

/* Reads the file, at the start or again. False: nothing changed, and `why` (USERS_WHY_BYTES) holds
 * a sentence with file and line. */
bool users_load(struct users *, char *why);
/* The same for a text, which `why` calls `name`. */
bool users_load_text(struct users *, const char *name, const char *text, size_t n, char *why);

/* Whether a user has this name and password. If so, *role is the role in the file, or `otherwise`
 * if the line has none. */
bool users_check(struct users *, const char *name, size_t name_bytes, const char *password,
                 size_t password_bytes, enum role otherwise, enum role *);

/* The role in the file of a user whose name was proven elsewhere; `otherwise` if the file has
 * none. */
enum role users_role(struct users *, const char *name, size_t name_bytes, enum role otherwise);

/* Whether the file has a line for a certificate of exactly this name. If so, *role is the role in
 * the line. A name with a zero byte never matches. */
bool users_certificate(struct users *, const char *name, size_t name_bytes, enum role *);
/* Whether the file has lines for certificates. Called before the first session. */
bool users_have_certificates(const struct users *);

/* Logs that `who` was refused `what`, at most one line a second. A line also counts the refusals
 * since the last line. */
void users_log_refusal(struct users *, const char *who, const char *what);
#endif
