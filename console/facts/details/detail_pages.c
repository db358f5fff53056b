#include "facts/details/detail_pages.h"

#include "facts/stat_line.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void page_list_fini(struct page_list *list) {
    free(list->pages);
    *list = (struct page_list){0};
}

/* Makes room for a page of this number; false: out of memory. */
static bool pages_make_room(struct page_list *list, unsigned number) {
    if (number >= list->room) {
        unsigned room = list->room > 0 ? list->room : 64;
        while (room <= number) {
            room *= 2;
        }
        struct page_info *larger = realloc(list->pages, room * sizeof *larger);
        if (larger == NULL) {
            return false;
        }
        memset(larger + list->room, 0, (room - list->room) * sizeof *larger);
        list->pages = larger;
        list->room = room;
    }
    list->count = number < list->count ? list->count : number + 1;
    return true;
}

/* "5 owned 5400 5461 123 -"; false: not such a text. */
static bool parse_page(const char *text, struct page_info *page) {
    char state[16], unused[16];
    unsigned class_id;
    int end = 0;
    struct page_info read = {.unused_s = UINT32_MAX};
    if (sscanf(text, "%u %15s %u %u %u %15s%n", &class_id, state, &read.used, &read.chunks,
               &read.age_s, unused, &end) != 6 ||
        text[end] != '\0' || class_id == 0 || class_id > 255 || read.used > read.chunks) {
        return false;
    }
    double unused_s = stat_line_number(unused);
    read.unused_s = unused_s >= 0 && unused_s < UINT32_MAX ? (uint32_t)unused_s : UINT32_MAX;
    read.class_id = (uint8_t)class_id;
    read.state = strcmp(state, "draining") == 0 ? PAGE_STATE_DRAINING : PAGE_STATE_OWNED;
    *page = read;
    return true;
}

static double pages_find_next(const char *text, size_t text_bytes) {
    struct stat_line line;
    for (const char *at = text; stat_line_next(&at, text + text_bytes, &line);) {
        if (strcmp(line.name, "next") == 0) {
            return stat_line_number(line.value);
        }
    }
    return 0;
}

void page_list_parse(struct page_list *list, const char *text, size_t text_bytes) {
    struct stat_line line;
    unsigned first = list->next;
    double next = pages_find_next(text, text_bytes);
    bool goes_on = next > first && next < PAGES_MOST;
    /* pages that a part does not list no longer have a class */
    for (unsigned i = first; i < list->count && (!goes_on || i < next); i++) {
        list->pages[i] = (struct page_info){0};
    }
    list->notes_use = list->notes_use && first > 0;
    for (const char *at = text; stat_line_next(&at, text + text_bytes, &line);) {
        struct page_info page;
        double number = strncmp(line.name, "page:", 5) == 0 ? stat_line_number(line.name + 5) : NAN;
        if (number >= first && number < PAGES_MOST && parse_page(line.value, &page) &&
            pages_make_room(list, (unsigned)number)) {
            list->pages[(unsigned)number] = page;
            list->notes_use = list->notes_use || page.unused_s != UINT32_MAX;
        }
    }
    list->is_complete = list->is_complete || !goes_on;
    list->next = goes_on ? (unsigned)next : 0;
}
