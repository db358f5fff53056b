/* The users of the file of -Y, and the log's lines about those who were refused.
 *
 *     user:password           the user has the role of the listener
 *     user:password:read      … or this one: read, write or admin
 *     certificate NAME read   a client by TLS whose verified certificate has this name, which may
 *                             hold blanks and colons; it needs no login
 *
 * One user a line; an empty line and one that begins with # say nothing. A password may hold
 * colons: only a last field that is exactly a role is one. The user's name ends at the first
 * colon. Limits: USERS_MAX users and certificates, USER_TOKEN_BYTES for a name and its password,
 * USERS_FILE_BYTES for the file; a file beyond them is refused as a whole.
 *
 * Threading: any; one lock of its own, no other project lock held. Cost of a check: one comparison
 * of USER_TOKEN_BYTES a user, as long whether a user matches or not. */
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
    const char        *path; /* the file; NULL: nobody has to log in */
    struct lock        lock;
    struct user_table *table;
    uint32_t           refusal_logged_s; /* when the log had its last line about a refusal … */
    uint64_t           refusals_unlogged; /* … and how many were not logged since */
};

void users_init(struct users *, const char *path);
void users_fini(struct users *);

/* Reads the file, again if it was read before. False: all stays as it was, and `why`
 * (USERS_WHY_BYTES) holds a sentence that names file and line. */
bool users_load(struct users *, char *why);
/* The same of a text; `name` is what `why` calls it. */
bool users_load_text(struct users *, const char *name, const char *text, size_t n, char *why);

/* Whether a user has this name and password. Then *role is the one that the file gives the user, or
 * `otherwise` if it gives none. */
bool users_check(struct users *, const char *name, size_t name_bytes, const char *password,
                 size_t password_bytes, enum role otherwise, enum role *);

/* The role that the file gives a user who has proven the name elsewhere; `otherwise` if there is no
 * file, or it gives none. */
enum role users_role(struct users *, const char *name, size_t name_bytes, enum role otherwise);

/* Whether the file has a line for a certificate of exactly this name. Then *role is the line's. A
 * name that holds a zero byte has none. */
bool users_certificate(struct users *, const char *name, size_t name_bytes, enum role *);
/* Whether the file has any such line. Before the first session. */
bool users_have_certificates(const struct users *);

/* Logs that `who` was refused `what`: one line a second at most. A line also counts the refusals
 * since the line before that were not logged. */
void users_log_refusal(struct users *, const char *who, const char *what);
#endif
