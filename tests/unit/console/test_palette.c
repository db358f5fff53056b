#include "screen.h"
#include "views/overlay/palette.h"

static struct palette_choice choices[PALETTE_CHOICES];

static struct intent type(const char *text) {
    struct intent intent = {0};
    for (; *text != '\0'; text++) {
        uint32_t key = *text == '\n' ? KEY_RETURN : (uint32_t)*text;
        intent = palette_command(&frame, &ui, key_command(key, SCOPE_PALETTE), key);
    }
    return intent;
}

/* Types into a palette that is opened in Overview. */
static struct intent typed(const char *text) {
    reset_ui(0);
    palette_open(&ui);
    return type(text);
}

static unsigned choices_of(const char *text) {
    typed(text);
    return palette_choices(&frame, &ui, choices);
}

static bool offers(unsigned count, const char *line) {
    for (unsigned i = 0; i < count; i++) {
        if (strcmp(choices[i].line, line) == 0) {
            return true;
        }
    }
    return false;
}

/* Keys move through a list; commands such as sort and filter take an argument. */
TEST(test_every_command_of_a_view_can_be_found) {
    static const struct {
        const char *line;
        enum command command;
    } cases[] = {{"undo\n", COMMAND_UNDO},     {"redo\n", COMMAND_REDO},       {"record\n", COMMAND_RECORD},
                 {"quit\n", COMMAND_QUIT},     {"pause\n", COMMAND_PAUSE},     {"hot keys\n", COMMAND_VIEW_HOTKEYS},
                 {"help\n", COMMAND_HELP},     {"keep\n", COMMAND_ACCEPT_TRIAL}, {"back by a min\n", COMMAND_MINUTE_BACK},
                 {"mouse\n", COMMAND_MOUSE},   {"shell\n", COMMAND_SUSPEND},   {"event after\n", COMMAND_EVENT_AFTER},
                 {"diff\n", COMMAND_VIEW_DIFF}, {"tune\n", COMMAND_VIEW_TUNE}, {"q\n", COMMAND_QUIT}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct intent intent = typed(cases[i].line);
        ok(intent.kind == INTENT_COMMAND && intent.command == cases[i].command && !ui.palette.is_open, "%zu: %.8s is found and run", i, cases[i].line);
    }
}

TEST(test_a_word_is_completed) {
    ok(offers(choices_of(""), "classes"), "everything is offered before a letter is typed");
    unsigned count = choices_of("cl");
    ok(offers(count, "classes") && offers(count, "class "), "names with this beginning are offered");
    ok(!offers(count, "tune"), "and nothing else");
    palette_command(&frame, &ui, COMMAND_COMPLETE, '\t');
    is_str(ui.palette.typed, "classes", "Tab types the first");
    count = choices_of("sort ");
    ok(offers(count, "sort age") && offers(count, "sort ev"), "columns are offered behind sort");
    ok(offers(choices_of("theme l"), "theme light"), "themes behind theme");
    ok(offers(choices_of("class "), "class 12"), "classes behind class");
    ok(offers(choices_of("filter ev>0 si"), "filter ev>0 size>"), "columns in the last term of a filter");
    ok(offers(choices_of("set slab_auto"), "set slab_automove "), "settings behind set");
    ok(offers(choices_of("set slab_automove "), "set slab_automove 0"), "and behind a setting its values");
}

TEST(test_any_word_of_a_name_or_its_help_finds_it) {
    static const char *const found[][2] = {
        {"pol", "set policy "}, {"eviction policy", "set policy "}, {"policy evic", "set policy "}, {"set evic pol", "set policy "},
        {"limit mib", "set maxbytes "}, {"light", "theme light"}, {"crawler sl", "set lru_crawler_sleep "}, {"12", "class 12"},
        {"other memory", "curves"}, {"round trips", "latency"}};
    for (size_t i = 0; i < sizeof found / sizeof *found; i++) {
        is_str(choices_of(found[i][0]) > 0 ? choices[0].line : "nothing", found[i][1], "'%s' finds it first", found[i][0]);
    }
    ok(offers(choices_of("pol"), "set class_policy "), "and others behind it");
    ok(!offers(choices_of("set class"), "class "), "behind a word stand its arguments only");
    ok(offers(choices_of("memory"), "overview"), "a view's content finds it");
    ok(typed("eviction pol\n").kind == INTENT_NONE && ui.palette.is_open, "Enter goes on with a setting that was found");
    is_str(ui.palette.typed, "set policy ", "and types its name");
}

TEST(test_a_line_is_run) {
    struct intent intent = typed("sort age\n");
    ok(ui.classes.sort == COLUMN_AGE && intent.command == COMMAND_VIEW_CLASSES, "sort sorts, and shows the table");
    typed("filter ev>0\n");
    is_str(ui.classes.filter, "ev>0", "filter filters");
    intent = typed("theme mono\n");
    ok(intent.kind == INTENT_THEME && intent.theme == 4, "theme changes colours");
    typed("class 12\n");
    ok(ui.class_is_open && ui.focus == 12, "class opens one");
    intent = typed("set slab_automove 2\n");
    ok(intent.kind == INTENT_REVIEW && intent.plan.count == 1, "set opens the review of one step");
    is_str(intent.plan.steps[0].name, "slab_automove", "for the setting");
}

TEST(test_a_class_is_the_one_under_the_cursor) {
    reset_ui(1);
    ui.classes.cursor = 5;
    is(palette_class(&ui), 5, "in Classes it is the row's");
    view_open(&ui, 2);
    ui.pages.cursor = 7;
    is(palette_class(&ui), 7, "in Pages the row's there");
    ui.pages.cursor = CLASS_LIMIT;
    is(palette_class(&ui), 0, "and the pool is none");
    view_open(&ui, 0);
    is(palette_class(&ui), 0, "Overview has no cursor, whatever was chosen in Classes");
    view_open_class(&ui, 12);
    is(palette_class(&ui), 12, "a class that is open is the one");
    palette_open(&ui);
    struct intent intent = type("set class_policy sieve\n");
    ok(intent.kind == INTENT_REVIEW || strstr(ui.palette.why, "needs slated") != NULL, "%s", ui.palette.why);
}

TEST(test_a_mistake_keeps_the_line) {
    static const struct {
        const char *line, *why;
    } cases[] = {{"frobnicate\n", "there is no command 'frobnicate'"}, {"sort bananas\n", "there is no column 'bananas'"},
                 {"theme bananas\n", "there is no theme 'bananas'"},   {"class 99\n", "there is no class '99'"},
                 {"set slab_automove bananas\n", "takes"},             {"window 7\n", "1, 10 or 100"},
                 {"cells\n", "no command 'cells' here"},              {"filter >>\n", "not understood"},
                 {"server nobody\n", "no server 'nobody'"},            {"set bananas 1\n", "bananas"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct intent intent = typed(cases[i].line);
        ok(intent.kind == INTENT_NONE && ui.palette.is_open && strstr(ui.palette.why, cases[i].why) != NULL,
           "'%.*s': %s", (int)strcspn(cases[i].line, "\n"), cases[i].line, ui.palette.why);
    }
    typed("x");
    palette_command(&frame, &ui, COMMAND_BACK, KEY_ERASE);
    ok(ui.palette.is_open, "a character is taken back");
    palette_command(&frame, &ui, COMMAND_BACK, KEY_ERASE);
    ok(!ui.palette.is_open, "and on an empty line the key leaves it");
}

TEST(test_the_palette_is_drawn) {
    typed("se");
    draw(&frame, 80, 24, false);
    ok(shows(":se_") && shows(" set ") && shows(" server ") && shows("change a setting: opens the review"), "the line, and above it the choices with their effects");
    is(clipped, 0, "nothing falls off the edge");
    typed("zzz");
    draw(&frame, 40, 10, true);
    ok(shows("nothing matches"), "nothing to choose from is said");
}

/* The settings of a slated, their ranges and choices, do not come with every refresh. */
TEST(test_an_open_palette_requests_settings) {
    static struct snapshot snapshot;
    struct wants wants;
    look(brain_model("cache7:11211"), 0, 0);
    model_set_link(model, LINK_UP, "", 1000);
    fixture_load("slated-0.1-first.txt", 10000, &snapshot);
    model_add(model, &snapshot, 1000);
    screen_wants(&ui, &wants);
    ok(!(wants.inquiries & INQUIRY_BIT(CONFIG)), "the overview needs none of them");
    ok(choices_of("set eviction") > 0 && strstr(choices[0].help, "waiting for the server") != NULL, "until they are there, that is said");
    screen_wants(&ui, &wants);
    ok((wants.inquiries & INQUIRY_BIT(CONFIG)) && (wants.inquiries & INQUIRY_BIT(POLICIES)), "the palette requests them");
}

int main(void) {
    look(fixture_model("memcached-1.6.18"), 20, 0);
    return fixture_main();
}
