/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A client may send any bytes: the daemon behind its sockets survives them, and gives the same replies to a stream in one piece and in
 * random pieces, with values handed over in both ways and replies held for later.
 *
 * Covers: daemon/server:admin(_[^d].*)?|pieces daemon/server/config:audit|undo
 * daemon/server/session:batch|session_upload|output|packets|session|login daemon/server/verbs:verbs_binary|verbs_classic|verbs_meta|observe
 * daemon/server:command_table|prefix_stats|text_out daemon/server/commands:dump|command_words daemon/server/stats:stats.*
 * daemon/server/auth:users|role
 *
 * Input: eight bytes that choose the pieces and the client's rights, then the stream. */
#include <inttypes.h>

#include "protocol/binary.h"
#include "must.h"
#include "session_fixture.h"

enum { SEED_BYTES = 8, INPUT_BYTES_MAX = 8192 };

/* Commands whose replies depend on the time, the process or the arrival of their input. */
static bool repeatable(const char *stream, size_t n) {
    if (n > 0 && (uint8_t)stream[0] == BINARY_REQUEST) {
        return memchr(stream, BINARY_STAT, n) == NULL;
    }
    static const char *const words[] = {"stats", "me ", "lru_crawler", "watch", "slabs", "conns", "cache_memlimit", "verbosity"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (memmem(stream, n, words[i], strlen(words[i])) != NULL) {
            return false;
        }
    }
    return true;
}

/* A few first bytes of an input make a client that may only read, or has to log in. Others may do all. */
enum { ACCESS_READS = 0xfe, ACCESS_LOGS_IN = 0xff };

static void set_access(struct rig *rig, struct client *client, unsigned kind) {
    static const char users[] = "anna:secret\nrita:pass:word:read\nadam:a:admin\n";
    char why[USERS_WHY_BYTES];
    struct session_access access = {.role = ROLE_WRITE, .most = ROLE_ADMIN, .must_log_in = kind == ACCESS_LOGS_IN};
    if (kind < ACCESS_READS) {
        return;
    }
    if (!users_load_text(&rig->server.users, "the fuzzer", users, sizeof users - 1, why)) {
        abort();
    }
    if (kind == ACCESS_READS) {
        access.role = access.most = ROLE_READ;
    }
    session_set_access(client->session, &access);
}

/* Sends the stream to a server of its own; the replies are in *client. */
static void play(struct rig *rig, struct client *client, const char *stream, size_t n, uint64_t random, unsigned access) {
    char options[] = "-m 8";
    if (!rig_open(rig, options)) {
        abort();
    }
    clock_pause();
    rig->awkward = random != 0;
    rig->random = random;
    client_open(client);
    set_access(rig, client, access);
    for (size_t done = 0; done < n && !client->closed;) {
        size_t step = rig->awkward ? 1 + rig_random(rig, 40) : n;
        step = step < n - done ? step : n - done;
        client_send(rig, client, stream + done, step);
        done += step;
    }
}

static void end(struct rig *rig, struct client *client) {
    client_close(rig, client);
    rig_close(rig);
    clock_resume();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    static struct rig rig;
    struct client whole, pieces;
    uint64_t random;

    if (n < SEED_BYTES || n > INPUT_BYTES_MAX) {
        return 0;
    }
    memcpy(&random, data, SEED_BYTES);
    const char *stream = (const char *)data + SEED_BYTES;
    n -= SEED_BYTES;
    play(&rig, &whole, stream, n, 0, data[0]);
    char *wanted = whole.out_bytes ? malloc(whole.out_bytes) : NULL;
    size_t wanted_bytes = whole.out_bytes;
    bool whole_closed = whole.closed;
    if (wanted != NULL) {
        memcpy(wanted, whole.out, wanted_bytes);
    }
    end(&rig, &whole);

    play(&rig, &pieces, stream, n, random | 1, data[0]);
    /* The number of bytes of an endless line before its refusal depends on their arrival. */
    if (!whole_closed && !pieces.closed && repeatable(stream, n) &&
        (pieces.out_bytes != wanted_bytes ||
         (wanted_bytes > 0 && memcmp(pieces.out, wanted, wanted_bytes) != 0))) {
        fprintf(stderr, "whole:\n%.*s\nin pieces:\n%.*s\n", (int)wanted_bytes, wanted ? wanted : "", (int)pieces.out_bytes,
                pieces.out ? pieces.out : "");
        abort();
    }
    end(&rig, &pieces);
    free(wanted);
    return 0;
}
