/* Every page of the server, from stats pages: its class, how full it is, and its age.
 *
 * A large cache answers in parts, so the map is assembled over several refreshes; `next` is the
 * part to request. Memory: 20 bytes a page, at most PAGES_MOST of them. One thread. */
#ifndef CONSOLE_FACTS_DETAILS_DETAIL_PAGES_H
#define CONSOLE_FACTS_DETAILS_DETAIL_PAGES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PAGES_MOST = 1 << 18, PAGES_A_PART = 4096 };

enum page_state { PAGE_STATE_NONE, PAGE_STATE_OWNED, PAGE_STATE_DRAINING };

struct page_info {
    uint8_t state; /* enum page_state */
    uint8_t class_id;
    uint32_t used, chunks;    /* chunks */
    uint32_t age_s, unused_s; /* since the class has it; since its use, UINT32_MAX: not noted */
};

struct page_list {
    struct page_info *pages; /* the pages by number */
    unsigned count, room;    /* highest number seen, plus one; allocated entries */
    unsigned next;           /* first page of the next part; 0 after the last part */
    bool is_complete;           /* every part was seen once */
    bool notes_use;          /* some page has the time of its use */
};

void page_list_fini(struct page_list *list); /* all zero, as before the first part */
/* Takes the part that begins with page list->next. */
void page_list_parse(struct page_list *list, const char *text, size_t text_bytes);
#endif
