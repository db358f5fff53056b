/* What a session may do. A role holds what those before it hold. */
#ifndef SLATE_SERVE_ACCESS_ROLE_H
#define SLATE_SERVE_ACCESS_ROLE_H
#include <stdbool.h>
#include <stddef.h>

enum role {
    ROLE_NONE,  /* nothing but to log in */
    ROLE_READ,  /* reading values and statistics */
    ROLE_WRITE, /* storing, deleting, touching */
    ROLE_ADMIN, /* what concerns the server, or all items at once */
};

const char *role_name(enum role); /* "none", "read", "write", "admin" */
/* read, write or admin, as a whole. False: none of these. */
bool role_parse(const char *text, size_t text_bytes, enum role *);
#endif
