/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs a fuzzer of this folder without libFuzzer. Built as a suite (FUZZ_CORPUS names its folder of corpus/) it replays the
 * inputs that are kept and speaks TAP: what they once reached or broke stays reached and mended. Otherwise: random inputs made of the words of its dictionary, mutated and crossed
 * with each other, for a number of seconds. It knows nothing of coverage; it is for machines that have no clang.
 *
 *     gcc … -fsanitize=address,undefined -o fuzz tests/fuzz/driver.c tests/fuzz/fuzz_session.c <the daemon's rooms>
 *     SEED=7 ./fuzz tests/fuzz/session.dict 30
 *
 * Prints its seed first and writes each input to the file fuzz-input before running it, so that a crash can be seen again. */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef FUZZ_CORPUS
#include "tap.h"
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#ifdef FUZZ_CORPUS
/* An input that breaks something ends the program: the one that was named last did it. */
static int replay(const char *folder) {
    static uint8_t bytes[1 << 16];
    unsigned inputs = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir)) != NULL;) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        FILE *file = entry->d_name[0] == '.' ? NULL : fopen(path, "rb");
        if (file) {
            size_t n = fread(bytes, 1, sizeof bytes, file);
            fclose(file);
            printf("# %s\n", path);
            fflush(stdout);
            LLVMFuzzerTestOneInput(bytes, n);
            inputs++;
        }
    }
    if (dir) {
        closedir(dir);
    }
    ok(inputs > 0, "%u inputs of %s break nothing", inputs, folder);
    return tap_done();
}

int main(void) { return replay(FUZZ_CORPUS); }
#else
enum { WORDS_MAX = 256, WORD_BYTES = 64, POOL = 64, INPUT_BYTES = 1500 };

struct token {
    char   bytes[WORD_BYTES];
    size_t n;
};
struct input {
    uint8_t bytes[INPUT_BYTES];
    size_t  n;
};

static struct token  words[WORDS_MAX];
static size_t       word_count;
static struct input pool[POOL];
static uint64_t     state;

static uint32_t pick(uint32_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % below;
}

/* A dictionary line is a quoted word with \\, \" and \xNN. */
static void read_word(const char *line) {
    const char *p = strchr(line, '"');
    if (line[0] == '#' || !p || word_count == WORDS_MAX) {
        return;
    }
    struct token *w = &words[word_count];
    for (p++; *p && *p != '"' && w->n < WORD_BYTES; p++) {
        char c = *p;
        if (c == '\\' && p[1] == 'x') {
            char hex[3] = {p[2], p[2] ? p[3] : 0, 0};
            c = (char)strtol(hex, NULL, 16);
            p += 2 + (p[3] != 0);
        } else if (c == '\\' && p[1]) {
            c = *++p;
        }
        w->bytes[w->n++] = c;
    }
    word_count += w->n > 0;
}

static void insert(struct input *in, size_t at, const void *bytes, size_t n) {
    if (n > INPUT_BYTES - in->n) {
        return;
    }
    memmove(in->bytes + at + n, in->bytes + at, in->n - at);
    memcpy(in->bytes + at, bytes, n);
    in->n += n;
}

static void mutate(struct input *in) {
    const struct input *other = &pool[pick(POOL)];
    size_t at = pick((uint32_t)in->n + 1), n = pick(40);
    const struct token *w = &words[pick((uint32_t)word_count)];
    uint8_t byte = (uint8_t)pick(256);
    switch (pick(6)) {
    case 0:
        insert(in, at, &byte, 1);
        break;
    case 1:
        n = n < in->n - at ? n : in->n - at;
        memmove(in->bytes + at, in->bytes + at + n, in->n - at - n);
        in->n -= n;
        break;
    case 2:
        if (other->n > 0) {
            size_t from = pick((uint32_t)other->n);
            uint8_t copy[40];
            n = n < other->n - from ? n : other->n - from;
            memcpy(copy, other->bytes + from, n);
            insert(in, at, copy, n);
        }
        break;
    default:
        insert(in, at, w->bytes, w->n);
        break;
    }
}

static void save(const struct input *in) {
    FILE *file = fopen("fuzz-input", "wb");
    if (file) {
        fwrite(in->bytes, 1, in->n, file);
        fclose(file);
    }
}

int main(int argc, char **argv) {
    FILE *dict = argc == 3 ? fopen(argv[1], "r") : NULL;
    char line[256];
    if (!dict) {
        fprintf(stderr, "usage: %s DICTIONARY SECONDS\n", argv[0]);
        return 2;
    }
    while (fgets(line, sizeof line, dict)) {
        read_word(line);
    }
    fclose(dict);
    if (word_count == 0) {
        fprintf(stderr, "%s: no words in %s\n", argv[0], argv[1]);
        return 2;
    }
    const char *given = getenv("SEED");
    state = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
    printf("SEED=%" PRIu64 "\n", state);
    fflush(stdout);
    uint64_t inputs = 0;
    for (time_t end = time(NULL) + atoi(argv[2]); time(NULL) < end; inputs++) {
        struct input *in = &pool[pick(POOL)];
        if (in->n < 8 || pick(200) == 0) {
            in->n = 8;
            for (int i = 0; i < 8; i++) {
                in->bytes[i] = (uint8_t)pick(256);
            }
        }
        for (uint32_t i = 0, n = 1 + pick(8); i < n; i++) {
            mutate(in);
        }
        save(in);
        LLVMFuzzerTestOneInput(in->bytes, in->n);
    }
    remove("fuzz-input");
    printf("%" PRIu64 " inputs\n", inputs);
    return 0;
}
#endif
