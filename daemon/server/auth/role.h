/* The rights of a session. A role includes the roles before it. */
#ifndef SLATE_SERVER_AUTH_ROLE_H
#define SLATE_SERVER_AUTH_ROLE_H
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum role {
    ROLE_NONE,  /* may only log in */
    ROLE_READ,  /* may read values and statistics */
    ROLE_WRITE, /* may store, delete and touch, too */
    ROLE_ADMIN, /* may change the server, or all items at once, too */
};

static inline const char *role_name(enum role role) {
    static const char *const names[] = {"none", "read", "write", "admin"};
    return names[role];
}

/* Parses "read", "write" or "admin". False: another text. */
static inline bool role_parse(const char *text, size_t text_bytes, enum role *role) {
    for (enum role r = ROLE_READ; r <= ROLE_ADMIN; r++) {
        if (strlen(role_name(r)) == text_bytes && memcmp(role_name(r), text, text_bytes) == 0) {
            *role = r;
            return true;
        }
    }
    return false;
}
#endif
