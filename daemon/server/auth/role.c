#include "server/auth/role.h"

#include <string.h>

static const char *const role_names[] = {"none", "read", "write", "admin"};

const char *role_name(enum role role) { return role_names[role]; }

bool role_parse(const char *text, size_t text_bytes, enum role *role) {
    for (enum role r = ROLE_READ; r <= ROLE_ADMIN; r++) {
        if (strlen(role_names[r]) == text_bytes && memcmp(role_names[r], text, text_bytes) == 0) {
            *role = r;
            return true;
        }
    }
    return false;
}
