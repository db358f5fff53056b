#include "serve/access/pwdb.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/input.h"
#include "base/log.h"

/* Whether the text begins with the field and the field ends there. It takes as long for a wrong
 * text as for a right one, so that time tells nothing. */
static bool field_is(const char *text, const char *field, size_t field_bytes) {
    return strlen(text) >= field_bytes && strchr(":\r\n", text[field_bytes]) != NULL &&
           CRYPTO_memcmp(text, field, field_bytes) == 0;
}

/* Reads the next line with its line feed. False: there is none. A line without a line feed is the
 * file's last, or is too long. */
static bool next_line(FILE *f, char line[PWDB_LINE_BYTES]) {
    while (fgets(line, PWDB_LINE_BYTES, f) != NULL) {
        if (strchr(line, '\n') != NULL || feof(f)) {
            return true;
        }
        for (int c = 0; c != '\n' && c != EOF; c = fgetc(f)) {
        }
    }
    return false;
}

bool pwdb_check(const char *path, const char *user, const char *password, size_t password_bytes) {
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
    while (next_line(f, line)) {
        if (field_is(line, user, user_bytes) && line[user_bytes] == ':') {
            right |= field_is(line + user_bytes + 1, password, password_bytes);
        }
    }
    fclose(f);
    OPENSSL_cleanse(line, sizeof line);
    return right;
}
