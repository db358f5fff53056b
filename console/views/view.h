/* A view: one const struct and one file. A view draws the model onto cells and turns commands into
 * intents; it does no I/O and changes nothing but its own part of struct ui.
 *
 * To add a view: a file here with its struct, a line in view_list.c, a COMMAND_VIEW_ and a scope in
 * keys. */
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

/* All data from which a screen is drawn. Drawing does not change it. */
struct frame {
    const struct model *model; /* the model of the moment shown */
    const struct model *live;  /* the live model */
    const char *under_way;     /* a change or a trial, in words; "" for none */
    const char *audit_path;    /* the file of the record of changes */
    uint64_t now_ms, interval_ms;
    uint64_t retry_ms; /* while the link is down: time of the next try; 0: one is under way */
    time_t wall;
    bool has_trial;
    unsigned trial_left_s; /* with has_trial: until its undo; 0: the undo is under way */
    const char *locked; /* why nothing can be sent: "READ-ONLY", "ROLE read"; or NULL */
    bool is_past;   /* the screen shows an earlier moment, or is paused */
    bool is_replay; /* shows a recording; plays: it steps by itself */
    bool plays;
    bool is_recorded;
    double loaded_share;    /* share of the recording */
    time_t moment;          /* time of day of the figures shown */
    const struct mark *mark;
    const struct fleet_row *servers; /* rows in the order of the fleet */
    unsigned server_count;
    const char *fleet_note; /* an error of a list of servers; "" for none */
    const struct latency_log *probes; /* round trips of a short command; NULL: none is measured */
    const struct watch_log *watch; /* the stream that is watched; NULL: none */
    const char *message;    /* one line for the operator; "" for none */
};

/* The review of a plan, before it is sent. */
struct review {
    bool is_open, is_undo;
    bool is_redo; /* also is_undo: fixed, and restores earlier values */
    bool is_for_marked; /* the change goes to all servers that are marked */
    bool is_seen;       /* the last drawing showed all lines: else none may be sent */
    struct plan plan;
    char title[NOTE_BYTES];   /* the change that an undo takes back */
    struct trial_terms terms; /* minutes 0: no trial */
    unsigned field;           /* the field that keys change */
    bool is_typing;           /* the next digit continues the number */
};

/* The list in which the columns of the class table are chosen. */
struct columns_ui {
    bool is_open;
    unsigned cursor; /* its index in the order */
};

/* The overlay that explains the view's terms, one after the other. */
struct explain_ui {
    bool is_open;
    struct terms terms;
    unsigned top; /* first line shown, if the screen has too few */
};

/* New values of settings, not yet sent, in the order of settings_list. */
struct tune_ui {
    unsigned cursor, top;
    unsigned count; /* rows drawn last */
    char wanted[SETTINGS_MOST][SETTING_VALUE_BYTES]; /* "": no change */
    bool edits;
    char typed[SETTING_VALUE_BYTES];
    char typed_why[NOTE_BYTES]; /* why `typed` was refused; empty: not tried since the last key */
};

struct why_ui {
    bool is_open;
    unsigned top;
};

/* A command that is typed by its name. */
struct palette_ui {
    bool is_open;
    char typed[120];
    char why[NOTE_BYTES]; /* why `typed` was refused; empty: not tried since the last key */
    unsigned choice;      /* index of the marked choice */
};

/* The figure that the cells of the page map show. */
enum page_mode { PAGE_MODE_FILL, PAGE_MODE_AGE, PAGE_MODE_USE, PAGE_MODES };

struct pages_ui {
    unsigned cursor; /* class id, or the pool's row; 0: the first */
    unsigned top;    /* first row shown */
    unsigned marked; /* how many pages of the source class to move */
    enum page_mode mode;
};

struct curves_ui {
    unsigned cursor; /* class id; 0: the cache as a whole */
    unsigned top;
};

struct sizes_ui {
    unsigned cursor; /* index among the orders for other sizes */
};

struct hotkeys_ui {
    unsigned cursor, top;
};

struct events_ui {
    unsigned top;
};

/* The operator's choices on each screen. */
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
    bool class_is_open; /* one class is shown over the view */
    unsigned class_top; /* first line of its stats shown */
    struct review review;
    bool help_is_open;
    unsigned help_top;
    bool help_is_searched;  /* the searched text is being typed */
    char help_searched[40]; /* only lines with this text are shown */
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

/* An action that a view requests. */
struct intent {
    enum intent_kind kind;
    struct plan plan;      /* INTENT_REVIEW: to review, not to send */
    char text[NOTE_BYTES]; /* INTENT_SAY */
    unsigned server;       /* INTENT_OPEN_SERVER: its index in the fleet */
    enum command command;  /* INTENT_COMMAND: acts as its key */
    unsigned theme;        /* INTENT_THEME: its index in cells_themes */
};

struct view {
    const char *name;
    enum scope scope;
    enum command open; /* the command that goes to this view */
    void (*draw)(const struct frame *frame, struct ui *ui, struct cells *cells, struct rect area);
    struct intent (*command)(const struct frame *frame, struct ui *ui, enum command command);
    /* The terms that `?` explains: `terms` adds those that depend on the operator's choices (NULL:
     * none), `shown` has those that the view always shows, up to a NULL. */
    void (*terms)(const struct ui *ui, struct terms *terms);
    const char *const *shown;
    unsigned inquiries; /* INQUIRY_BITs that the view always needs */
    /* Adds inquiries that depend on the operator's choices; NULL: none. */
    void (*wants)(const struct ui *ui, struct wants *wants);
    /* Handles a click on a head (HOT_SORT) or a row (HOT_ROW). NULL: a click only chooses the row.
     * `cursor`: the offset in struct ui of the chosen row, an unsigned; 0: none. */
    void (*click)(struct ui *ui, enum hot_kind kind, unsigned value);
    size_t cursor;
};

extern const struct view overview_view, classes_view, pages_view, sizes_view, curves_view,
    tune_view, fleet_view, events_view, hotkeys_view, diff_view, latency_view;
/* 1 + index of the server under the cursor of Fleet, by the rows last drawn; 0: there is none. */
unsigned fleet_selected(const struct fleet_row *rows, unsigned count, const struct ui *ui);
/* The view of one class. Other views open and close it; it has no key of its own. */
extern const struct view class_view;

/* The style of a sentence with a tone; `plain` is for one that is neither good nor bad. */
uint8_t view_tone_style(enum tone tone, enum style plain);

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

/* Shows one class, above the view that opens it. */
void view_open_class(struct ui *ui, unsigned class_id);

/* Overlays, drawn above the view: a box with a title at the foot of the screen, for `rows` of text,
 * of which the first *top are scrolled off. Returns the inside of the box. */
struct rect view_overlay_box(struct cells *cells, int rows, unsigned *top, const char *title);
enum { OVERLAY_ROWS_MOST = 200 };
/* The inside of a box that shows all rows, to count them. */
struct rect view_overlay_inside(const struct cells *cells);
/* Draws a text that begins `line` rows below the top of the inside, and `indent` columns in, with a
 * mark before its first row. A negative line: that many rows are scrolled off. Returns the rows of
 * the text; with cells NULL only counts them. */
int view_overlay_text(struct cells *cells, struct rect inside, int line, int indent,
                      uint8_t mark_style, const char *mark, uint8_t style, const char *text);
void help_draw(struct ui *ui, enum scope scope, struct cells *cells);
void overlay_draw_explain(struct ui *ui, struct cells *cells);
void overlay_open_explain(struct ui *ui, const struct view *view); /* opens on the view's terms */
void overlay_explain_command(struct ui *ui, enum command command);
/* The inquiries that overlay_draw_why reads. */
#define WHY_WANTS (INQUIRY_BIT(MOVES) | INQUIRY_BIT(AUTOMOVE) | INQUIRY_BIT(SETTINGS))
void overlay_draw_why(const struct frame *frame, struct ui *ui, struct cells *cells);
void overlay_why_command(struct ui *ui, enum command command);
/* tune_edit: a key in the edited line of the tune view. tune_forget: drops all wanted values, after
 * they were sent, or when another server is opened. */
void tune_edit(struct ui *ui, const struct frame *frame, enum command command, uint32_t key);
void tune_forget(struct ui *ui);
void overlay_draw_columns(const struct ui *ui, struct cells *cells);
void overlay_columns_command(struct ui *ui, enum command command);
/* Draws the review, and notes in it whether all lines to send were drawn. */
void review_draw(const struct frame *frame, struct ui *ui, struct cells *cells);

/* Opens the review of a plan with its first field ready for typing; undo_of is the title of the
 * change that the plan takes back; NULL: no undo. */
void review_open(struct review *review, const struct plan *plan, const char *undo_of);
/* Changes a field, if the command does; the app handles COMMAND_SEND and COMMAND_CANCEL. */
void review_command(struct review *review, const struct model *model, enum command command);
/* Takes a typed digit or point. */
void review_type(struct review *review, char typed);
struct intent review_of(struct action action);

/* Draws the classes, the one that evicts most first, with a heading: a part of the overview. */
void imbalance_draw(const struct frame *frame, struct cells *cells, struct rect area);

/* The review that the view's "move pages" command should open, for the given destination (or the
 * worst class when -1). */
struct intent propose_move(const struct frame *frame, int to, int from);
struct intent propose_automove(const struct frame *frame);
struct intent view_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Writes the state of a class and the key to press, in a sentence. Returns its style. */
int class_hint(const struct frame *frame, unsigned class_id, char *out, size_t out_bytes);

/* Draws page moves: flows, automove's reason, and the last moves, newest first. */
void moves_draw(const struct frame *frame, struct cells *cells, struct rect area);
void move_draw_line(const struct page_move *move, struct cells *cells, int y, int width);

/* True when the answer is known; else draws the reason in the area: the answer is on its way, was
 * refused, needs slated, or is not recorded. */
bool view_detail_ready(const struct frame *frame, enum inquiry inquiry, struct cells *cells,
                       struct rect area);

/* Draws the last lines of events, newest first. */
void events_draw_list(const struct frame *frame, struct cells *cells, struct rect area,
                      unsigned top);
#endif
