/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An operator's texts: the command line with -o and its lists, that of the simulator, listeners, users, chunk sizes, settings; and the
 * numbers and the base64 under them. Each reader accepts the text or refuses it with a sentence, and accepted values are within their
 * limits.
 *
 * Covers: daemon/server/config:options|settings|listen_list|settings_rules daemon/server/auth:users|role daemon/net/listen:address
 * daemon/simulate:simulate_options|simulate_sizes daemon/protocol:base64 daemon/base:number
 *
 * Input: one byte that chooses the reader, then the text. */
#include <getopt.h>
#include <unistd.h>

#include "base/number.h"
#include "net/listen/address.h"
#include "protocol/base64.h"
#include "server/auth/users.h"
#include "server/config/listen_list.h"
#include "server/config/options.h"
#include "server/config/settings.h"
#include "simulate/simulate_options.h"

#include "must.h"

enum { TEXT_MAX = 2000, WORDS_MAX = 24, USERS_READER = 255 };

/* The words of the text behind a program's name. */
static int split(char *text, char *argv[WORDS_MAX]) {
    static char name[] = "slated";
    char *rest = NULL;
    int argc = 0;
    argv[argc++] = name;
    for (char *word = strtok_r(text, " ", &rest); word && argc < WORDS_MAX - 1; word = strtok_r(NULL, " ", &rest)) {
        argv[argc++] = word;
    }
    argv[argc] = NULL;
    return argc;
}

static void read_command_line(char *text) {
    char why[SETTING_WHY_BYTES] = "", *argv[WORDS_MAX];
    int argc = split(text, argv);
    struct settings settings;
    settings_init(&settings);
    optind = 0;
    if (options_parse(argc, argv, 0, &settings, why) == OPTIONS_BAD) {
        must_say(why, SETTING_WHY_BYTES);
        return;
    }
    must(settings.threads >= 1 && settings.factor > 1 && settings.item_size_max > 0, "what is taken keeps to its limits");
}

static void read_simulation(char *text) {
    char why[SIMULATE_WHY_BYTES] = "", *argv[WORDS_MAX];
    int argc = split(text, argv);
    static struct simulate_options options;
    optind = 0;
    if (!simulate_is_wanted(argc, argv)) {
        return;
    }
    enum simulate_read found = simulate_options_read(argc, argv, &options, why);
    if (found == SIMULATE_BAD) {
        must_say(why, sizeof why);
    } else if (found == SIMULATE_RUN) {
        must(options.trace != NULL && options.policy_count >= 1 && options.policy_count <= SIMULATE_POLICIES_MAX, "there is something to play");
        must(options.size_count >= 1 && options.size_count <= SIMULATE_GRID_MAX && options.requests_per_s >= 1, "what is taken keeps to its limits");
    }
    simulate_options_free(&options);
}

static void read_listeners(const char *text) {
    char why[SETTING_WHY_BYTES] = "", error[512] = "";
    struct listen_entry entry;
    struct address a;
    int more, entries;
    if (strlen(text) >= SETTING_LIST_BYTES - 1) {
        return; /* a list of settings is never so long */
    }
    for (const char *list = text; (entries = listen_list_next(&list, &entry, why)) > 0;) {
        must(strnlen(entry.address, sizeof entry.address) < sizeof entry.address, "an entry ends");
        const char *rest = entry.address;
        while ((more = address_next(&rest, 11211, &a, error, sizeof error)) > 0) {
            must(a.port >= -1 && a.port <= 65535, "a port is one");
            must(strnlen(a.host, sizeof a.host) < sizeof a.host, "a host ends");
        }
        must(more == 0 || error[0] != '\0', "an address that is none is told");
    }
    if (entries < 0) {
        must_say(why, SETTING_WHY_BYTES);
    }
}

static void read_sizes(const char *text) {
    struct slab_sizes sizes;
    char why[SETTING_WHY_BYTES] = "";
    const uint32_t most = 524288;
    if (!settings_parse_slab_sizes(text, most, 63, &sizes, why)) {
        must_say(why, SETTING_WHY_BYTES);
        return;
    }
    must(sizes.count >= 1 && sizes.count <= 62, "there are as many sizes as there may be classes");
    for (unsigned i = 0; i < sizes.count; i++) {
        must(sizes.bytes[i] >= SLAB_SIZES_LEAST_BYTES && sizes.bytes[i] < most, "a size is in its range");
        must(i == 0 || sizes.bytes[i] >= sizes.bytes[i - 1] + SLAB_SIZES_STEP_BYTES, "sizes ascend");
    }
}

static void read_numbers(const char *text, size_t n) {
    char printed[NUMBER_BYTES + 1];
    uint64_t wide;
    uint32_t narrow;
    int32_t  with_sign;
    if (n > 0 && number_u64(text, n, &wide)) {
        char *end = number_put(printed, wide);
        size_t zeros = 0;
        while (zeros + 1 < n && text[zeros] == '0') {
            zeros++;
        }
        must((size_t)(end - printed) == n - zeros && memcmp(printed, text + zeros, n - zeros) == 0, "a number is printed as it was read");
        must(number_u32(text, n, &narrow) == (wide <= UINT32_MAX) || n > 11, "a narrow number is a wide one that fits");
    }
    number_i32(text, n, &with_sign);
    number_client_flags(text, n, &narrow);
    number_exptime(text, n, &with_sign);
}

static void read_base64(const char *text, size_t n) {
    static char decoded[TEXT_MAX], encoded[BASE64_BYTES(TEXT_MAX)];
    size_t bytes = base64_decode(decoded, text, n);
    must(bytes <= n / 4 * 3, "what is decoded is no longer than it may be");
    char again[TEXT_MAX];
    size_t coded = (size_t)(base64_encode(encoded, decoded, bytes) - encoded);
    must(coded == BASE64_BYTES(bytes), "what is encoded is as long as it must be");
    must(base64_decode(again, encoded, coded) == bytes && memcmp(again, decoded, bytes) == 0, "and decodes to the same");
}

/* A file of users, of which the first line's name and password may log in. */
static void read_users(const char *text, size_t n) {
    char why[USERS_WHY_BYTES] = "";
    struct users users;
    enum role role = ROLE_NONE;
    users_init(&users, NULL);
    if (users_load_text(&users, "a file", text, n, why)) {
        size_t line = strcspn(text, "\n"), name = strcspn(text, ":");
        if (users_check(&users, text, name < line ? name : line, text + name + 1, name < line ? line - name - 1 : 0, ROLE_READ, &role)) {
            must(role >= ROLE_READ && role <= ROLE_ADMIN, "a user has a role");
        }
    } else {
        must_say(why, sizeof why);
    }
    users_fini(&users);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    if (n < 1 || n > TEXT_MAX) {
        return 0;
    }
    char *text = malloc(n);
    must(text != NULL, "there is memory");
    memcpy(text, data + 1, n - 1);
    text[n - 1] = '\0';
    switch (data[0] == USERS_READER ? 6 : data[0] % 6) {
    case 0: read_command_line(text); break;
    case 1: read_listeners(text); break;
    case 2: read_sizes(text); break;
    case 3: read_numbers(text, n - 1); break;
    case 5: read_simulation(text); break;
    case 6: read_users(text, n - 1); break;
    default: read_base64(text, n - 1); break;
    }
    free(text);
    return 0;
}
