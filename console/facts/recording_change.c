#include "facts/recording_change.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS_MOST = 512, NUMBERS_MOST = 32768, MILLION = 1000000, VARINT_LETTERS = 13 };
#define DIFFERENCE_MOST ((int64_t)1 << 60)

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/* ---- the numbers of a snapshot, in their order ---- */

struct place {
    json_t *part;
    const char *key;
};

struct places {
    struct place *list;
    unsigned count;
    bool is_sound; /* no table has too many keys */
};

static int compare_keys(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The keys of a table, sorted; KEYS_MOST + 1 when there are too many. */
static unsigned keys_of(const json_t *part, const char *keys[KEYS_MOST]) {
    unsigned count = 0;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)part, key, value) {
        if (count == KEYS_MOST) {
            return KEYS_MOST + 1;
        }
        keys[count++] = key;
    }
    qsort(keys, count, sizeof *keys, compare_keys);
    return count;
}

static void add_place(struct places *places, json_t *part, const char *key) {
    if (!json_is_number(json_object_get(part, key))) {
        return;
    }
    if (places->count == NUMBERS_MOST) {
        places->is_sound = false;
        return;
    }
    places->list[places->count++] = (struct place){part, key};
}

static void add_part(struct places *places, json_t *part) {
    const char *keys[KEYS_MOST];
    unsigned count = keys_of(part, keys);
    places->is_sound = places->is_sound && count <= KEYS_MOST;
    for (unsigned i = 0; i < count && count <= KEYS_MOST; i++) {
        add_place(places, part, keys[i]);
    }
}

/* False when out of memory, or when it is no usual snapshot. The caller frees the list. */
static bool find_places(const json_t *snapshot, struct places *places) {
    json_t *root = (json_t *)(uintptr_t)snapshot, *one;
    size_t i;
    *places =
        (struct places){.list = malloc(NUMBERS_MOST * sizeof *places->list), .is_sound = true};
    if (places->list == NULL) {
        return false;
    }
    add_place(places, root, "pages_free");
    add_place(places, root, "pages_limit");
    add_part(places, json_object_get(root, "general"));
    add_part(places, json_object_get(root, "totals"));
    json_array_foreach(json_object_get(root, "classes"), i, one) {
        add_part(places, one);
    }
    return places->is_sound;
}

/* Whether two tables have the same keys, and the same values where these are no numbers. */
static bool is_same_but_numbers(const json_t *a, const json_t *b) {
    const char *key;
    json_t *value;
    if (json_object_size(a) != json_object_size(b)) {
        return false;
    }
    json_object_foreach((json_t *)(uintptr_t)a, key, value) {
        const json_t *other = json_object_get(b, key);
        bool are_numbers = json_is_number(value) && other != NULL && json_is_number(other);
        if (!are_numbers && !json_equal(value, other)) {
            return false;
        }
    }
    return true;
}

static bool is_same_member(const json_t *a, const json_t *b, const char *name) {
    const json_t *x = json_object_get(a, name), *y = json_object_get(b, name);
    return (x == NULL && y == NULL) || (x != NULL && y != NULL && json_equal(x, y));
}

/* Whether nothing but numbers changed. */
static bool has_same_shape(const json_t *a, const json_t *b) {
    const json_t *x = json_object_get(a, "classes"), *y = json_object_get(b, "classes");
    if (json_object_get(b, "settings") != NULL || !is_same_member(a, b, "server") ||
        !is_same_member(a, b, "version") || !is_same_member(a, b, "slated") ||
        json_array_size(x) != json_array_size(y) ||
        !is_same_but_numbers(json_object_get(a, "general"), json_object_get(b, "general")) ||
        !is_same_but_numbers(json_object_get(a, "totals"), json_object_get(b, "totals"))) {
        return false;
    }
    for (size_t i = 0; i < json_array_size(x); i++) {
        if (!is_same_but_numbers(json_array_get(x, i), json_array_get(y, i))) {
            return false;
        }
    }
    return true;
}

/* ---- varints ---- */

static char *put(char *at, uint64_t value) {
    for (; value >= 32; value >>= 5) {
        *at++ = alphabet[32 + (value & 31)];
    }
    *at++ = alphabet[value];
    return at;
}

/* Moves behind a number; NULL when there is none. */
static const char *take(const char *at, uint64_t *value) {
    *value = 0;
    for (unsigned shift = 0; shift < 65; shift += 5, at++) {
        const char *letter = *at != '\0' ? strchr(alphabet, *at) : NULL;
        if (letter == NULL) {
            return NULL;
        }
        unsigned digit = (unsigned)(letter - alphabet);
        *value |= shift < 64 ? (uint64_t)(digit & 31) << shift : 0;
        if (digit < 32) {
            return at + 1;
        }
    }
    return NULL;
}

/* ---- differences ---- */

static int64_t millionths(double value) {
    return (int64_t)floor(value * MILLION + 0.5);
}

/* The code of a difference. False when it cannot be told so. *kept: the value as a reader will have
 * it, NULL when that is the value itself. */
static bool code_of(const json_t *before, const json_t *after, uint64_t *code, json_t **kept) {
    bool is_whole = json_is_integer(before) && json_is_integer(after);
    int64_t was, is;
    *kept = NULL;
    if (is_whole) {
        was = json_integer_value(before);
        is = json_integer_value(after);
    } else {
        double old = json_number_value(before), new = json_number_value(after);
        if (!(fabs(old) <= 1e12 && fabs(new) <= 1e12) ||
            fabs(new *MILLION - (double)millionths(new)) > 0.01) {
            return false;
        }
        was = millionths(old);
        is = millionths(new);
    }
    int64_t difference = (int64_t)((uint64_t)is - (uint64_t)was);
    bool has_wrapped = (is >= was) != (difference >= 0);
    if (has_wrapped || difference > DIFFERENCE_MOST || difference < -DIFFERENCE_MOST) {
        return false;
    }
    if (!is_whole) {
        *kept = json_real((double)is / MILLION);
    }
    *code = ((uint64_t)difference << 1 ^ (difference < 0 ? UINT64_MAX : 0)) << 1 | !is_whole;
    return true;
}

/* The value after a difference; NULL when it does not fit. */
static json_t *changed(const json_t *value, uint64_t code) {
    int64_t difference = (int64_t)(code >> 2 ^ (code >> 1 & 1 ? UINT64_MAX : 0));
    if (code & 1) {
        double now = json_number_value(value);
        return fabs(now) <= 1e12
                   ? json_real(
                         (double)((int64_t)((uint64_t)millionths(now) + (uint64_t)difference)) /
                         MILLION)
                   : NULL;
    }
    return json_is_integer(value)
               ? json_integer((int64_t)((uint64_t)json_integer_value(value) + (uint64_t)difference))
               : NULL;
}

static bool is_same_number(const json_t *a, const json_t *b) {
    return json_is_integer(a) && json_is_integer(b) ? json_integer_value(a) == json_integer_value(b)
                                                    : json_number_value(a) == json_number_value(b);
}

char *recording_change_between(const json_t *before, json_t *after) {
    struct places was = {0}, is = {0};
    bool fits = has_same_shape(before, after) && find_places(before, &was) &&
                find_places(after, &is) && was.count == is.count;
    char *text = fits ? malloc((size_t)is.count * 2 * VARINT_LETTERS + 1) : NULL, *at = text;
    uint64_t skipped = 0, code;
    for (unsigned i = 0; at != NULL && i < is.count; i++) {
        const json_t *old = json_object_get(was.list[i].part, was.list[i].key);
        const json_t *new = json_object_get(is.list[i].part, is.list[i].key);
        json_t *kept = NULL;
        if (is_same_number(old, new)) {
            skipped++;
            if (json_typeof(old) != json_typeof(new)) { /* of the type that a reader has */
                json_object_set(is.list[i].part, is.list[i].key, (json_t *)(uintptr_t)old);
            }
            continue;
        }
        if (!code_of(old, new, &code, &kept)) {
            free(text);
            text = at = NULL;
            break;
        }
        at = put(put(at, skipped), code);
        skipped = 0;
        if (kept != NULL) {
            json_object_set_new(is.list[i].part, is.list[i].key, kept);
        }
    }
    if (at != NULL) {
        *at = '\0';
    }
    free(was.list);
    free(is.list);
    return text;
}

json_t *recording_change_apply(const json_t *before, const json_t *line) {
    const char *at = json_string_value(json_object_get(line, "d"));
    json_t *time_s = json_object_get(line, "time_s");
    json_t *one = at != NULL && json_is_number(time_s) ? json_deep_copy(before) : NULL;
    struct places places = {0};
    bool fits = one != NULL && find_places(one, &places);
    uint64_t skipped, code, place = 0;
    for (; fits && *at != '\0'; place++) {
        at = take(at, &skipped);
        at = at != NULL ? take(at, &code) : NULL;
        fits = at != NULL && skipped < places.count && (place += skipped) < places.count;
        if (fits) {
            const struct place *number = &places.list[place];
            json_t *value = changed(json_object_get(number->part, number->key), code);
            fits = value != NULL && json_object_set_new(number->part, number->key, value) == 0;
        }
    }
    free(places.list);
    if (!fits) {
        json_decref(one);
        return NULL;
    }
    json_object_del(one, "settings");
    json_object_set(one, "time_s", time_s);
    return one;
}
