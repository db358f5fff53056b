/* A session on its way to another process, where its listener and users may be others. */
#include <stdlib.h>
#include <string.h>

#include "base/image.h"
#include "serve/session/insides.h"

struct session_image {
    struct parser parser;
    bool          spoke, tried_login;
    uint8_t       role;
    uint32_t      user_bytes; /* 0: it has not logged in */
};

size_t session_image_bytes(void) { return sizeof(struct session_image); }

bool session_may_go(const struct session *s) {
    bool asks = s->need == SESSION_NEED_BYTES || s->need == SESSION_NEED_TURN ||
                s->need == SESSION_NEED_COMMAND || s->need == SESSION_NEED_ROOM;
    /* the dialogue of a session that has logged in stays, for another login */
    bool logs_in = s->dialogue != NULL && s->user == NULL;
    return asks && s->intake == NULL && s->more == NULL && s->swallow_bytes == 0 && !s->closing &&
           s->watcher == NULL && !logs_in;
}

void session_put(struct image *to, const struct session *s) {
    struct session_image i = {.parser = s->parser,
                              .spoke = s->spoke,
                              .tried_login = s->tried_login,
                              .role = s->role,
                              .user_bytes = s->user != NULL ? (uint32_t)strlen(s->user) : 0};
    image_put(to, &i, sizeof i);
    image_put(to, s->user, i.user_bytes);
}

/* The role that a user who logged in at the process before has now. False: there is no such user
 * any more. */
static bool login_again(struct session *s, struct server *server, const char *who, size_t bytes,
                        enum role before) {
    size_t addr_bytes = strlen(s->addr);
    enum role role = s->role_otherwise;
    if (bytes <= addr_bytes + 1) {
        return false;
    }
    size_t name_bytes = bytes - addr_bytes - 1;
    if (server->users.path != NULL &&
        !users_know(&server->users, who, name_bytes, s->role_otherwise, &role)) {
        return false;
    }
    role = server->users.path == NULL && before < role ? before : role;
    session_let_in(s, who, name_bytes, role);
    return true;
}

bool session_get(struct image *from, struct session *s, struct server *server) {
    struct session_image i;
    image_take(from, &i, sizeof i);
    const char *who = image_part(from, i.user_bytes);
    bool must_log_in = s->role == ROLE_NONE, packets = i.parser.mode == PARSER_PACKETS;
    if (who == NULL || (i.user_bytes > 0 && must_log_in &&
                        !login_again(s, server, who, i.user_bytes, (enum role)i.role))) {
        return false;
    }
    bool forbidden = packets ? s->protocol == LISTEN_PROTOCOL_TEXT
                             : i.spoke && s->protocol == LISTEN_PROTOCOL_BINARY;
    const char *all = server->settings->protocol;
    if (s->protocol == LISTEN_PROTOCOL_AS_SET) {
        forbidden = packets ? strcmp(all, "ascii") == 0 : i.spoke && strcmp(all, "binary") == 0;
    }
    bool logins = s->parser.logins;
    s->parser = i.parser;
    s->parser.logins = logins || server->logins != NULL;
    s->spoke = i.spoke;
    s->tried_login = i.tried_login;
    return !forbidden;
}
