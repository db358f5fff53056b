#include "cells_row.h"
#include "tap.h"

#include <math.h>

static char row[4096];

TEST(test_text_is_clipped_at_every_edge) {
    struct cells *cells = cells_create(10, 3, false);
    cells_text(cells, 0, 7, STYLE_PLAIN, "abcdef");
    cells_text(cells, -1, 0, STYLE_PLAIN, "above");
    cells_text(cells, 3, 0, STYLE_PLAIN, "below");
    cells_text(cells, 1, -2, STYLE_PLAIN, "left");
    is_str(cells_row(cells, 0, row, sizeof row), "       abc", "the right edge cuts");
    is_str(cells_row(cells, 1, row, sizeof row), "ft", "the left edge cuts");
    is_str(cells_row(cells, 2, row, sizeof row), "", "rows outside are dropped");
    cells_destroy(&cells);
    ok(cells == NULL, "destroy forgets the pointer");
    cells_destroy(&cells);
}

TEST(test_nothing_a_server_says_reaches_the_terminal_raw) {
    struct cells *cells = cells_create(40, 1, false);
    cells_text(cells, 0, 0, STYLE_PLAIN, "a\033[2Jb\nc\xff\xc3(\xe2\x82 \xf0\x9f\x98\x80 日");
    cells_row(cells, 0, row, sizeof row);
    bool is_clean = true;
    for (const char *at = row; *at != '\0'; at++) {
        is_clean = is_clean && (unsigned char)*at >= ' ';
    }
    ok(is_clean, "no control character is left");
    ok(strstr(row, "?[2J") != NULL, "an escape is a question mark");
    cells_destroy(&cells);
}

TEST(test_a_wide_glyph_has_two_cells_and_is_never_cut) {
    struct cells *cells = cells_create(8, 4, false);
    is(cells_width_of("日本a語😀"), 9, "columns of a text");
    is(cells_text(cells, 0, 0, STYLE_PLAIN, "日本a"), 5, "the column after a text");
    cells_text_fit(cells, 1, 0, 6, STYLE_PLAIN, "日本語日");
    cells_text_fit(cells, 2, 1, 6, STYLE_PLAIN, "日本語");
    cells_text(cells, 3, 5, STYLE_PLAIN, "日本");
    is_str(cells_row(cells, 0, row, sizeof row), "日本a", "glyph by glyph");
    is_str(cells_row(cells, 1, row, sizeof row), "日本…", "a text that does not fit");
    is_str(cells_row(cells, 2, row, sizeof row), " 日本語", "a text that just fits");
    is_str(cells_row(cells, 3, row, sizeof row), "     日", "at the right edge");
    cells_text(cells, 0, 1, STYLE_PLAIN, "x");
    cells_text(cells, 1, 2, STYLE_PLAIN, "x");
    cells_text(cells, 2, 2, STYLE_PLAIN, "語");
    is_str(cells_row(cells, 0, row, sizeof row), " x本a", "over its second half");
    is_str(cells_row(cells, 1, row, sizeof row), "日x …", "over its first half");
    is_str(cells_row(cells, 2, row, sizeof row), "  語 語", "over halves of two");
    cells_destroy(&cells);
    is(cells_paragraph(NULL, (struct rect){0, 0, 9, 4}, 0, STYLE_PLAIN, "日本語 a"), 2, "a paragraph");
}

TEST(test_a_paragraph_without_room_ends_in_an_ellipsis) {
    struct cells *cells = cells_create(12, 2, false);
    struct rect   area = {0, 0, 2, 12};
    is(cells_paragraph(cells, area, 0, STYLE_PLAIN, "moves pages back, but not items"), 2, "as far as there is room");
    is_str(cells_row(cells, 0, row, sizeof row), "moves pages", "its rows end with words,");
    is_str(cells_row(cells, 1, row, sizeof row), "back, but n…", "and the last one with the rest");
    cells_paragraph(cells, area, 0, STYLE_PLAIN, "moves pages back, but now");
    is_str(cells_row(cells, 1, row, sizeof row), "back, but n…", "which may be one letter");
    cells_paragraph(cells, area, 0, STYLE_PLAIN, "moves pages back, but no ");
    is_str(cells_row(cells, 1, row, sizeof row), "back, but no", "or fit");
    cells_destroy(&cells);
}

TEST(test_texts_that_differ_look_so) {
    struct cells *cells = cells_create(8, 1, false), *ascii = cells_create(8, 1, true);
    char out[64];
    cells_escape(cells, "a?ключ日é\xff", out, sizeof out);
    is_str(out, "a?ключ日é%FF", "what the grid shows stays");
    cells_escape(cells, "e\xcc\x81 สא\033", out, sizeof out);
    is_str(out, "e%CC%81 %E0%B8%AA%D7%90%1B", "what joins its neighbours, runs leftwards or controls");
    cells_escape(ascii, "aé", out, sizeof out);
    is_str(out, "a%C3%A9", "all but ASCII in an ASCII grid");
    cells_escape(cells, "日本語日本語日本語日本語日本語", out, 30);
    ok(strlen(out) < 30 && strlen(out) % 3 == 0, "a long text is cut between glyphs");
    cells_destroy(&cells);
    cells_destroy(&ascii);
}

TEST(test_an_ascii_grid_holds_only_ascii) {
    struct cells *cells = cells_create(60, 2, true);
    float values[] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    cells_text(cells, 0, 0, STYLE_PLAIN, "▶ ● ○ → Δ Σ × ▲ ▼ ◀ … · é");
    cells_graph(cells, (struct rect){1, 0, 1, 9}, STYLE_GRAPH, values, 9, 0);
    is_str(cells_row(cells, 0, row, sizeof row), "> * o > d S x ^ v < ~ . ?", "glyphs have twins");
    is_str(cells_row(cells, 1, row, sizeof row), "..:-=+*##", "graphs climb in ASCII too");
    cells_destroy(&cells);
}

TEST(test_the_row_under_the_cursor_keeps_the_colours_of_its_bars) {
    struct cells *cells = cells_create(6, 1, false);
    cells_text(cells, 0, 0, STYLE_GRAPH, "7 █▌░ ");
    cells_select(cells, 0, 0, 6);
    char marked[7] = "";
    for (int x = 0; x < 6; x++) {
        marked[x] = cells->grid[x].style & CELL_SELECTED ? '>' : '.';
    }
    is_str(marked, ">>...>", "text and blanks are reversed, blocks and shades are not");
    cells_destroy(&cells);
}

TEST(test_graphs_keep_the_newest_at_the_right) {
    struct cells *cells = cells_create(8, 2, false);
    float few[] = {1, 8};
    cells_graph(cells, (struct rect){0, 0, 1, 8}, STYLE_GRAPH, few, 2, 0);
    is_str(cells_row(cells, 0, row, sizeof row), "      ▁█", "few values stand at the right");
    float many[] = {100, 100, 1, 2, 3, 4, 5, 6, 7, 8};
    float top = cells_graph(cells, (struct rect){0, 0, 1, 8}, STYLE_GRAPH, many, 10, 0);
    is_str(cells_row(cells, 0, row, sizeof row), "▁▂▃▄▅▆▇█", "of many values the newest are drawn");
    ok(top == 8, "and the scale is that of the drawn ones");
    float holes[] = {NAN, 0, NAN, 0.001f, 4};
    cells_clear(cells);
    cells_graph(cells, (struct rect){0, 0, 1, 8}, STYLE_GRAPH, holes, 5, 0);
    is_str(cells_row(cells, 0, row, sizeof row), "    · ▁█", "unknown is a gap, zero a dot, a little still shows");
    cells_destroy(&cells);
}

TEST(test_graphs_may_have_several_rows) {
    struct cells *cells = cells_create(3, 2, false);
    float values[] = {1, 2, 4};
    cells_graph(cells, (struct rect){0, 0, 2, 3}, STYLE_GRAPH, values, 3, 0);
    is_str(cells_row(cells, 0, row, sizeof row), "  █", "upper row");
    is_str(cells_row(cells, 1, row, sizeof row), "▄██", "lower row");
    cells_destroy(&cells);
}

TEST(test_long_text_ends_in_an_ellipsis) {
    struct cells *cells = cells_create(20, 1, false);
    cells_text_fit(cells, 0, 0, 6, STYLE_PLAIN, "abcdefgh");
    is_str(cells_row(cells, 0, row, sizeof row), "abcde…", "cut with a mark");
    cells_clear(cells);
    cells_text_fit(cells, 0, 0, 6, STYLE_PLAIN, "abcdef");
    is_str(cells_row(cells, 0, row, sizeof row), "abcdef", "whole when it fits");
    cells_text_fit(cells, 0, 0, 0, STYLE_PLAIN, "abc");
    ok(true, "no room is no harm");
    cells_destroy(&cells);
}

TEST(test_an_ellipsis_never_cuts_a_number) {
    static const struct {
        const char *text;
        int width;
        const char *want;
    } cases[] = {
        {"evicts 1234 a second", 10, "evicts …"}, {"evicts 1234 a second", 12, "evicts 1234…"},
        {"lost 12, kept", 8, "lost 12…"},         {"age ±12.5 s", 8, "age …"},
        {"cache7:11211", 8, "cache7:…"},          {"1234567", 4, "123…"},
        {"miss 12.5k now", 9, "miss …"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[100];
        struct cells *cells = cells_create(40, 1, false);
        cells_text_fit(cells, 0, 0, cases[i].width, STYLE_PLAIN, cases[i].text);
        is_str(cells_row(cells, 0, line, sizeof line), cases[i].want, "'%s' in %d columns", cases[i].text, cases[i].width);
        cells_destroy(&cells);
    }
}

TEST(test_bars_show_used_slack_and_rest) {
    struct cells *cells = cells_create(12, 1, false);
    cells_bar(cells, 0, 0, 12, 0.5, 0.2);
    is_str(cells_row(cells, 0, row, sizeof row), "[█████▒▒...]", "three parts");
    cells_bar(cells, 0, 0, 12, 7, 7);
    is_str(cells_row(cells, 0, row, sizeof row), "[██████████]", "more than all is all");
    cells_destroy(&cells);
}

int main(void) { return tap_main(); }
