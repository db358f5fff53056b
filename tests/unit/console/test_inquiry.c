/* Replies to inquiries: saved as text, read line by line, whatever a server writes. */
#include "facts/details/inquiry.h"
#include "tap.h"

#include <math.h>

static void take(struct answers *answers, const char *text, bool is_stats) {
    inquiry_take(answers, INQUIRY_CONFIG, text, strlen(text), is_stats, 5);
}

TEST(test_texts_are_kept) {
    struct answers answers = {0};
    is(inquiry_text(&answers, INQUIRY_CONFIG) == NULL, true, "none before the first answer");
    take(&answers, "STAT mode ratio\r\nSTAT why the pool has 64 pages\r\nSTAT n 12.5\r\nEND\r\n", true);
    is_str(inquiry_text(&answers, INQUIRY_CONFIG), "STAT mode ratio\r\nSTAT why the pool has 64 pages\r\nSTAT n 12.5\r\nEND\r\n",
           "the text that came");
    take(&answers, "ERROR\r\n", false);
    is(inquiry_text(&answers, INQUIRY_CONFIG) == NULL, true, "a refusal forgets the answer of before");
    is(answers.of[INQUIRY_CONFIG].state, ANSWER_REFUSED, "which is known to be one");
    is_str(answers.of[INQUIRY_CONFIG].refusal, "ERROR", "with its words");
    inquiry_take(&answers, INQUIRY_HOTKEYS, "STAT a 1\r\n", 10, true, 6);
    ok(answers.of[INQUIRY_HOTKEYS].state == ANSWER_KNOWN && inquiry_text(&answers, INQUIRY_HOTKEYS) == NULL,
       "what is parsed elsewhere is known, and not kept twice");
    inquiry_fini(&answers);
    is(answers.of[INQUIRY_CURVE].state, ANSWER_NONE, "nothing is left");
}

TEST(test_refused_inquiries_have_a_reason) {
    static struct snapshot now;
    const char *why_not;
    snapshot_init(&now);
    ok(!inquiry_is_offered(INQUIRY_CURVE, NULL, &why_not) && why_not[0] != '\0', "nothing is known yet");
    ok(!inquiry_is_offered(INQUIRY_CURVE, &now, &why_not), "memcached has no curves");
    ok(strstr(why_not, "the classes (2)") != NULL, "and says where else to look: %s", why_not);
    ok(!inquiry_is_offered(INQUIRY_HOTKEYS, &now, &why_not) && strstr(why_not, "slatectl hotkeys") != NULL, "%s", why_not);
    ok(!inquiry_is_offered(INQUIRY_CONFIG, &now, &why_not), "nor anything of slated's own");
    is_str(why_not, "needs slated: memcached does not report this", "in words");
    ok(inquiry_is_offered(INQUIRY_SETTINGS, &now, &why_not), "settings are every server's");
    ok(!inquiry_is_offered(INQUIRY_STOCK_SIZES, &now, &why_not), "sizes where they are tracked");
    now.setting[SETTING_track_sizes] = 1;
    ok(inquiry_is_offered(INQUIRY_STOCK_SIZES, &now, &why_not), "only");
    now.is_slated = true;
    ok(!inquiry_is_offered(INQUIRY_STOCK_SIZES, &now, &why_not) && inquiry_is_offered(INQUIRY_CURVE, &now, &why_not),
       "slated has its own");
}

TEST(test_garbage_is_skipped_or_made_harmless) {
    struct stat_line line;
    char text[600] = "nonsense\nSTAT \r\nSTAT bare\r\nSTAT esc \033[2J\r\nSTAT long ";
    size_t used = strlen(text);
    memset(text + used, 'x', 400);
    memcpy(text + used + 400, "\nSTAT last 1", 13);
    const char *at = text, *end = text + strlen(text);
    ok(stat_line_next(&at, end, &line) && strcmp(line.name, "bare") == 0 && line.value[0] == '\0',
       "a line without a value has an empty one; one without a name is none");
    ok(stat_line_next(&at, end, &line) && strcmp(line.value, "?[2J") == 0, "no escape comes through");
    ok(stat_line_next(&at, end, &line) && strlen(line.value) == sizeof line.value - 1, "a long value is cut");
    ok(stat_line_next(&at, end, &line) && strcmp(line.name, "last") == 0, "a last line needs no end");
    ok(!stat_line_next(&at, end, &line), "and then there is no more");
}

int main(void) { return tap_main(); }
