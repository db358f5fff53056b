#include "audit.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINE_BYTES = 4096 };

void audit_default_path(char out[AUDIT_PATH_BYTES]) {
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    out[0] = '\0';
    if (state != NULL && state[0] == '/') {
        snprintf(out, AUDIT_PATH_BYTES, "%s/slate/audit.log", state);
    } else if (home != NULL && home[0] == '/') {
        snprintf(out, AUDIT_PATH_BYTES, "%s/.local/state/slate/audit.log", home);
    }
}

/* The folders above a path, from the top. */
static void make_folders(const char *path) {
    char folder[AUDIT_PATH_BYTES];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *slash = folder; (slash = strchr(slash + 1, '/')) != NULL;) {
        *slash = '\0';
        mkdir(folder, 0700); /* it may be there; opening the file says what is wrong */
        *slash = '/';
    }
}

struct line {
    char text[LINE_BYTES];
    size_t used;
};

static void put(struct line *line, char byte) {
    if (line->used < sizeof line->text) {
        line->text[line->used++] = byte;
    }
}

static void put_text(struct line *line, const char *text) {
    for (; *text != '\0'; text++) {
        put(line, *text);
    }
}

/* A field; bytes that JSON does not allow in a string are escaped. */
static void put_field(struct line *line, const char *name, const char *value) {
    put_text(line, line->used > 1 ? ",\"" : "\"");
    put_text(line, name);
    put_text(line, "\":\"");
    for (; *value != '\0' && line->used < LINE_BYTES / 2 + 1024; value++) {
        unsigned char byte = (unsigned char)*value;
        char escape[8];
        if (byte < ' ' || byte == 0x7f) {
            snprintf(escape, sizeof escape, "\\u%04x", byte);
            put_text(line, escape);
        } else {
            if (byte == '"' || byte == '\\') {
                put(line, '\\');
            }
            put(line, (char)byte);
        }
    }
    put(line, '"');
}

static void compose(struct line *line, const struct audit_entry *entry) {
    char when[40];
    struct tm utc;
    gmtime_r(&entry->wall, &utc);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &utc);
    const struct passwd *user = getpwuid(getuid());
    put(line, '{');
    put_field(line, "time", when);
    put_field(line, "user", user != NULL ? user->pw_name : "");
    put_field(line, "program", "slatetop");
    put_field(line, "server", entry->server);
    put_field(line, "software", entry->software);
    put_field(line, "why", entry->why);
    put_field(line, "what", entry->what);
    put_field(line, "command", entry->command);
    put_field(line, "before", entry->before);
    put_field(line, "undo", entry->undo);
    put_field(line, "outcome", entry->outcome);
    put_text(line, entry->succeeded ? ",\"succeeded\":true}\n" : ",\"succeeded\":false}\n");
}

bool audit_append(const char *path, const struct audit_entry *entry, char *why, size_t why_bytes) {
    struct line line = {.used = 0};
    if (path[0] == '\0') {
        snprintf(why, why_bytes, "no audit log: neither HOME nor XDG_STATE_HOME is set; --audit names a file");
        return false;
    }
    compose(&line, entry);
    make_folders(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0600);
    ssize_t written = fd >= 0 ? write(fd, line.text, line.used) : -1;
    int error = errno;
    if (fd >= 0) {
        close(fd);
    }
    if (written != (ssize_t)line.used) {
        snprintf(why, why_bytes, "the audit log %.120s was not written: %s", path, written >= 0 ? "the disk is full" : strerror(error));
        return false;
    }
    return true;
}
