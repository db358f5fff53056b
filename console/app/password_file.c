#include "app/password_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Cuts the role off "user:password:role". */
static void cut_role(char *line) {
    static const char *const roles[] = {"read", "write", "admin"};
    char *last = strrchr(line, ':');
    for (size_t i = 0; last != strchr(line, ':') && i < sizeof roles / sizeof *roles; i++) {
        if (strcmp(last + 1, roles[i]) == 0) {
            *last = '\0';
            return;
        }
    }
}

bool password_file_read(const char *path, char out[CREDENTIALS_MOST + 1], char *why,
                        size_t why_bytes) {
    char line[CREDENTIALS_MOST + 2] = "";
    errno = 0;
    FILE *file = fopen(path, "re");
    bool is_read = file != NULL && fgets(line, sizeof line, file) != NULL;
    int error = errno;
    if (file != NULL) {
        fclose(file);
    }
    size_t bytes = strcspn(line, "\r\n");
    bool is_whole = bytes < CREDENTIALS_MOST;
    line[bytes] = '\0';
    cut_role(line);
    char *colon = strchr(line, ':');
    if (!is_read || !is_whole || colon == NULL || colon == line || colon[1] == '\0' ||
        strchr(line, ' ') != NULL) {
        if (is_read) {
            snprintf(why, why_bytes,
                     "the first line of %.80s is not user:password of at most 249 bytes", path);
        } else {
            snprintf(why, why_bytes, "cannot read the password in %.80s: %s", path,
                     error != 0 ? strerror(error) : "it is empty");
        }
        return false;
    }
    *colon = ' ';
    memcpy(out, line, strlen(line) + 1);
    memset(line, 0, sizeof line);
    return true;
}
