#include "audit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "wire.h"

enum { CLASSES = 256, WAITS = 1200, WAIT_US = 100 * 1000, SAME_LOOKS = 20 };

/* Whether there is time for another check of the server's own work. */
static bool looks_again(unsigned *looks) {
    usleep(WAIT_US);
    return ++*looks < WAITS;
}

/* A reply of many lines up to END, in one text; the caller frees the text. */
static char *ask_all(int port, const char *command) {
    struct wire c = {.fd = -1};
    char *text = NULL, *line;
    size_t bytes = 0;
    FILE *to = open_memstream(&text, &bytes);
    if (wire_open(&c, port, 0)) {
        wire_say(&c, "%s\r\n", command);
        for (line = wire_flush(&c) ? wire_line(&c) : NULL; line != NULL && strcmp(line, "END") != 0; line = wire_line(&c)) {
            fprintf(to, "%s\n", line);
            if (strncmp(line, "ERROR", 5) == 0) {
                break;
            }
        }
    }
    wire_free(&c);
    fclose(to);
    return text;
}

static void say(int port, const char *command) {
    struct wire c = {.fd = -1};
    if (wire_open(&c, port, 0)) {
        wire_say(&c, "%s\r\n", command);
        if (wire_flush(&c)) {
            wire_line(&c);
        }
    }
    wire_free(&c);
}

static const char *value_in(const char *text, const char *name) {
    char wanted[80];
    size_t n = (size_t)snprintf(wanted, sizeof wanted, "STAT %s ", name);
    const char *at = strstr(text, wanted);
    return at != NULL ? at + n : NULL;
}

uint64_t audit_stat(int port, const char *what, const char *name) {
    char command[60];
    snprintf(command, sizeof command, "stats%s%s", *what != '\0' ? " " : "", what);
    char *text = ask_all(port, command);
    const char *value = value_in(text, name);
    uint64_t n = value != NULL ? strtoull(value, NULL, 10) : 0;
    free(text);
    return n;
}

void audit_tell(int port, const char *command) {
    char *text = ask_all(port, command);
    printf("# %s:\n", command);
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        printf("#   %s\n", line);
    }
    free(text);
}

static bool rests(int port) {
    char *geometry = ask_all(port, "stats geometry");
    const char *state = value_in(geometry, "state");
    bool steady = state == NULL || strncmp(state, "steady", 6) == 0;
    free(geometry);
    return steady && audit_stat(port, "", "slab_reassign_running") == 0 && audit_stat(port, "", "lru_crawler_running") == 0;
}

/* Pages over a lowered limit go one by one, with pauses; the last pages of classes may stay over the limit. */
static bool comes_to_rest(int port) {
    uint64_t over = 0;
    unsigned same = 0;
    unsigned looks = 0;
    do {
        uint64_t now = audit_stat(port, "moves", "over_limit");
        same = now == over ? same + 1 : 0;
        over = now;
        if (rests(port) && (over == 0 || same >= SAME_LOOKS)) {
            return true;
        }
    } while (looks_again(&looks));
    return false;
}

bool audit_rest(int port) {
    bool rest = comes_to_rest(port);
    say(port, "lru_crawler crawl all");
    return comes_to_rest(port) && rest;
}

/* Sums `field` of lines "STAT items:ID:field N" or "STAT ID:field N" into by_class. */
static uint64_t sum_of_classes(const char *text, const char *prefix, const char *field, uint64_t by_class[CLASSES]) {
    uint64_t sum = 0;
    for (const char *line = text; line != NULL && *line != '\0'; line = strchr(line, '\n'), line += line != NULL) {
        unsigned id;
        char name[64];
        uint64_t n;
        size_t skip = strlen("STAT ") + strlen(prefix);
        if (strncmp(line, "STAT ", 5) == 0 && strncmp(line + 5, prefix, strlen(prefix)) == 0 &&
            sscanf(line + skip, "%u:%63s %" SCNu64, &id, name, &n) == 3 && strcmp(name, field) == 0 && id < CLASSES) {
            by_class[id] = n;
            sum += n;
        }
    }
    return sum;
}

static uint64_t count_dump(const char *text, uint64_t by_class[CLASSES]) {
    uint64_t n = 0;
    for (const char *at = strstr(text, "key="); at != NULL; at = strstr(at + 1, "\nkey=")) {
        const char *class_at = strstr(at, " cls=");
        n++;
        if (class_at != NULL) {
            by_class[strtoul(class_at + 5, NULL, 10) % CLASSES]++;
        }
    }
    return n;
}

static uint64_t sum_of_sizes(const char *text) {
    uint64_t sum = 0;
    for (const char *line = text; line != NULL && *line != '\0'; line = strchr(line, '\n'), line += line != NULL) {
        uint64_t size, n;
        if (sscanf(line, "STAT %" SCNu64 " %" SCNu64, &size, &n) == 2) {
            sum += n;
        }
    }
    return sum;
}

void audit_counts(int port, struct audit_counts *a) {
    uint64_t in_dump[CLASSES] = {0}, in_classes[CLASSES] = {0}, used[CLASSES] = {0}, free_chunks[CLASSES] = {0}, chunks[CLASSES] = {0},
             ignored[CLASSES];
    char *dump = ask_all(port, "lru_crawler metadump all"), *items = ask_all(port, "stats items"), *slabs = ask_all(port, "stats slabs"),
         *sizes = ask_all(port, "stats sizes");
    *a = (struct audit_counts){
        .items = audit_stat(port, "", "curr_items"),
        .bytes = audit_stat(port, "", "bytes"),
        .dumped = count_dump(dump, in_dump),
        .in_classes = sum_of_classes(items, "items:", "number", in_classes),
        .in_sizes = sum_of_sizes(sizes),
        .class_bytes = sum_of_classes(items, "items:", "mem_requested", ignored),
        .size_bytes = audit_stat(port, "sizehist", "item_bytes"),
        .all_sizes = audit_stat(port, "sizehist", "sampled_pages") == 1,
    };
    sum_of_classes(slabs, "", "used_chunks", used);
    sum_of_classes(slabs, "", "free_chunks", free_chunks);
    sum_of_classes(slabs, "", "total_chunks", chunks);
    for (unsigned i = 0; i < CLASSES; i++) {
        a->classes_unlike_dump += in_dump[i] != in_classes[i];
        if (used[i] + free_chunks[i] != chunks[i]) {
            printf("# class %u: %" PRIu64 " used, %" PRIu64 " free, %" PRIu64 " in all\n", i, used[i], free_chunks[i], chunks[i]);
            a->classes_astray++;
        }
    }
    free(dump);
    free(items);
    free(slabs);
    free(sizes);
}

void audit_flush(int port, struct audit_left *left) {
    uint64_t used[CLASSES] = {0};
    left->items = 1;
    say(port, "flush_all");
    for (unsigned looks = 0; left->items != 0 && looks_again(&looks);) {
        left->items = audit_stat(port, "", "curr_items"); /* the server frees flushed items by itself */
    }
    left->bytes = audit_stat(port, "", "bytes");
    char *slabs = ask_all(port, "stats slabs");
    left->chunks = sum_of_classes(slabs, "", "used_chunks", used);
    for (unsigned i = 0; i < CLASSES; i++) {
        if (used[i] != 0) {
            printf("# class %u: %" PRIu64 " chunks in use\n", i, used[i]);
        }
    }
    free(slabs);
}

unsigned audit_descriptors(const struct server *s, unsigned at_start) {
    unsigned now, looks = 0;
    while ((now = server_descriptors(s)) > at_start && looks_again(&looks)) {
    }
    return now;
}
