#include "brain/why.h"

#include "brain/brain.h"
#include "brain/health.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STOCK_RATIO_DEFAULT = 800, STOCK_WINDOW_DEFAULT_S = 10, SOURCE_PAGES_LEAST = 3 };
#define STOCK_FREE_PAGES 2.5

struct report {
    struct why_line *lines;
    unsigned count;
};

__attribute__((format(printf, 3, 4))) static void say(struct report *report, enum why_kind kind,
                                                      const char *format, ...) {
    if (report->count < WHY_LINES) {
        struct why_line *line = &report->lines[report->count++];
        line->kind = kind;
        va_list ap;
        va_start(ap, format);
        vsnprintf(line->text, sizeof line->text, format, ap);
        va_end(ap);
    }
}

/* ---- memcached ---- */

/* What memcached's rule looks at, as far as its statistics show it. */
struct ages {
    int oldest, youngest; /* class ids; youngest of those that evict; -1: none */
    double oldest_age, youngest_age, evictions; /* of youngest, a second */
    int rich; /* a class with more free chunks than the rule leaves it; -1: none */
    double rich_pages;
};

static struct ages measure_ages(const struct model *model) {
    const struct snapshot *now = model_now(model);
    struct ages ages = {.oldest = -1, .youngest = -1, .rich = -1};
    for (unsigned id = 1; id < CLASS_LIMIT; id++) {
        const struct class_stats *stats = &now->classes[id];
        double age = stat_number(class_tail_age(stats));
        double pages = stat_number(stats->value[CLASS_total_pages]);
        double evictions = model_class_mean(model, id, CLASS_METRIC_EVICTIONS, HEALTH_WINDOW_MS);
        double free_pages = class_free_pages(stats);
        if (free_pages > STOCK_FREE_PAGES && !(evictions > 0)) {
            ages.rich = (int)id;
            ages.rich_pages = free_pages;
        }
        if (pages >= SOURCE_PAGES_LEAST && (ages.oldest < 0 || age > ages.oldest_age)) {
            ages.oldest = (int)id;
            ages.oldest_age = age;
        }
        if (evictions > 0 && (ages.youngest < 0 || age < ages.youngest_age)) {
            ages.youngest = (int)id;
            ages.youngest_age = age;
            ages.evictions = evictions;
        }
    }
    return ages;
}

static double setting_or(const struct model *model, const char *name, double otherwise) {
    double value = stat_value_number(answer_text(model_answers(model), INQUIRY_SETTINGS), name);
    return isnan(value) ? otherwise : value;
}

static void why_stock_ratio(struct report *report, const struct model *model, bool is_starving) {
    struct ages ages = measure_ages(model);
    double ratio = setting_or(model, "slab_automove_ratio", STOCK_RATIO_DEFAULT / 1000.0);
    double window_s = setting_or(model, "slab_automove_window", STOCK_WINDOW_DEFAULT_S);
    if (ages.youngest < 0) {
        say(report, WHY_GOOD, "No class evicts, so nobody needs a page.");
    } else if (ages.rich >= 0) {
        say(report, WHY_PLAIN, "It should move: class %d has %.1f free pages and does not evict; what is beyond %.1f pages goes to the pool "
            "when nothing was stored in them for %.0f s.", ages.rich, ages.rich_pages, STOCK_FREE_PAGES, window_s);
    } else if (ages.oldest < 0 || ages.oldest == ages.youngest) {
        say(report, WHY_BAD, "It cannot move: no other class has the %d pages that one must have to give.", SOURCE_PAGES_LEAST);
    } else if (!(ages.youngest_age < ratio * ages.oldest_age)) {
        say(report, WHY_GOOD, "The ages are even enough: class %d (%.0f s) is not under %.2f of class %d (%.0f s).", ages.youngest,
            ages.youngest_age, ratio, ages.oldest, ages.oldest_age);
    } else {
        say(report, WHY_PLAIN, "A page from class %d (%.0f s) to class %d (%.0f s) is due: it moves when that class has evicted in more than half "
            "of the last %.0f s, and evicts in the very second; a page a second at most.", ages.oldest, ages.oldest_age, ages.youngest,
            ages.youngest_age, window_s);
    }
    if (ages.youngest >= 0) {
        say(report, WHY_PLAIN, "youngest that evicts: class %d, oldest item %.0f s, %.0f evictions/s", ages.youngest,
            ages.youngest_age, ages.evictions);
    }
    if (ages.oldest >= 0) {
        say(report, WHY_PLAIN, "oldest with %d pages or more: class %d, oldest item %.0f s", SOURCE_PAGES_LEAST, ages.oldest,
            ages.oldest_age);
    }
    say(report, WHY_PLAIN, "rule: youngest < %.2f of oldest, averages over %.0f s (slab_automove_ratio, slab_automove_window)", ratio, window_s);
    if (is_starving) {
        say(report, WHY_PLAIN, "It is slow by design. m moves pages now; t sets mode 2 as a trial.");
    }
}

static void why_stock(struct report *report, const struct model *model) {
    const struct snapshot *now = model_now(model);
    uint64_t mode = now->setting[SETTING_slab_automove];
    bool is_starving = brain_worst_class(brain_of(model)) >= 0;
    if (mode == STAT_ABSENT) {
        say(report, WHY_BAD, "This server does not report an automove setting.");
    } else if (mode == 0) {
        say(report, is_starving ? WHY_BAD : WHY_PLAIN, "automove is 0: nobody moves pages but you. t changes that, m moves pages.");
    } else if (mode == 2) {
        say(report, WHY_PLAIN, "automove is 2: a page of another class goes to the class that evicts, at every eviction.");
        say(report, WHY_BAD, "It goes on as long as anything is evicted, which in a full cache is always: for minutes, not for good.");
    } else {
        why_stock_ratio(report, model, is_starving);
    }
    double moves = model_mean(model, METRIC_PAGES_MOVED, 100000);
    say(report, WHY_PLAIN, "pages moved: %.2f/s over the last 100 s", isnan(moves) ? 0 : moves);
}

/* ---- slated ---- */

/* The classes that utility weighed: who would gain most and who would lose least. */
static void report_weights(struct report *report, const struct worth_list *list) {
    unsigned taker = 0, giver = 0;
    for (unsigned id = 1; id < TUNE_CLASSES; id++) {
        const struct page_worth *worth = &list->classes[id];
        taker = !isnan(worth->gain) && (taker == 0 || worth->gain > list->classes[taker].gain) ? id : taker;
        giver = !isnan(worth->loss) && (giver == 0 || worth->loss < list->classes[giver].loss) ? id : giver;
    }
    if (taker > 0 && giver > 0) {
        say(report, WHY_PLAIN, "a page more would bring class %u most: %.1f ± %.1f hits in 1000 requests", taker,
            list->classes[taker].gain, list->classes[taker].gain_doubt);
        say(report, WHY_PLAIN, "a page less would cost class %u least: %.1f ± %.1f hits", giver,
            list->classes[giver].loss, list->classes[giver].loss_doubt);
        say(report, WHY_PLAIN, "a page moves when the gain less its doubt exceeds the loss with its doubt by a tenth");
    }
}

static void why_slated(struct report *report, const struct model *model, const char *not_yet) {
    const struct details *details = model_details(model);
    if (!detail_is_known(details, INQUIRY_MOVES)) {
        say(report, WHY_PLAIN, "%s", not_yet);
        return;
    }
    const struct move_list *moves = &details->moves;
    say(report, WHY_PLAIN, "automove is %s; it says: %s.", moves->mode, moves->why);
    if (move_list_has_failed(moves)) {
        say(report, WHY_BAD, "FAILED and turned off: %s", moves->failed);
        say(report, WHY_PLAIN, "mend it, try it with slatectl policy test, and set the mode again: t");
    }
    if (moves->state[0] != '\0') {
        say(report, WHY_PLAIN, "its state: %s", moves->state);
    }
    if (detail_is_known(details, INQUIRY_AUTOMOVE) && details->worth.is_weighed) {
        report_weights(report, &details->worth);
    }
    say(report, WHY_PLAIN, "pages moved %.0f, given up %.0f; items rescued %.0f, lost %.0f",
        moves->pages_moved, moves->given_up, moves->rescues, moves->evicted);
    if (strcmp(moves->last_busy, "none") != 0 && moves->last_busy[0] != '\0') {
        say(report, WHY_PLAIN, "an item could last not be moved: %s", moves->last_busy);
    }
    if (strcmp(moves->mode, "off") == 0 || strcmp(moves->mode, "0") == 0) {
        say(report, brain_worst_class(brain_of(model)) >= 0 ? WHY_BAD : WHY_PLAIN, "nobody moves pages but you: t changes that, m moves pages");
    }
}

unsigned why_automove(const struct model *model, bool is_past, struct why_line out[WHY_LINES]) {
    struct report report = {out, 0};
    const struct snapshot *now = model_now(model);
    if (now == NULL) {
        say(&report, WHY_PLAIN, "Nothing is known about the server yet.");
    } else if (now->setting[SETTING_slab_reassign] == 0) {
        say(&report, WHY_BAD, "Pages cannot move: the server runs with slab_reassign off. Start it with -o slab_reassign.");
    } else if (now->is_slated) {
        why_slated(&report, model, is_past ? "of the past it is not recorded why: a full stop goes to now"
                                           : "asking the server ...");
    } else {
        why_stock(&report, model);
    }
    return report.count;
}
