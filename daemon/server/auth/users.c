#include "server/auth/users.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

/* A token is name, separator and password. A name holds no colon, so two pairs never give the same
 * token. */
enum { SEPARATOR = ':' };

/* Begins the line of a certificate. The name of a user of the text protocol has no blank. */
static const char certificate_word[] = "certificate ";

struct user {
    char      token[USER_TOKEN_BYTES]; /* padded with zeros; the name alone for a certificate */
    bool      is_certificate;
    enum role role; /* ROLE_NONE: the user has the listener's role */
};

struct user_table {
    unsigned    count;
    struct user user[USERS_MAX];
};

void users_init(struct users *u, const char *path) {
    memset(u, 0, sizeof *u);
    lock_init(&u->lock);
    u->path = path;
}

static void users_drop_table(struct user_table *table) {
    if (table != NULL) {
        OPENSSL_cleanse(table, sizeof *table);
        free(table);
    }
}

void users_fini(struct users *u) {
    users_drop_table(u->table);
    u->table = NULL;
    lock_fini(&u->lock);
}

/* --- reading the file --- */

/* Finds the role at the end of a line. Returns the length of the line without the role and its
 * colon. */
static size_t user_line_role_at(const char *line, size_t n, enum role *role) {
    size_t at = n;
    while (at > 0 && line[at - 1] != ':') {
        at--;
    }
    const char *first = memchr(line, ':', n);
    bool third = at > 0 && first != line + at - 1;
    return third && role_parse(line + at, n - at, role) ? at - 1 : n;
}

/* Cuts a certificate's line to its name. False: the name or the role is missing. */
static bool user_line_cut_certificate(const char **line, size_t *n, enum role *role) {
    const char *name = *line + sizeof certificate_word - 1, *end = *line + *n;
    while (name < end && *name == ' ') {
        name++;
    }
    const char *last = memrchr(name, ' ', (size_t)(end - name));
    if (last == NULL || !role_parse(last + 1, (size_t)(end - last - 1), role)) {
        return false;
    }
    while (last[-1] == ' ') {
        last--;
    }
    *line = name;
    *n = (size_t)(last - name);
    return true;
}

/* Adds the user of a line. Returns NULL, or the error in the line. */
static const char *users_read_line(struct user_table *t, const char *line, size_t n) {
    enum role role = ROLE_NONE;
    if (n == 0 || line[0] == '#') {
        return NULL;
    }
    const size_t word = sizeof certificate_word - 1;
    bool         is_certificate = n > word && memcmp(line, certificate_word, word) == 0;
    const char  *colon = memchr(line, ':', n);
    if (is_certificate && !user_line_cut_certificate(&line, &n, &role)) {
        return "a certificate's line is: certificate NAME, and read, write or admin";
    }
    if (!is_certificate && (colon == NULL || colon == line)) {
        return "it does not begin with user:password";
    }
    n = is_certificate ? n : user_line_role_at(line, n, &role);
    if (n > USER_TOKEN_BYTES) {
        return is_certificate ? "its name is too long" : "its name and password are too long";
    }
    if (memchr(line, '\0', n) != NULL) {
        return "it holds a zero byte";
    }
    if (t->count == USERS_MAX) {
        return "there are more users before it than may be";
    }
    struct user *user = &t->user[t->count++];
    memcpy(user->token, line, n);
    user->is_certificate = is_certificate;
    user->role = role;
    return NULL;
}

static bool users_read_text(const char *name, struct user_table *t, const char *text, size_t n,
                            char *why) {
    unsigned number = 1;
    for (const char *at = text, *end = text + n; at < end; number++) {
        const char *feed = memchr(at, '\n', (size_t)(end - at));
        size_t      line = (size_t)((feed != NULL ? feed : end) - at);
        const char *wrong = users_read_line(t, at, line - (line > 0 && at[line - 1] == '\r'));
        if (wrong != NULL) {
            snprintf(why, USERS_WHY_BYTES, "%.300s, line %u: %s", name, number, wrong);
            return false;
        }
        at += line + (feed != NULL);
    }
    if (t->count == 0) {
        snprintf(why, USERS_WHY_BYTES, "%.300s names no user", name);
    }
    return t->count > 0;
}

bool users_load_text(struct users *u, const char *name, const char *text, size_t n, char *why) {
    struct user_table *table = calloc(1, sizeof *table);
    if (table == NULL) {
        snprintf(why, USERS_WHY_BYTES, "out of memory");
        return false;
    }
    if (!users_read_text(name, table, text, n, why)) {
        users_drop_table(table);
        return false;
    }
    log_info("%u users from %s", table->count, name);
    lock_take(&u->lock);
    struct user_table *old = u->table;
    u->table = table;
    lock_release(&u->lock);
    users_drop_table(old);
    return true;
}

/* Returns the number of bytes read, or -1 and errno. O_NONBLOCK: opening a pipe without a writer
 * must not wait. */
static ssize_t users_read_file(const char *path, char *text, size_t room, bool *others_read) {
    struct stat facts;
    size_t      used = 0;
    ssize_t     got = -1;
    int         fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return -1;
    }
    if (fstat(fd, &facts) == 0) {
        *others_read = (facts.st_mode & S_IROTH) != 0;
        while ((got = read(fd, text + used, room - used)) > 0 || (got < 0 && errno == EINTR)) {
            used += got > 0 ? (size_t)got : 0;
        }
    }
    int saved = errno;
    close(fd);
    errno = saved;
    return got < 0 ? -1 : (ssize_t)used;
}

bool users_load(struct users *u, char *why) {
    bool    loaded = false, others_read = false;
    char   *text = malloc(USERS_FILE_BYTES + 1);
    ssize_t n = text ? users_read_file(u->path, text, USERS_FILE_BYTES + 1, &others_read) : -1;
    if (n < 0) {
        snprintf(why, USERS_WHY_BYTES, "cannot read %.300s: %s", u->path, strerror(errno));
    } else if (n > USERS_FILE_BYTES) {
        snprintf(why, USERS_WHY_BYTES, "%.300s has more than %d bytes", u->path, USERS_FILE_BYTES);
    } else {
        loaded = users_load_text(u, u->path, text, (size_t)n, why);
    }
    if (text != NULL) {
        OPENSSL_cleanse(text, USERS_FILE_BYTES + 1);
        free(text);
    }
    if (loaded && others_read) {
        log_warn("every user of this machine may read the passwords in %s", u->path);
    }
    return loaded;
}

/* --- logging in --- */

bool users_check(struct users *u, const char *name, size_t name_bytes, const char *password,
                 size_t password_bytes, enum role otherwise, enum role *role) {
    char token[USER_TOKEN_BYTES] = "";
    bool known = false;
    if (name_bytes + 1 + password_bytes > sizeof token ||
        memchr(name, SEPARATOR, name_bytes) != NULL ||
        memchr(password, '\0', password_bytes) != NULL) {
        return false;
    }
    memcpy(token, name, name_bytes);
    token[name_bytes] = SEPARATOR;
    memcpy(token + name_bytes + 1, password, password_bytes);
    lock_take(&u->lock);
    for (unsigned i = 0; i < u->table->count; i++) {
        const struct user *user = &u->table->user[i];
        if (!user->is_certificate && CRYPTO_memcmp(token, user->token, sizeof token) == 0) {
            known = true;
            *role = user->role != ROLE_NONE ? user->role : otherwise;
        }
    }
    lock_release(&u->lock);
    OPENSSL_cleanse(token, sizeof token);
    return known;
}

static bool user_has_name(const struct user *user, const char *name, size_t n) {
    return !user->is_certificate && n < sizeof user->token && memcmp(user->token, name, n) == 0 &&
           user->token[n] == SEPARATOR && memchr(name, SEPARATOR, n) == NULL;
}

bool users_certificate(struct users *u, const char *name, size_t name_bytes, enum role *role) {
    char token[USER_TOKEN_BYTES] = "";
    bool known = false;
    if (name_bytes > sizeof token || memchr(name, '\0', name_bytes) != NULL) {
        return false;
    }
    memcpy(token, name, name_bytes);
    lock_take(&u->lock);
    for (unsigned i = 0; u->table != NULL && i < u->table->count && !known; i++) {
        const struct user *user = &u->table->user[i];
        known = user->is_certificate && memcmp(token, user->token, sizeof token) == 0;
        *role = user->role;
    }
    lock_release(&u->lock);
    return known;
}

enum role users_role(struct users *u, const char *name, size_t name_bytes, enum role otherwise) {
    enum role role = otherwise;
    lock_take(&u->lock);
    for (unsigned i = 0; u->table != NULL && i < u->table->count; i++) {
        const struct user *user = &u->table->user[i];
        if (user->role != ROLE_NONE && user_has_name(user, name, name_bytes)) {
            role = user->role;
        }
    }
    lock_release(&u->lock);
    return role;
}

bool users_have_certificates(const struct users *u) {
    for (unsigned i = 0; u->table != NULL && i < u->table->count; i++) {
        if (u->table->user[i].is_certificate) {
            return true;
        }
    }
    return false;
}

void users_log_refusal(struct users *u, const char *who, const char *what) {
    uint32_t now_s = clock_now_s();
    lock_take(&u->lock);
    bool     logs = u->refusal_logged_s != now_s;
    uint64_t unlogged = u->refusals_unlogged;
    u->refusals_unlogged = logs ? 0 : unlogged + 1;
    u->refusal_logged_s = now_s;
    lock_release(&u->lock);
    if (logs && unlogged > 0) {
        log_warn("%s was refused: %s (and %" PRIu64 " refusals before)", who, what, unlogged);
    } else if (logs) {
        log_warn("%s was refused: %s", who, what);
    }
}
