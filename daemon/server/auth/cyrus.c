#include "server/auth/cyrus.h"

#include <ctype.h>
#include <errno.h>
#include <openssl/crypto.h>
#include <pthread.h>
#include <sasl/sasl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/input.h"
#include "base/log.h"

#define APPLICATION "memcached"
enum { HOST_BYTES = 1025 };

struct cyrus {
    sasl_conn_t *conn;
    bool         began;
};

/* The realm of a user name that gives none: the host's name, as in memcached. Without one the
 * library would ask the name service, which may take seconds. */
static char cyrus_host[HOST_BYTES];

/* Copies a text of a client, as far as there is room. Control bytes become `?`. */
static void cyrus_copy_printable(const char *text, char *shown, size_t room) {
    size_t n = 0;
    for (; text[n] != '\0' && n + 1 < room; n++) {
        shown[n] = iscntrl((unsigned char)text[n]) ? '?' : text[n];
    }
    shown[n] = '\0';
}

/* --- MEMCACHED_SASL_PWDB --- */

enum { PWDB_LINE_BYTES = 256 }; /* longest line, as in memcached; a longer one lets nobody in */

/* Whether `field` is the first field of the text. A wrong text takes as long as a right one, so
 * that the time reveals nothing. */
static bool cyrus_pwdb_field_is(const char *text, const char *field, size_t field_bytes) {
    return strlen(text) >= field_bytes && strchr(":\r\n", text[field_bytes]) != NULL &&
           CRYPTO_memcmp(text, field, field_bytes) == 0;
}

/* Reads the next line with its line feed, and skips lines that are too long. False: the file has
 * ended. */
static bool cyrus_pwdb_next_line(FILE *f, char line[PWDB_LINE_BYTES]) {
    while (fgets(line, PWDB_LINE_BYTES, f) != NULL) {
        if (strchr(line, '\n') != NULL || feof(f)) {
            return true;
        }
        for (int c = 0; c != '\n' && c != EOF; c = fgetc(f)) {
        }
    }
    return false;
}

/* Checks a password in memcached's database of users, the file that MEMCACHED_SASL_PWDB names, with
 * a line user:password for each user. As in memcached, a password ends at a colon. Each login reads
 * the file, so that changes take effect at once. False also if the file cannot be read; that is
 * logged. */
static bool cyrus_pwdb_check(const char *path, const char *user, const char *password,
                             size_t password_bytes) {
    char   line[PWDB_LINE_BYTES];
    bool   right = false;
    size_t user_bytes = strlen(user);
    const char *why;
    int    fd = input_open(path, false, &why);
    FILE  *f = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (f == NULL) {
        log_warn("cannot read %s, the users of SASL: %s", path, fd < 0 ? why : strerror(errno));
        if (fd >= 0) {
            close(fd);
        }
        return false;
    }
    while (cyrus_pwdb_next_line(f, line)) {
        if (cyrus_pwdb_field_is(line, user, user_bytes) && line[user_bytes] == ':') {
            right |= cyrus_pwdb_field_is(line + user_bytes + 1, password, password_bytes);
        }
    }
    fclose(f);
    OPENSSL_cleanse(line, sizeof line);
    return right;
}

/* --- callbacks of the library --- */

static void *cyrus_mutex_create(void) {
    pthread_mutex_t *mutex = malloc(sizeof *mutex);
    if (mutex != NULL) {
        pthread_mutex_init(mutex, NULL);
    }
    return mutex;
}

static int cyrus_mutex_take(void *mutex) {
    return pthread_mutex_lock(mutex) == 0 ? SASL_OK : SASL_FAIL;
}

static int cyrus_mutex_release(void *mutex) {
    return pthread_mutex_unlock(mutex) == 0 ? SASL_OK : SASL_FAIL;
}

static void cyrus_mutex_destroy(void *mutex) {
    if (mutex != NULL) {
        pthread_mutex_destroy(mutex);
        free(mutex);
    }
}

/* Every login attempt can make the library log a line, which may hold text from the client. So the
 * line is logged only with -v. */
static int cyrus_on_log(void *context, int priority, const char *message) {
    (void)context;
    if (priority != SASL_LOG_NONE && priority != SASL_LOG_PASS && message != NULL) {
        char shown[LOG_LINE_BYTES];
        cyrus_copy_printable(message, shown, sizeof shown);
        log_line(priority <= SASL_LOG_ERR ? LOG_LEVEL_INFO : LOG_LEVEL_DEBUG, "SASL: %s", shown);
    }
    return SASL_OK;
}

/* memcached's database of users, if the environment names one. Other users may be in the databases
 * that the library's settings name. */
static const char *cyrus_user_database;

static int cyrus_on_password(sasl_conn_t *conn, void *context, const char *user,
                             const char *password, unsigned n, struct propctx *properties) {
    (void)conn;
    (void)context;
    (void)properties;
    bool right =
        cyrus_user_database != NULL && cyrus_pwdb_check(cyrus_user_database, user, password, n);
    return right ? SASL_OK : SASL_NOAUTHZ;
}

/* --- the library --- */

static const sasl_callback_t cyrus_callbacks[] = {
    {SASL_CB_LOG, (int (*)(void))(void (*)(void))cyrus_on_log, NULL},
    {SASL_CB_SERVER_USERDB_CHECKPASS, (int (*)(void))(void (*)(void))cyrus_on_password, NULL},
    {SASL_CB_LIST_END, NULL, NULL},
};

const char *cyrus_start(void) {
    if (gethostname(cyrus_host, sizeof cyrus_host - 1) != 0) {
        cyrus_host[0] = '\0';
    }
    cyrus_user_database = getenv("MEMCACHED_SASL_PWDB");
    sasl_set_mutex(cyrus_mutex_create, cyrus_mutex_take, cyrus_mutex_release, cyrus_mutex_destroy);
    int status = sasl_server_init(cyrus_callbacks, APPLICATION);
    return status == SASL_OK ? NULL : sasl_errstring(status, NULL, NULL);
}

void cyrus_stop(void) { sasl_done(); }

/* --- a dialogue --- */

struct cyrus *cyrus_create(void) {
    static const sasl_security_properties_t rules = {.security_flags = SASL_SEC_NOANONYMOUS};
    struct cyrus *d = calloc(1, sizeof *d);
    if (d != NULL && (sasl_server_new(APPLICATION, cyrus_host[0] != '\0' ? cyrus_host : NULL, NULL,
                                      NULL, NULL, NULL, 0, &d->conn) != SASL_OK ||
                      sasl_setprop(d->conn, SASL_SEC_PROPS, &rules) != SASL_OK)) {
        cyrus_destroy(&d);
    }
    return d;
}

void cyrus_destroy(struct cyrus **taken) {
    struct cyrus *d = *taken;
    *taken = NULL;
    if (d != NULL) {
        sasl_dispose(&d->conn);
        free(d);
    }
}

bool cyrus_mechanisms(struct cyrus *d, struct cyrus_text *names) {
    unsigned n = 0;
    int status = sasl_listmech(d->conn, NULL, "", " ", "", &names->bytes, &n, NULL);
    names->n = n;
    return status == SASL_OK;
}

static enum cyrus_verdict cyrus_verdict_of(struct cyrus *d, int status,
                                           struct cyrus_text *challenge, unsigned n) {
    d->began = status == SASL_OK || status == SASL_CONTINUE;
    challenge->n = challenge->bytes != NULL ? n : 0;
    return status == SASL_OK         ? CYRUS_PROVEN
           : status == SASL_CONTINUE ? CYRUS_CONTINUES
                                     : CYRUS_REFUSED;
}

enum cyrus_verdict cyrus_begin(struct cyrus *d, const char *mechanism, const char *bytes, size_t n,
                               struct cyrus_text *challenge) {
    unsigned out = 0;
    *challenge = (struct cyrus_text){NULL, 0};
    /* for the library a NULL pointer means no answer yet, another pointer an empty answer */
    int status = sasl_server_start(d->conn, mechanism, n > 0 ? bytes : NULL, (unsigned)n,
                                   &challenge->bytes, &out);
    return cyrus_verdict_of(d, status, challenge, out);
}

enum cyrus_verdict cyrus_continue(struct cyrus *d, const char *bytes, size_t n,
                                  struct cyrus_text *challenge) {
    unsigned out = 0;
    *challenge = (struct cyrus_text){NULL, 0};
    if (!d->began) {
        return CYRUS_REFUSED;
    }
    int status = sasl_server_step(d->conn, bytes, (unsigned)n, &challenge->bytes, &out);
    return cyrus_verdict_of(d, status, challenge, out);
}

void cyrus_user(const struct cyrus *d, char *name, size_t room) {
    const void *proven = NULL;
    bool known = sasl_getprop(d->conn, SASL_USERNAME, &proven) == SASL_OK && proven != NULL;
    cyrus_copy_printable(known ? proven : "", name, room);
}
