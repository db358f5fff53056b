#include "draw/explain.h"

#include <stdio.h>
#include <string.h>

enum { ENTRIES_MOST = 400 };

/* The file without its comments; each entry is cut into its fields in place. */
static char text[] =
#include "draw/explain_text.inc"
    ;
static struct explanation entries[ENTRIES_MOST];
static unsigned entry_count;

/* The field whose name begins the line, and the start of its value; NULL for any other line. */
static const char **explain_field_of(struct explanation *entry, char *line, char **value) {
    static const char *const words[] = {"term",   "also",    "unit", "meaning",
                                        "source", "formula", "do"};
    const char **fields[] = {&entry->term,   &entry->also,    &entry->unit,      &entry->meaning,
                             &entry->source, &entry->formula, &entry->what_to_do};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t bytes = strlen(words[i]);
        if (strncmp(line, words[i], bytes) == 0 && line[bytes] == ' ') {
            *value = line + bytes + 1;
            return fields[i];
        }
    }
    return NULL;
}

/* Joins lines that go on: "\n  " becomes one blank. */
static void explain_join_lines(char *from) {
    char *to = from;
    while (*from != '\0') {
        if (from[0] == '\n' && from[1] == ' ') {
            from += 1 + strspn(from + 1, " ");
            *to++ = ' ';
        } else {
            *to++ = *from++;
        }
    }
    *to = '\0';
}

static void explain_read_text(void) {
    explain_join_lines(text);
    struct explanation *entry = NULL;
    for (char *line = text; line != NULL;) {
        char *next = strchr(line, '\n'), *value;
        if (next != NULL) {
            *next++ = '\0';
        }
        bool begins = strncmp(line, "term ", 5) == 0;
        if (begins) {
            if (entry_count == ENTRIES_MOST) {
                return;
            }
            entry = &entries[entry_count++];
            *entry = (struct explanation){.also = "", .unit = "", .meaning = "", .source = "",
                                          .formula = "", .what_to_do = ""};
        }
        const char **field = entry != NULL ? explain_field_of(entry, line, &value) : NULL;
        if (field != NULL) {
            *field = value;
        }
        line = next;
    }
}

const struct explanation *explain_at(unsigned index) {
    if (entry_count == 0) {
        explain_read_text();
    }
    return index < entry_count ? &entries[index] : NULL;
}

const struct explanation *explain_term(const char *term) {
    const struct explanation *entry;
    for (unsigned i = 0; (entry = explain_at(i)) != NULL; i++) {
        if (strcmp(entry->term, term) == 0) {
            return entry;
        }
    }
    return NULL;
}

void explain_add(struct terms *terms, const char *prefix, const char *name, bool is_current) {
    if (terms->count == TERMS_MOST) {
        return;
    }
    if (is_current) {
        terms->current = terms->count;
    }
    snprintf(terms->name[terms->count++], TERM_BYTES, "%s%s", prefix, name);
}
