/* What a view is: one const struct and one file. A view draws the model onto cells and turns
 * commands into intents; it does no I/O and changes nothing but its own part of struct ui.
 *
 * To add a view: a file here with its struct, a line in view_list.c, a COMMAND_VIEW_ and a
 * scope in keys. */
#ifndef CONSOLE_VIEWS_VIEW_H
#define CONSOLE_VIEWS_VIEW_H
#include "act/acting.h"
#include "brain/brain.h"
#include "brain/sizes.h"
#include "draw/cells.h"
#include "draw/class_table.h"
#include "draw/explain.h"
#include "draw/fleet_table.h"
#include "draw/keys.h"
#include "facts/latency.h"
#include "facts/model.h"
#include "link/watch.h"

/* The moment that the diff compares with. */
struct mark {
    bool is_set;
    time_t wall;
    char server[NOTE_BYTES];
    struct snapshot snapshot;
};

/* Everything that a screen is drawn from. Nothing here is changed by drawing. */
struct frame {
    const struct model *model; /* as it is now, or as it was at the moment looked at */
    const struct model *live;  /* as it is now */
    const char *under_way;     /* a change or a trial, in words; "" for none */
    const char *audit_path;    /* where changes are logged */
    uint64_t now_ms, interval_ms;
    uint64_t retry_ms; /* while the link is down: time of the next try, 0 when one is under way */
    time_t wall;
    bool has_trial;
    unsigned trial_left_s; /* when has_trial: until it goes back; 0: it is on its way back */
    const char *locked; /* why nothing can be sent: "READ-ONLY", "ROLE read"; NULL: it can */
    bool is_past;   /* the screen shows an earlier moment, or stands still */
    bool is_replay; /* of a recording; plays: it moves on by itself */
    bool plays;
    bool is_recorded;
    double loaded_share;    /* of the recording */
    time_t moment;          /* time of day of the figures shown */
    const struct mark *mark;
    const struct fleet_row *servers; /* in the order of the fleet */
    unsigned server_count;
    const char *fleet_note; /* what is wrong with a list of servers; "" when nothing is */
    const struct latency_log *probes; /* round trips of a short command; NULL: none is measured */
    const struct watch_log *watch; /* the stream that is watched; NULL: none */
    const char *message;    /* one line for the operator; "" for none */
};

/* The review of a plan, before it is sent. */
struct review {
    bool is_open, is_undo;
    bool is_redo; /* it is undo, too: fixed, and back to what was */
    bool is_for_marked; /* it goes to all servers that are marked in the fleet */
    bool is_seen;       /* the last drawing showed all that would be sent: else nothing is */
    struct plan plan;
    char title[NOTE_BYTES];   /* of an undo: what is undone */
    struct trial_terms terms; /* minutes 0: no trial */
    unsigned field;           /* the one that keys change */
    bool is_typing;           /* the next digit continues the number */
};

/* The list in which the columns of the class table are chosen. */
struct columns_ui {
    bool is_open;
    unsigned cursor; /* its place in the order */
};

/* What a figure means: one term after the other, of those that the view shows. */
struct explain_ui {
    bool is_open;
    struct terms terms;
    unsigned top; /* first line shown, where the screen is too low for all */
};

/* Settings that are to change: values not sent yet, in the order of settings_list. */
struct tune_ui {
    unsigned cursor, top;
    unsigned count; /* rows drawn last */
    char wanted[SETTINGS_MOST][SETTING_VALUE_BYTES]; /* "" when it is to stay */
    bool edits;
    char typed[SETTING_VALUE_BYTES];
    char typed_why[NOTE_BYTES]; /* why it was not taken; empty: it was not tried as it stands */
};

struct why_ui {
    bool is_open;
    unsigned top;
};

/* A command that is typed by its name. */
struct palette_ui {
    bool is_open;
    char typed[120];
    char why[NOTE_BYTES]; /* why it was not taken; empty: it was not tried as it stands */
    unsigned choice;      /* which of the choices is marked */
};

/* What the cells of the page map show. */
enum page_mode { PAGE_MODE_FILL, PAGE_MODE_AGE, PAGE_MODE_USE, PAGE_MODES };

struct pages_ui {
    unsigned cursor; /* class id, or the pool's row; 0: the first */
    unsigned top;    /* first row shown */
    unsigned marked; /* how many pages of the source class are to be moved */
    enum page_mode mode;
};

struct curves_ui {
    unsigned cursor; /* class id; 0: the whole cache */
    unsigned top;
};

struct sizes_ui {
    unsigned cursor; /* of the orders for other sizes */
};

struct hotkeys_ui {
    unsigned cursor, top;
};

struct events_ui {
    unsigned top;
};

/* What the operator has chosen on each screen. */
struct ui {
    unsigned view;  /* index into view_list */
    unsigned focus; /* the class whose every stat the view shows; 0: none */
    struct class_table_ui classes;
    struct columns_ui columns;
    struct explain_ui explain;
    struct tune_ui tune;
    struct why_ui why;
    struct events_ui events;
    struct fleet_ui fleet;
    unsigned diff_top;
    struct pages_ui pages;
    struct curves_ui curves;
    struct sizes_ui sizes;
    struct hotkeys_ui hotkeys;
    bool class_is_open; /* one class is shown, whatever the view */
    unsigned class_top; /* first line of its stats shown */
    struct review review;
    bool help_is_open;
    unsigned help_top;
    bool help_is_searched;  /* what is searched for is being typed */
    char help_searched[40]; /* only lines that hold it are shown */
    struct palette_ui palette;
};

enum intent_kind {
    INTENT_NONE,
    INTENT_REVIEW,
    INTENT_SAY,
    INTENT_OPEN_SERVER,
    INTENT_COMMAND,
    INTENT_THEME
};

/* What a view wants done. */
struct intent {
    enum intent_kind kind;
    struct plan plan;      /* INTENT_REVIEW: to be reviewed, not to be sent */
    char text[NOTE_BYTES]; /* INTENT_SAY */
    unsigned server;       /* INTENT_OPEN_SERVER: its place in the fleet */
    enum command command;  /* INTENT_COMMAND: as if its key had been pressed */
    unsigned theme;        /* INTENT_THEME: its place in theme_names */
};

struct view {
    const char *name;
    enum scope scope;
    enum command open; /* the command that goes to this view */
    void (*draw)(const struct frame *frame, struct ui *ui, struct cells *cells, struct rect area);
    struct intent (*command)(const struct frame *frame, struct ui *ui, enum command command);
    /* The terms that `?` explains: `terms` adds those that depend on what is chosen (NULL: none),
     * `shown` has those that the view always shows, up to a NULL. */
    void (*terms)(const struct ui *ui, struct terms *terms);
    const char *const *shown;
    unsigned inquiries; /* what it always shows beyond a refresh: of INQUIRY_BIT */
    /* Adds what else it shows; NULL: nothing. */
    void (*wants)(const struct ui *ui, struct wants *wants);
    /* A click on a head (HOT_SORT) or a row (HOT_ROW) of it; NULL: it does nothing but choose the
     * row, whose place in struct ui, an unsigned, is at `cursor`; 0: there is none. */
    void (*click)(struct ui *ui, enum hot_kind kind, unsigned value);
    size_t cursor;
};

extern const struct view overview_view, classes_view, pages_view, sizes_view, curves_view,
    tune_view, fleet_view, events_view, hotkeys_view, diff_view, latency_view;
/* 1 + place of the server under the cursor of Fleet, by the rows drawn last; 0: there is none. */
unsigned fleet_selected(const struct fleet_row *rows, unsigned count, const struct ui *ui);
/* One class: opened from others, and closed again; it has no key of its own. */
extern const struct view class_view;

/* The style of a sentence, beside that of one that is neither good nor bad. */
uint8_t tone_style(enum tone tone, enum style plain);

/* The views in the order of their keys; NULL ends. */
extern const struct view *const view_list[];
/* The view on the screen. */
const struct view *view_current(const struct ui *ui);
/* Goes to a view of view_list. */
void view_open(struct ui *ui, unsigned view);

/* A click on a head or a row of a view. */
void view_click(const struct view *view, struct ui *ui, enum hot_kind kind, unsigned value);

/* All terms that a view shows; never none. */
void view_terms(const struct view *view, const struct ui *ui, struct terms *out);

/* Shows one class, above the view that it is opened from. */
void class_open(struct ui *ui, unsigned class_id);

/* Overlays, drawn above the view: a box with a title at the foot of the screen, for so many rows of
 * text, of which the first *top are scrolled off. Returns its inside. */
struct rect overlay_box(struct cells *cells, int rows, unsigned *top, const char *title);
enum { OVERLAY_ROWS_MOST = 200 };
/* The inside of a box that shows all; for the counting. */
struct rect overlay_inside(const struct cells *cells);
/* A text that begins `line` rows below the top of the inside, and `indent` columns in, with a mark
 * before its first row. A negative line: the text is scrolled off so far. Returns the rows of the
 * text; with cells NULL only counts them. */
int overlay_text(struct cells *cells, struct rect inside, int line, int indent, uint8_t mark_style,
                 const char *mark, uint8_t style, const char *text);
void help_draw(struct ui *ui, enum scope scope, struct cells *cells);
void explain_draw(struct ui *ui, struct cells *cells);
void explain_open(struct ui *ui, const struct view *view); /* of what the view shows */
void explain_command(struct ui *ui, enum command command);
/* The inquiries that why_draw reads. */
#define WHY_WANTS (INQUIRY_BIT(MOVES) | INQUIRY_BIT(AUTOMOVE) | INQUIRY_BIT(SETTINGS))
void why_draw(const struct frame *frame, struct ui *ui, struct cells *cells);
void why_command(struct ui *ui, enum command command);
/* The tune view's line that is being edited; and all values that are wanted, when they were sent or
 * another server is opened. */
void tune_edit(struct ui *ui, const struct frame *frame, enum command command, uint32_t key);
void tune_forget(struct ui *ui);
void columns_draw(const struct ui *ui, struct cells *cells);
void columns_command(struct ui *ui, enum command command);
/* Notes in the review whether all that would be sent was drawn. */
void review_draw(const struct frame *frame, struct ui *ui, struct cells *cells);

/* Opens the review of a plan with its first field ready for typing; undo_of is the title of the
 * change that it takes back, NULL when it is a change. */
void review_open(struct review *review, const struct plan *plan, const char *undo_of);
/* Changes a field, or nothing: COMMAND_SEND and COMMAND_CANCEL are the app's. */
void review_command(struct review *review, const struct model *model, enum command command);
/* A digit or a point that was typed. */
void review_type(struct review *review, char typed);
struct intent review_of(struct action action);

/* The classes by who evicts most, with a heading: a part of the overview. */
void imbalance_draw(const struct frame *frame, struct cells *cells, struct rect area);

/* The review that the view's "move pages" command should open, for the given destination (or the
 * worst class when -1). */
struct intent propose_move(const struct frame *frame, int to, int from);
struct intent propose_automove(const struct frame *frame);
struct intent say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The state of a class and what to press, in a sentence; the style it is to be drawn in. */
int class_hint(const struct frame *frame, unsigned class_id, char *out, size_t out_bytes);

/* Page moves: flows, what automove thinks, and the last moves, newest first. */
void moves_draw(const struct frame *frame, struct cells *cells, struct rect area);
void move_draw_line(const struct page_move *move, struct cells *cells, int y, int width);

/* True when the answer is there; else says in the area why not: it is on its way, was refused,
 * needs slated, or is not recorded. */
bool detail_ready(const struct frame *frame, enum inquiry inquiry, struct cells *cells,
                  struct rect area);

/* The last lines of events, newest first. */
void events_draw_list(const struct frame *frame, struct cells *cells, struct rect area,
                      unsigned top);
#endif
