/* What a session may do. A role holds what those before it hold. */
#ifndef SLATE_SERVER_AUTH_ROLE_H
#define SLATE_SERVER_AUTH_ROLE_H
#include <stdbool.h>
#include <stddef.h>

enum role {
    ROLE_NONE,  /* may only log in */
    ROLE_READ,  /* may read values and statistics */
    ROLE_WRITE, /* may store, delete and touch, too */
    ROLE_ADMIN, /* may do what concerns the server or all items at once, too */
};

const char *role_name(enum role); /* "none", "read", "write", "admin" */
/* Takes "read", "write" or "admin". False: the text is none of these. */
bool role_parse(const char *text, size_t text_bytes, enum role *);
#endif
