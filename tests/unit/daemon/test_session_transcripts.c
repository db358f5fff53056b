/* Every transcript of tests/proto that needs no socket, against a session and a cache in this process: fed whole, byte by
 * byte, and in random pieces with awkward sends; and whole with every other store and index. Run from the top folder; tests/spec/proto_spec.lua
 * plays the same to a real server and holds the format's description. */
#include "tap.h"

#include <ctype.h>
#include <dirent.h>

#include "session_fixture.h"

enum { STEPS_MAX = 512, PIECES_MAX = 16, BINDINGS_MAX = 32, CLIENTS_MAX = 8, NAME_BYTES = 32, LONG_BYTES = 4096 };

struct piece {
    char  *bytes; /* NULL: a placeholder */
    size_t n;
    char   name[NAME_BYTES], floor[NAME_BYTES];
};

struct step {
    enum { STEP_SEND, STEP_EXPECT, STEP_CONNECTION, STEP_WAIT, STEP_CLOSE } kind;
    struct piece pieces[PIECES_MAX];
    int          count, id, line;
};

struct script {
    char        name[256], options[200];
    bool        debug, net, slab, whole;
    struct step steps[STEPS_MAX];
    int         count;
};

struct binding {
    char name[NAME_BYTES], digits[32];
};

enum feed { FEED_WHOLE, FEED_BYTES, FEED_RANDOM };
static const char *const feed_names[] = {"whole", "byte by byte", "in random pieces"};

static struct script script;
static char failure[800];

/* --- reading a transcript --- */

static char read_byte(const char **p) {
    char c = *(*p)++;
    if (c != '\\') {
        return c;
    }
    c = *(*p)++;
    if (c == 'x') {
        char hex[3] = {(*p)[0], (*p)[1], 0};
        *p += 2;
        return (char)strtol(hex, NULL, 16);
    }
    return c == 'r' ? '\r' : c == 'n' ? '\n' : c == 't' ? '\t' : c;
}

static void put_byte(struct piece *piece, char c, size_t times) {
    piece->bytes = realloc(piece->bytes, piece->n + times + 1);
    memset(piece->bytes + piece->n, c, times);
    piece->n += times;
}

/* Splits the text behind "> " or "< ". False: not what a transcript holds. */
static bool read_pieces(struct step *step, const char *p) {
    struct piece *piece = NULL;
    while (*p) {
        if (*p == '<') {
            const char *close = strchr(p, '>'), *floor = memchr(p, '^', close ? (size_t)(close - p) : 0);
            if (!close || step->count == PIECES_MAX) {
                return false;
            }
            struct piece *place = &step->pieces[step->count++];
            snprintf(place->name, NAME_BYTES, "%.*s", (int)((floor ? floor : close) - p - 1), p + 1);
            snprintf(place->floor, NAME_BYTES, "%.*s", floor ? (int)(close - floor - 1) : 0, floor ? floor + 1 : "");
            piece = NULL;
            p = close + 1;
            continue;
        }
        if (!piece) {
            if (step->count == PIECES_MAX) {
                return false;
            }
            piece = &step->pieces[step->count++];
            put_byte(piece, 0, 0);
        }
        if (*p == '{') {
            p++;
            char c = read_byte(&p);
            char *close;
            put_byte(piece, c, strtoul(p + 1, &close, 10));
            p = close + 1;
        } else {
            put_byte(piece, read_byte(&p), 1);
        }
    }
    return true;
}

static bool read_line(char *line, int number) {
    struct step *step = &script.steps[script.count];
    if (strncmp(line, "! option ", 9) == 0) {
        snprintf(script.options + strlen(script.options), sizeof script.options - strlen(script.options), "%s ", line + 9);
    } else if (strcmp(line, "! debug") == 0) {
        script.debug = true;
    } else if (strcmp(line, "! net") == 0) {
        script.net = true;
    } else if (strcmp(line, "! slab") == 0) {
        script.slab = true;
    } else if (strcmp(line, "! whole") == 0) {
        script.whole = true;
    } else if (line[0] != '#' && line[0] != 0) {
        if (script.count == STEPS_MAX) {
            return false;
        }
        script.count++;
        step->line = number;
        if (strncmp(line, "> ", 2) == 0 || strncmp(line, "< ", 2) == 0) {
            step->kind = line[0] == '>' ? STEP_SEND : STEP_EXPECT;
            return read_pieces(step, line + 2);
        }
        step->kind = strcmp(line, "= close") == 0 ? STEP_CLOSE : strcmp(line, "= wait") == 0 ? STEP_WAIT : STEP_CONNECTION;
        step->id = step->kind == STEP_CONNECTION && line[0] == '@' ? atoi(line + 2) : 1;
        return step->id >= 1 && step->id < CLIENTS_MAX && (step->kind != STEP_CONNECTION || line[0] == '@');
    }
    return true;
}

static bool read_script(const char *folder, const char *name) {
    char path[512], *line = NULL;
    size_t room = 0;
    int number = 0;
    memset(&script, 0, sizeof script);
    snprintf(script.name, sizeof script.name, "%s", name);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    bool good = file != NULL;
    for (ssize_t n; good && (n = getline(&line, &room, file)) >= 0;) {
        line[n > 0 && line[n - 1] == '\n' ? n - 1 : n] = 0;
        good = read_line(line, ++number);
    }
    if (!good) {
        snprintf(failure, sizeof failure, "%s:%d is no transcript line", name, number);
    }
    free(line);
    if (file) {
        fclose(file);
    }
    return good;
}

static void free_script(void) {
    for (int i = 0; i < script.count; i++) {
        for (int k = 0; k < script.steps[i].count; k++) {
            free(script.steps[i].pieces[k].bytes);
        }
    }
}

/* --- playing it --- */

struct player {
    struct rig     rig;
    struct client  clients[CLIENTS_MAX];
    bool           open[CLIENTS_MAX];
    size_t         checked[CLIENTS_MAX]; /* bytes of `out` that were as expected */
    struct binding bindings[BINDINGS_MAX];
    int            binding_count;
    enum feed      feed;
};

static const char *bound(const struct player *p, const char *name) {
    for (int i = 0; i < p->binding_count; i++) {
        if (strcmp(p->bindings[i].name, name) == 0) {
            return p->bindings[i].digits;
        }
    }
    return NULL;
}

static void feed_bytes(struct player *p, struct client *c, const char *bytes, size_t n) {
    size_t done = 0;
    while (done < n) {
        size_t step = n - done;
        if (p->feed == FEED_BYTES) {
            step = n > LONG_BYTES ? 1000 : 1;
        } else if (p->feed == FEED_RANDOM) {
            step = 1 + rig_random(&p->rig, rig_random(&p->rig, 4) == 0 ? 20000 : 24);
        }
        step = step < n - done ? step : n - done;
        client_send(&p->rig, c, bytes + done, step);
        done += step;
    }
}

/* Sends consecutive steps from `at` on in one go; returns the step behind them. */
static int play_sends(struct player *p, struct client *c, int at) {
    char *bytes = NULL;
    size_t n = 0;
    for (; at < script.count && script.steps[at].kind == STEP_SEND; at++) {
        for (int i = 0; i < script.steps[at].count; i++) {
            const struct piece *piece = &script.steps[at].pieces[i];
            const char *text = piece->bytes ? piece->bytes : bound(p, piece->name);
            size_t text_bytes = piece->bytes ? piece->n : strlen(text ? text : "");
            bytes = realloc(bytes, n + text_bytes + 1);
            memcpy(bytes + n, text ? text : "", text_bytes);
            n += text_bytes;
        }
    }
    feed_bytes(p, c, bytes, n);
    free(bytes);
    return at;
}

static bool fail(const struct step *step, const char *what, const char *want, size_t want_bytes, const char *got,
                 size_t got_bytes) {
    snprintf(failure, sizeof failure, "%s:%d: %s: want '%.*s', got '%.*s'", script.name, step->line, what,
             (int)(want_bytes < 120 ? want_bytes : 120), want, (int)(got_bytes < 240 ? got_bytes : 240), got);
    for (char *c = failure; *c; c++) {
        *c = isprint((unsigned char)*c) ? *c : '.';
    }
    return false;
}

static bool number_fits(struct player *p, const struct piece *piece, const char *digits) {
    const char *floor = piece->floor[0] ? bound(p, piece->floor) : NULL;
    if (piece->floor[0] && (!floor || strtoull(digits, NULL, 10) <= strtoull(floor, NULL, 10))) {
        return false;
    }
    if (strcmp(piece->name, "num") == 0) {
        return true;
    }
    const char *before = bound(p, piece->name);
    if (before || p->binding_count == BINDINGS_MAX) {
        return before && strcmp(before, digits) == 0;
    }
    struct binding *b = &p->bindings[p->binding_count++];
    snprintf(b->name, sizeof b->name, "%s", piece->name);
    snprintf(b->digits, sizeof b->digits, "%s", digits);
    return true;
}

static bool check_piece(struct player *p, const struct step *step, const struct piece *piece, const struct client *c,
                        size_t *at) {
    const char *got = c->out + *at;
    size_t left = c->out_bytes - *at, n = 0;
    if (piece->bytes) {
        n = piece->n;
        if (left < n || memcmp(got, piece->bytes, n) != 0) {
            return fail(step, "reply", piece->bytes, n, got, left);
        }
    } else if (strcmp(piece->name, "line") == 0) {
        while (n < left && got[n] != '\r' && got[n] != '\n') {
            n++;
        }
        if (n == 0) {
            return fail(step, "reply", "some text", 9, got, left);
        }
    } else {
        char digits[32];
        while (n < left && n < sizeof digits - 1 && (isdigit((unsigned char)got[n]) || (n == 0 && got[n] == '-'))) {
            digits[n] = got[n];
            n++;
        }
        digits[n] = 0;
        if (n == 0 || !number_fits(p, piece, digits)) {
            return fail(step, "number", piece->name, strlen(piece->name), got, left);
        }
    }
    *at += n;
    return true;
}

static bool play(struct player *p) {
    int id = 1;
    for (int at = 0; at < script.count;) {
        const struct step *step = &script.steps[at];
        if (step->kind == STEP_CONNECTION) {
            id = step->id;
        }
        struct client *c = &p->clients[id];
        if (!p->open[id]) {
            client_open(c);
            p->open[id] = true;
        }
        if (step->kind == STEP_SEND) {
            at = play_sends(p, c, at);
            continue;
        }
        for (int i = 0; i < step->count; i++) {
            if (!check_piece(p, step, &step->pieces[i], c, &p->checked[id])) {
                return false;
            }
        }
        if (step->kind == STEP_CLOSE && !c->closed) {
            return fail(step, "connection", "closed", 6, "open", 4);
        }
        at++;
    }
    for (int i = 0; i < CLIENTS_MAX; i++) {
        const struct step *last = &script.steps[script.count - 1];
        if (p->open[i] && p->checked[i] != p->clients[i].out_bytes) {
            return fail(last, "end", "no more", 7, p->clients[i].out + p->checked[i],
                        p->clients[i].out_bytes - p->checked[i]);
        }
    }
    return true;
}

static void play_script(enum cache_store_kind store, const struct index_kind *index, enum feed feed, uint64_t seed) {
    static struct player player;
    char options[sizeof script.options + 64];
    memset(&player, 0, sizeof player);
    snprintf(options, sizeof options, "--store=%s --index=%s %s", cache_store_name(store), index->name,
             script.options);
    player.feed = feed;
    bool good = rig_open(&player.rig, options);
    player.rig.awkward = feed == FEED_RANDOM;
    player.rig.random = seed;
    ok(good && play(&player), "%s, fed %s to the %s store and the %s index", script.name, feed_names[feed],
       cache_store_name(store), index->name);
    if (failure[0]) {
        printf("# %s\n", failure);
        failure[0] = 0;
    }
    for (int i = 0; i < CLIENTS_MAX; i++) {
        if (player.open[i]) {
            client_close(&player.rig, &player.clients[i]);
        }
    }
    rig_close(&player.rig);
}

static int is_transcript(const struct dirent *entry) {
    const char *dot = strrchr(entry->d_name, '.');
    const char *only = getenv("PROTO");
    return dot && strcmp(dot, ".txt") == 0 && (!only || strstr(entry->d_name, only));
}

int main(void) {
    uint64_t seed = tap_seed();
    struct dirent **names;
    int played = 0, count = scandir("tests/proto", &names, is_transcript, alphasort);
    for (int i = 0; i < count; i++) {
        bool good = read_script("tests/proto", names[i]->d_name);
        free(names[i]);
#ifdef SLATE_DEBUG
        script.debug = false;
#endif
        if (!good) {
            ok(false, "%s", failure);
            failure[0] = 0;
        } else if (!script.net && !script.debug) {
            int stores = script.slab ? CACHE_STORE_SLAB + 1 : CACHE_STORE_KINDS;
            for (int store = 0; store < stores; store++) {
                play_script((enum cache_store_kind)store, index_kinds[0], FEED_WHOLE, seed + (uint64_t)i);
            }
            for (enum feed feed = FEED_BYTES; feed <= (script.whole ? FEED_WHOLE : FEED_RANDOM); feed++) { /* the seed chooses the store */
                play_script((enum cache_store_kind)((seed + (uint64_t)i + feed) % (unsigned)stores), index_kinds[0], feed, seed + (uint64_t)i);
            }
            for (int kind = 1; index_kinds[kind] != NULL; kind++) {
                play_script(CACHE_STORE_SLAB, index_kinds[kind], FEED_WHOLE, seed + (uint64_t)i);
            }
            played++;
        }
        free_script();
    }
    free(count >= 0 ? names : NULL);
    ok(played > 0, "transcripts were found under tests/proto: %d of %d need no socket", played, count);
    return tap_done();
}
