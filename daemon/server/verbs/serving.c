/* Memory for a turn's replies, and for their list of borrowed values. */
#include <stdlib.h>

#include "server/verbs/verbs.h"

bool serving_grow(struct serving *sv, size_t n) {
    size_t room = sv->room;
    while (room - sv->used < n) {
        if (room > SIZE_MAX / 2) {
            return false;
        }
        room *= 2;
    }
    char *bytes = realloc(sv->bytes, room);
    if (!bytes) {
        return false;
    }
    sv->bytes = bytes;
    sv->room = room;
    return true;
}

/* False: out of memory; the value has been returned. */
static bool serving_note_borrowed(struct serving *sv, const char *p, struct item *borrowed,
                                  uint32_t value_bytes) {
    if (sv->value_count == sv->value_room) {
        size_t room = sv->value_room ? sv->value_room * 2 : 64;
        struct output_value *values = realloc(sv->values, room * sizeof *values);
        if (!values) {
            cache_return(sv->ct, borrowed);
            return false;
        }
        sv->values = values;
        sv->value_room = room;
    }
    sv->values[sv->value_count++] =
        (struct output_value){(size_t)(p - sv->bytes), borrowed, value_bytes};
    sv->value_bytes += value_bytes;
    return true;
}

char *serving_put_fetched(struct serving *sv, char *p, const struct cache_view *view) {
    if (view->borrowed == NULL) {
        return put_bytes(p, sv->scratch, view->value_bytes);
    }
    return serving_note_borrowed(sv, p, view->borrowed, view->value_bytes) ? p : NULL;
}
