/* slabs automove: the mode in which the server moves pages, and its numbers. */
#include <string.h>

#include "server/admin/admin.h"

/* Joins the words from the third on with spaces: a mode and its settings. False: the text is too
 * long. */
static bool automove_join_words(const struct words *w, char name[AUTOMOVE_NAME_BYTES]) {
    size_t used = 0;
    for (unsigned i = 2; i < w->count; i++) {
        const struct token *word = &w->word[i];
        if (used + word->bytes + 2 > AUTOMOVE_NAME_BYTES) {
            return false;
        }
        if (i > 2) {
            name[used++] = ' ';
        }
        memcpy(name + used, word->ptr, word->bytes);
        used += word->bytes;
    }
    name[used] = '\0';
    return true;
}

/* Sets a mode by number, whatever words follow, or by name. False: `why` holds a clause; an empty
 * `why` means that a single word is no mode, for which memcached has its own error. */
static bool automove_set_mode(const struct words *w, struct settings *to, char *why) {
    char name[AUTOMOVE_NAME_BYTES];
    const char *arguments;
    uint32_t number;
    const struct setting *row = setting_find("slab_automove", strlen("slab_automove"));
    why[0] = '\0';
    if (word_u32(&w->word[2], &number)) {
        snprintf(name, sizeof name, "%u", number);
    } else if (!automove_join_words(w, name)) {
        snprintf(why, SETTING_WHY_BYTES,
                 "wants a mode's name with its settings in at most %d characters",
                 AUTOMOVE_NAME_BYTES - 1);
        return false;
    }
    bool word_alone = w->count == 3;
    if (word_alone && automove_find(name, &arguments) == NULL) {
        return false;
    }
    return setting_set(to, row, name, false, why);
}

/* Handles ratio <r>, window <s> and freeratio <r>. False: the words are none of these. */
static bool automove_set_knob(const struct words *w, struct settings *to, const char **error) {
    const struct token *knob = &w->word[2], *value = &w->word[3];
    uint32_t window_s;
    double   ratio;
    if (w->count > 3 ? word_begins(knob, "window") : word_is(knob, "window")) {
        if (w->count < 4 || !word_u32(value, &window_s)) {
            *error = ANSWER_BAD_FORMAT;
        } else if (window_s < 3 || window_s > 1800) {
            *error = "CLIENT_ERROR automove window too low or too high\r\n";
        } else {
            to->slab_automove_window = (int)window_s;
        }
        return true;
    }
    bool is_ratio = w->count > 3 && word_begins(knob, "ratio"); /* alone `ratio` is a mode */
    bool is_freeratio = w->count > 3 ? word_begins(knob, "freeratio") : word_is(knob, "freeratio");
    if (!is_ratio && !is_freeratio) {
        return false;
    }
    if (w->count < 4 || !word_double(value, &ratio)) {
        *error = REPLY_ERROR;
    } else if (is_ratio && (ratio < 0.01 || ratio > 1)) {
        *error = "CLIENT_ERROR automove ratio must be from 0.01 to 1\r\n";
    } else if (is_ratio) {
        to->slab_automove_ratio = ratio;
    } else {
        to->slab_automove_freeratio = ratio;
    }
    return true;
}

void admin_slabs_automove(struct command_context *ctx, const struct words *w) {
    struct settings to = *server_settings_now(ctx->server);
    char why[SETTING_WHY_BYTES];
    const char *error = NULL;
    uint32_t number;
    if (w->count < 3) {
        text_out_str(ctx->out, REPLY_ERROR);
        return;
    }
    if (!automove_set_knob(w, &to, &error)) {
        if (word_u32(&w->word[2], &number) && number > 2) {
            error = REPLY_ERROR;
        } else if (!automove_set_mode(w, &to, why)) {
            error = ANSWER_BAD_FORMAT;
            if (why[0] != '\0') {
                text_out_printf(ctx->out, "CLIENT_ERROR automove %s\r\n", why);
                return;
            }
        }
    }
    if (!error && admin_needs_trial(ctx, &to)) {
        admin_try_automove(ctx, to.slab_automove, "automove");
        return;
    }
    if (!error && !admin_change(ctx, &to, why)) {
        text_out_printf(ctx->out, "CLIENT_ERROR %s\r\n", why);
        return;
    }
    text_out_str(ctx->out, error ? error : REPLY_OK);
}
