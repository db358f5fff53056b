#include "tap.h"

#include "server/text_out.h"

static bool holds(const struct text_out *t, const char *text) {
    return t->used == strlen(text) && memcmp(t->bytes, text, t->used) == 0 && !t->failed;
}

int main(void) {
    struct text_out t;
    text_out_init(&t);
    text_out_bytes(&t, "", 0);
    ok(t.used == 0 && !t.failed, "nothing appended is nothing");
    text_out_str(&t, "STAT ");
    text_out_printf(&t, "%s %d\r\n", "pid", 7);
    ok(holds(&t, "STAT pid 7\r\n"), "text and formatted text follow each other");

    text_out_clear(&t);
    char want[4000];
    size_t n = 0;
    for (int i = 0; i < 500; i++) { /* over every border between one size and the next */
        n += (size_t)sprintf(want + n, "%d,", i);
        text_out_printf(&t, "%d,", i);
    }
    ok(holds(&t, want), "it grows with each append, also with one that just fits");

    char *to = text_out_reserve(&t, 100000);
    memset(to, 'x', 100000);
    text_out_grow(&t, 60000);
    ok(t.used == n + 60000 && t.bytes[t.used - 1] == 'x' && memcmp(t.bytes, want, n) == 0,
       "room that was reserved and written counts as far as it was said to");

    ok(text_out_reserve(&t, SIZE_MAX - 4096) == NULL && t.failed, "more than there can be is refused and remembered");
    text_out_clear(&t);
    ok(!t.failed && t.used == 0, "until it is cleared");
    text_out_fini(&t);
    ok(t.bytes == NULL && t.room == 0, "it ends without memory");
    return tap_done();
}
