/* What a view is: one const struct and one file. A view draws the model onto cells and turns
 * commands into intents; it does no I/O and changes nothing but its own part of struct ui.
 *
 * To add a view: a file here with its struct, a line in view_list (view.c), a COMMAND_VIEW_ and a
 * scope in keys. */
#ifndef CONSOLE_VIEWS_VIEW_H
#define CONSOLE_VIEWS_VIEW_H
#include "action.h"
#include "cells.h"
#include "class_table.h"
#include "keys.h"
#include "model.h"

/* Everything that a screen is drawn from. Nothing here is changed by drawing. */
struct frame {
    const struct model *model;
    const struct job *job;
    uint64_t now_ms, interval_ms;
    uint64_t retry_ms; /* while the link is down: time of the next try, 0 when one is under way */
    time_t wall;
    bool read_only;
    const char *message; /* one line for the operator; "" for none */
};

/* The review of one change, before it is sent. */
struct review {
    bool is_open;
    struct action action;
    unsigned field; /* the one that keys change */
    bool is_typing; /* the next digit continues the number */
};

struct events_ui {
    unsigned top;
};

/* What the operator has chosen on each screen. */
struct ui {
    unsigned view; /* index into view_list */
    struct class_table_ui classes;
    struct events_ui events;
    struct review review;
    bool help_is_open;
    unsigned help_top;
};

enum intent_kind { INTENT_NONE, INTENT_REVIEW, INTENT_SAY };

/* What a view wants done. */
struct intent {
    enum intent_kind kind;
    struct action action;  /* INTENT_REVIEW: to be reviewed, not to be sent */
    char text[NOTE_BYTES]; /* INTENT_SAY */
};

struct view {
    const char *name;
    enum scope scope;
    enum command open; /* the command that goes to this view */
    void (*draw)(const struct frame *frame, struct ui *ui, struct cells *cells, struct rect area);
    struct intent (*command)(const struct frame *frame, struct ui *ui, enum command command);
};

extern const struct view overview_view, classes_view, events_view;

/* The views in the order of their keys; NULL ends. */
extern const struct view *const view_list[];

/* Draws a whole screen: title, tabs, the current view, overlays, message line and key bar. */
void screen_draw(const struct frame *frame, struct ui *ui, struct cells *cells);

/* The smallest screen that is drawn; below it one line says so. */
enum { SCREEN_LEAST_WIDTH = 40, SCREEN_LEAST_HEIGHT = 10 };

/* Overlays, drawn above the view. */
void help_draw(struct ui *ui, enum scope scope, struct cells *cells);
void review_draw(const struct frame *frame, const struct ui *ui, struct cells *cells);

/* Opens the review of an action with its first field ready for typing. */
void review_open(struct review *review, const struct action *action);
/* Changes a field, or nothing: COMMAND_SEND and COMMAND_CANCEL are the app's. */
void review_command(struct review *review, const struct snapshot *now, enum command command);
void review_digit(struct review *review, unsigned digit);

/* The review that the view's "move pages" command should open, for the given destination (or the
 * worst class when -1). */
struct intent propose_move(const struct frame *frame, int to, int from);
struct intent propose_automove(const struct frame *frame);
struct intent say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The last lines of events, newest first. */
void events_draw_list(const struct frame *frame, struct cells *cells, struct rect area,
                      unsigned top);
#endif
