/* SPDX-License-Identifier: BSD-3-Clause */
/* The benchmark names of libmemcached, done by libmemcached:
 *
 *   peer HASH DISTRIBUTION MODE KEYS VALUE-BYTES HOST PORT ...
 *
 * prints, for generate_data, get_read and mget_read in turn, the seconds and the seconds of processor time that they
 * took. The keys are key-1 to key-KEYS. Exit 3 when the library lacks the hash, 1 when anything else goes wrong. */
#include <libmemcached/memcached.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct keys {
    size_t count;
    char **names;
    size_t *lengths;
    char *value;
    size_t value_bytes;
};

struct times {
    double wall_s, cpu_s;
};

static double read_s(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static struct times times_now(void) {
    return (struct times){ read_s(CLOCK_MONOTONIC), read_s(CLOCK_PROCESS_CPUTIME_ID) };
}

static struct times times_since(struct times start) {
    struct times now = times_now();
    return (struct times){ now.wall_s - start.wall_s, now.cpu_s - start.cpu_s };
}

static void fail(const char *what, memcached_st *client, memcached_return_t code) {
    fprintf(stderr, "peer: %s: %s\n", what, memcached_strerror(client, code));
    exit(1);
}

static struct times generate_data(memcached_st *client, const struct keys *keys, int blocking) {
    struct times start = times_now();
    for (size_t i = 0; i < keys->count; i++) {
        memcached_return_t code =
            memcached_set(client, keys->names[i], keys->lengths[i], keys->value, keys->value_bytes, 0, 0);
        if (memcached_failed(code)) {
            fail("set", client, code);
        }
    }
    if (!blocking) {
        memcached_flush_buffers(client);
        memcached_version(client); /* an answer from each server: all before it is done */
    }
    return times_since(start);
}

static struct times get_read(memcached_st *client, const struct keys *keys) {
    struct times start = times_now();
    for (size_t i = 0; i < keys->count; i++) {
        size_t bytes;
        uint32_t flags;
        memcached_return_t code;
        char *value = memcached_get(client, keys->names[i], keys->lengths[i], &bytes, &flags, &code);
        if (!value || bytes != keys->value_bytes) {
            fail("get", client, code);
        }
        free(value);
    }
    return times_since(start);
}

static struct times mget_read(memcached_st *client, const struct keys *keys) {
    struct times start = times_now();
    memcached_return_t code =
        memcached_mget(client, (const char *const *)keys->names, keys->lengths, keys->count);
    if (memcached_failed(code)) {
        fail("mget", client, code);
    }
    size_t found = 0;
    memcached_result_st result;
    memcached_result_create(client, &result);
    while (memcached_fetch_result(client, &result, &code)) {
        found += memcached_result_length(&result) == keys->value_bytes;
    }
    memcached_result_free(&result);
    if (found != keys->count) {
        fprintf(stderr, "peer: mget found %zu of %zu keys\n", found, keys->count);
        exit(1);
    }
    return times_since(start);
}

static struct keys make_keys(size_t count, size_t value_bytes) {
    struct keys keys = { count, calloc(count, sizeof(char *)), calloc(count, sizeof(size_t)), malloc(value_bytes),
                         value_bytes };
    for (size_t i = 0; i < count; i++) {
        keys.names[i] = malloc(32);
        keys.lengths[i] = (size_t)snprintf(keys.names[i], 32, "key-%zu", i + 1);
    }
    memset(keys.value, 'v', value_bytes);
    return keys;
}

int main(int argc, char **argv) {
    if (argc < 8) {
        fputs("usage: peer HASH DISTRIBUTION MODE KEYS VALUE-BYTES HOST PORT ...\n", stderr);
        return 1;
    }
    memcached_st *client = memcached_create(NULL);
    int blocking = strcmp(argv[3], "blocking") == 0;
    uint64_t hash = strcmp(argv[1], "md5") == 0     ? MEMCACHED_HASH_MD5
                    : strcmp(argv[1], "hsieh") == 0 ? MEMCACHED_HASH_HSIEH
                                                    : MEMCACHED_HASH_DEFAULT;
    if (memcached_failed(memcached_behavior_set(client, MEMCACHED_BEHAVIOR_HASH, hash))) {
        return 3;
    }
    memcached_behavior_set(client, MEMCACHED_BEHAVIOR_DISTRIBUTION,
                           strcmp(argv[2], "consistent") == 0 ? MEMCACHED_DISTRIBUTION_CONSISTENT
                                                              : MEMCACHED_DISTRIBUTION_MODULA);
    memcached_behavior_set(client, MEMCACHED_BEHAVIOR_TCP_NODELAY, 1);
    for (int i = 6; i + 1 < argc; i += 2) {
        memcached_server_add(client, argv[i], (in_port_t)atoi(argv[i + 1]));
    }
    struct keys keys = make_keys(strtoul(argv[4], NULL, 10), strtoul(argv[5], NULL, 10));
    memcached_version(client); /* connects */
    memcached_st *writer = client;
    if (!blocking) {
        writer = memcached_clone(NULL, client);
        memcached_behavior_set(writer, MEMCACHED_BEHAVIOR_NO_BLOCK, 1);
        memcached_behavior_set(writer, MEMCACHED_BEHAVIOR_NOREPLY, 1);
        memcached_behavior_set(writer, MEMCACHED_BEHAVIOR_BUFFER_REQUESTS, 1);
        memcached_behavior_set(client, MEMCACHED_BEHAVIOR_NO_BLOCK, 1);
    }
    struct times generated = generate_data(writer, &keys, blocking);
    struct times read = get_read(client, &keys);
    struct times read_at_once = mget_read(client, &keys);
    printf("%.6f %.6f %.6f %.6f %.6f %.6f\n", generated.wall_s, generated.cpu_s, read.wall_s, read.cpu_s,
           read_at_once.wall_s, read_at_once.cpu_s);
    return 0;
}
