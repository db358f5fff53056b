#include "screen.h"
#include "views/palette.h"

static struct palette_choice choices[PALETTE_CHOICES];

static struct intent type(const struct frame *frame, const char *text) {
    struct intent intent = {0};
    for (; *text != '\0'; text++) {
        uint32_t key = *text == '\n' ? KEY_RETURN : (uint32_t)*text;
        intent = palette_command(frame, &ui, key_command(key, SCOPE_PALETTE), key);
    }
    return intent;
}

static unsigned choices_of(const struct frame *frame, const char *text) {
    palette_open(&ui);
    type(frame, text);
    return palette_choices(frame, &ui, choices);
}

static bool offers(unsigned count, const char *line) {
    for (unsigned i = 0; i < count; i++) {
        if (strcmp(choices[i].line, line) == 0) {
            return true;
        }
    }
    return false;
}

/* Through a list there are keys; sort, filter and their like take an argument. */
static void test_every_command_of_a_view_can_be_found(const struct frame *frame) {
    static const struct {
        const char *typed;
        enum command command;
    } cases[] = {{"undo", COMMAND_UNDO},     {"redo", COMMAND_REDO},       {"record", COMMAND_RECORD},
                 {"quit", COMMAND_QUIT},     {"pause", COMMAND_PAUSE},     {"hot keys", COMMAND_VIEW_HOTKEYS},
                 {"help", COMMAND_HELP},     {"keep", COMMAND_KEEP_TRIAL}, {"back by a min", COMMAND_MINUTE_BACK},
                 {"mouse", COMMAND_MOUSE},   {"shell", COMMAND_SUSPEND},   {"event after", COMMAND_EVENT_AFTER},
                 {"diff", COMMAND_VIEW_DIFF}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        reset_ui(0);
        palette_open(&ui);
        type(frame, cases[i].typed);
        struct intent intent = type(frame, "\n");
        ok(intent.kind == INTENT_COMMAND && intent.command == cases[i].command, "'%s' is found and run", cases[i].typed);
    }
}

static void test_a_word_is_completed(const struct frame *frame) {
    reset_ui(0);
    ok(offers(choices_of(frame, ""), "classes"), "everything is offered before a letter is typed");
    unsigned count = choices_of(frame, "cl");
    ok(offers(count, "classes") && offers(count, "class "), "what begins so is offered");
    ok(!offers(count, "tune"), "and nothing else");
    palette_command(frame, &ui, COMMAND_COMPLETE, '\t');
    is_str(ui.palette.typed, "classes", "Tab types the first");
    count = choices_of(frame, "sort ");
    ok(offers(count, "sort age") && offers(count, "sort ev"), "columns are offered behind sort");
    ok(offers(choices_of(frame, "theme l"), "theme light"), "themes behind theme");
    ok(offers(choices_of(frame, "class "), "class 12"), "classes behind class");
    ok(offers(choices_of(frame, "filter ev>0 si"), "filter ev>0 size>"), "columns in the last term of a filter");
    ok(offers(choices_of(frame, "set slab_auto"), "set slab_automove "), "settings behind set");
    ok(offers(choices_of(frame, "set slab_automove "), "set slab_automove 0"), "and behind a setting its values");
}

/* The first choice is what Enter runs. */
static void is_first(const struct frame *frame, const char *typed, const char *line) {
    unsigned count = choices_of(frame, typed);
    is_str(count > 0 ? choices[0].line : "nothing", line, "'%s' finds it first", typed);
}

static void test_any_word_of_a_name_or_its_help_finds_it(const struct frame *frame) {
    reset_ui(0);
    unsigned count = choices_of(frame, "pol");
    ok(offers(count, "set policy ") && offers(count, "set class_policy "), "'pol' finds the settings of policies");
    is_first(frame, "pol", "set policy ");
    is_first(frame, "eviction policy", "set policy ");
    is_first(frame, "policy evic", "set policy ");
    is_first(frame, "set evic pol", "set policy ");
    is_first(frame, "limit mib", "set maxbytes ");
    is_first(frame, "light", "theme light");
    is_first(frame, "crawler sl", "set lru_crawler_sleep ");
    count = choices_of(frame, "set class");
    ok(!offers(count, "class "), "behind a word stand its arguments only");
    is_first(frame, "12", "class 12");
    is_first(frame, "other memory", "curves");
    is_first(frame, "round trips", "latency");
    ok(offers(choices_of(frame, "memory"), "overview"), "what is in a view finds it");
    reset_ui(0);
    palette_open(&ui);
    struct intent intent = type(frame, "eviction pol\n");
    ok(intent.kind == INTENT_NONE && ui.palette.is_open, "Enter goes on with a setting that was found");
    is_str(ui.palette.typed, "set policy ", "and types its name");
}

static void test_a_line_is_run(const struct frame *frame) {
    struct intent intent;
    reset_ui(0);
    palette_open(&ui);
    intent = type(frame, "tune\n");
    ok(intent.kind == INTENT_COMMAND && intent.command == COMMAND_VIEW_TUNE, "the name of a view opens it");
    ok(!ui.palette.is_open, "and ends the typing");
    palette_open(&ui);
    intent = type(frame, "q\n");
    ok(intent.kind == INTENT_COMMAND && intent.command == COMMAND_QUIT, "a part of a word stands for the choice marked");
    palette_open(&ui);
    intent = type(frame, "sort age\n");
    ok(ui.classes.sort == COLUMN_AGE && intent.command == COMMAND_VIEW_CLASSES, "sort sorts, and shows the table");
    palette_open(&ui);
    type(frame, "filter ev>0\n");
    is_str(ui.classes.filter, "ev>0", "filter filters");
    palette_open(&ui);
    intent = type(frame, "theme mono\n");
    ok(intent.kind == INTENT_THEME && intent.theme == 4, "theme changes colours");
    palette_open(&ui);
    type(frame, "class 12\n");
    ok(ui.class_is_open && ui.focus == 12, "class opens one");
    reset_ui(0);
    palette_open(&ui);
    intent = type(frame, "set slab_automove 2\n");
    ok(intent.kind == INTENT_REVIEW && intent.plan.count == 1, "set opens the review of one step");
    is_str(intent.plan.steps[0].name, "slab_automove", "for the setting");
}

static void test_a_class_is_the_one_under_the_cursor(const struct frame *frame) {
    struct intent intent;
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
    class_open(&ui, 12);
    is(palette_class(&ui), 12, "a class that is open is the one");
    palette_open(&ui);
    intent = type(frame, "set class_policy sieve\n");
    ok(intent.kind == INTENT_REVIEW || strstr(ui.palette.why, "needs slated") != NULL, "%s", ui.palette.why);
}

static void test_a_mistake_keeps_the_line(const struct frame *frame) {
    static const struct {
        const char *typed, *why;
    } cases[] = {{"frobnicate\n", "there is no command 'frobnicate'"}, {"sort bananas\n", "there is no column 'bananas'"},
                 {"theme bananas\n", "there is no theme 'bananas'"},   {"class 99\n", "there is no class '99'"},
                 {"set slab_automove bananas\n", "takes"},             {"window 7\n", "1, 10 or 100"},
                 {"cells\n", "no command 'cells' here"},              {"filter >>\n", "not understood"},
                 {"server nobody\n", "no server 'nobody'"},            {"set bananas 1\n", "bananas"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        reset_ui(0);
        palette_open(&ui);
        struct intent intent = type(frame, cases[i].typed);
        ok(intent.kind == INTENT_NONE && ui.palette.is_open && strstr(ui.palette.why, cases[i].why) != NULL,
           "'%.*s': %s", (int)strcspn(cases[i].typed, "\n"), cases[i].typed, ui.palette.why);
    }
    palette_open(&ui);
    type(frame, "x");
    palette_command(frame, &ui, COMMAND_BACK, KEY_ERASE);
    ok(ui.palette.is_open, "a character is taken back");
    palette_command(frame, &ui, COMMAND_BACK, KEY_ERASE);
    ok(!ui.palette.is_open, "and on an empty line the key leaves it");
}

static void test_it_is_drawn(const struct frame *frame) {
    for (int narrow = 0; narrow < 2; narrow++) {
        reset_ui(0);
        palette_open(&ui);
        type(frame, "se");
        draw(frame, narrow ? 80 : 160, narrow ? 24 : 50, false);
        ok(shows(":se_"), "the line is shown");
        ok(shows(" set ") && shows(" server "), "above it the choices");
        ok(shows("change a setting: opens the review"), "with what they do");
        is(clipped, 0, "nothing falls off the edge");
    }
    reset_ui(0);
    palette_open(&ui);
    type(frame, "zzz");
    draw(frame, 40, 10, true);
    ok(shows("nothing matches"), "nothing to choose from is said");
}

/* A slated's settings, their ranges and choices are not among what every refresh brings. */
static void test_settings_are_asked_for_while_it_is_open(void) {
    static struct snapshot snapshot;
    struct wants wants;
    struct model *model = brain_model("cache7:11211");
    model_set_link(model, LINK_UP, "", 1000);
    fixture_load("slated-0.1-first.txt", 10000, &snapshot);
    model_add(model, &snapshot, 1000);
    struct frame frame = frame_of(model);
    reset_ui(0);
    screen_wants(&ui, &wants);
    ok(!(wants.inquiries & INQUIRY_BIT(CONFIG)), "the overview needs none of them");
    ok(choices_of(&frame, "set eviction") > 0 && strstr(choices[0].help, "asking the server") != NULL,
       "until they are there, that is said");
    screen_wants(&ui, &wants);
    ok((wants.inquiries & INQUIRY_BIT(CONFIG)) && (wants.inquiries & INQUIRY_BIT(POLICIES)),
       "the palette asks for them");
    model_destroy(&model);
}

int main(void) {
    struct model *model = fixture_model("memcached-1.6.18");
    fixture_go_on(model, 20);
    struct frame frame = frame_of(model);
    test_every_command_of_a_view_can_be_found(&frame);
    test_a_word_is_completed(&frame);
    test_any_word_of_a_name_or_its_help_finds_it(&frame);
    test_a_line_is_run(&frame);
    test_a_class_is_the_one_under_the_cursor(&frame);
    test_a_mistake_keeps_the_line(&frame);
    test_it_is_drawn(&frame);
    test_settings_are_asked_for_while_it_is_open();
    model_destroy(&model);
    return tap_done();
}
