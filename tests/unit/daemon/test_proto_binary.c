/* Packets to requests, and replies to bytes: the request of each opcode, lengths that end the connection, and no packet taken before it is
 * complete. */
#include "tap.h"

#include "protocol/binary.h"

enum { ROOM = 16 };
static struct request requests[ROOM];
static char buffer[128 * 1024 + PARSE_SLACK];
static unsigned count;
static size_t used;

struct packet {
    uint8_t     opcode;
    const char *key;
    uint8_t     extras_bytes;
    uint32_t    value_bytes; /* a value of so many zeros */
    uint64_t    cas;
    char        extras[32];
};

/* Writes the packet; returns its end. */
static char *put(char *p, const struct packet *k) {
    uint16_t key_bytes = k->key ? (uint16_t)strlen(k->key) : 0;
    struct binary_head head = {.opcode = k->opcode, .extras_bytes = k->extras_bytes, .key_bytes = key_bytes,
                               .body_bytes = k->extras_bytes + key_bytes + k->value_bytes, .opaque = 0x04030201, .cas = k->cas};
    binary_put_head(p, &head);
    p[0] = (char)BINARY_REQUEST;
    p += BINARY_HEAD_BYTES;
    memcpy(p, k->extras, k->extras_bytes);
    memcpy(p + k->extras_bytes, k->key ? k->key : "", key_bytes);
    memset(p + k->extras_bytes + key_bytes, 0, k->value_bytes);
    return p + k->extras_bytes + key_bytes + k->value_bytes;
}

static bool logins; /* whether the server has logins */

/* Parses the first n bytes of the buffer; bytes that look like more packets follow. */
static enum parsed parse_first(size_t n, unsigned room) {
    char *next = NULL, behind[PARSE_SLACK];
    memcpy(behind, buffer + n, sizeof behind);
    memset(buffer + n, BINARY_REQUEST, PARSE_SLACK);
    enum parsed how = binary_parse(buffer, buffer + n, logins, requests, room, &count, &next);
    used = how == PARSED ? (size_t)(next - buffer) : 0;
    memcpy(buffer + n, behind, sizeof behind);
    return how;
}

static enum parsed parse_one(struct packet k) { return parse_first((size_t)(put(buffer, &k) - buffer), ROOM); }

static bool ends(struct packet k, enum binary_status status) {
    return parse_one(k) == PARSED && count == 1 && requests[0].verb == VERB_BINARY_ANSWER && requests[0].number == status &&
           (requests[0].flags & REQUEST_LAST) && !(requests[0].flags & REQUEST_SWALLOW);
}

static bool takes(struct packet k, uint8_t verb) {
    return parse_one(k) == PARSED && count == 1 && requests[0].verb == verb && requests[0].flags == REQUEST_BINARY &&
           requests[0].text == buffer && used == BINARY_HEAD_BYTES + k.extras_bytes + (k.key ? strlen(k.key) : 0) + k.value_bytes;
}

TEST(test_the_request_of_each_opcode) {
    static const uint8_t gets[] = {BINARY_GET, BINARY_GETQ, BINARY_GETK, BINARY_GETKQ},
                         touches[] = {BINARY_TOUCH, BINARY_GAT, BINARY_GATQ, BINARY_GATK, BINARY_GATKQ},
                         sets[] = {BINARY_SET, BINARY_ADD, BINARY_REPLACE, BINARY_SETQ, BINARY_ADDQ, BINARY_REPLACEQ},
                         joins[] = {BINARY_APPEND, BINARY_PREPEND, BINARY_APPENDQ, BINARY_PREPENDQ},
                         ariths[] = {BINARY_INCREMENT, BINARY_DECREMENT, BINARY_INCREMENTQ, BINARY_DECREMENTQ};
    bool all = true;
    for (size_t i = 0; i < sizeof gets; i++) {
        all = all && takes((struct packet){gets[i], "key", 0, 0, 0, ""}, VERB_BINARY_GET);
    }
    ok(all && requests[0].key.len == 3 && requests[0].key.hash == key_hash("key", 3), "the gets are gets of a hashed key");
    for (size_t i = 0; i < sizeof touches; i++) {
        all = all && takes((struct packet){touches[i], "key", 4, 0, 0, "\xff\xff\xff\xfe"}, VERB_BINARY_TOUCH);
    }
    ok(all && (uint32_t)requests[0].exptime == 0xfffffffe, "touches have a time, which is unsigned");
    for (size_t i = 0; i < sizeof sets; i++) {
        all = all && takes((struct packet){sets[i], "key", 8, 5, 77, "\x01\x02\x03\x04\0\0\0\x09"}, VERB_BINARY_STORE);
    }
    ok(all && requests[0].client_flags == 0x01020304 && requests[0].exptime == 9 && requests[0].number == 77 &&
           requests[0].value_bytes == 5 && requests[0].value == buffer + BINARY_HEAD_BYTES + 11,
       "sets have client flags, a time, a CAS and a value");
    for (size_t i = 0; i < sizeof joins; i++) {
        all = all && takes((struct packet){joins[i], "key", 0, 5, 78, ""}, VERB_BINARY_STORE);
    }
    ok(all && requests[0].client_flags == 0 && requests[0].number == 78, "appends have a value and a CAS");
    for (size_t i = 0; i < sizeof ariths; i++) {
        all = all && takes((struct packet){ariths[i], "key", 20, 0, 79, "\0\0\0\0\0\0\0\x05\0\0\0\0\0\0\0\x06\xff\xff\xff\xff"},
                           VERB_BINARY_ARITH);
    }
    ok(all && requests[0].number == 5 && (uint32_t)requests[0].exptime == BINARY_NOT_CREATED && binary_cas(buffer) == 79 &&
           binary_get64(binary_extras(buffer) + 8) == 6,
       "increments have a delta, a first value and a time");
    ok(takes((struct packet){BINARY_DELETE, "key", 0, 0, 80, ""}, VERB_BINARY_DELETE) && requests[0].number == 80 &&
           takes((struct packet){BINARY_DELETEQ, "key", 0, 0, 80, ""}, VERB_BINARY_DELETE),
       "deletes have a CAS");
    ok(takes((struct packet){BINARY_NOOP, NULL, 0, 0, 0, ""}, VERB_BINARY_ANSWER) &&
           takes((struct packet){BINARY_VERSION, NULL, 0, 0, 0, ""}, VERB_BINARY_ANSWER) && requests[0].number == BINARY_OK,
       "noop and version are answered without a key");
    ok(takes((struct packet){BINARY_STAT, NULL, 0, 0, 0, ""}, VERB_COMMAND) &&
           takes((struct packet){BINARY_STAT, "items", 0, 0, 0, ""}, VERB_COMMAND) && requests[0].key.len == 5 &&
           takes((struct packet){BINARY_FLUSH, NULL, 0, 0, 0, ""}, VERB_COMMAND) && requests[0].exptime == 0 &&
           takes((struct packet){BINARY_FLUSHQ, NULL, 4, 0, 0, "\0\0\0\x07"}, VERB_COMMAND) && requests[0].exptime == 7,
       "stat and flush are commands of the table");
    ok(parse_one((struct packet){BINARY_QUIT, NULL, 0, 0, 0, ""}) == PARSED && requests[0].number == BINARY_OK &&
           requests[0].flags == (REQUEST_BINARY | REQUEST_LAST),
       "quit is the last");
}

TEST(test_quiet_forms) {
    static const uint8_t pairs[][2] = {
        {BINARY_SETQ, BINARY_SET}, {BINARY_ADDQ, BINARY_ADD}, {BINARY_REPLACEQ, BINARY_REPLACE}, {BINARY_DELETEQ, BINARY_DELETE},
        {BINARY_INCREMENTQ, BINARY_INCREMENT}, {BINARY_DECREMENTQ, BINARY_DECREMENT}, {BINARY_QUITQ, BINARY_QUIT},
        {BINARY_FLUSHQ, BINARY_FLUSH}, {BINARY_APPENDQ, BINARY_APPEND}, {BINARY_PREPENDQ, BINARY_PREPEND},
        {BINARY_GETQ, BINARY_GET}, {BINARY_GETKQ, BINARY_GETK}, {BINARY_GATQ, BINARY_GAT}, {BINARY_GATKQ, BINARY_GATK}};
    unsigned right = 0;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char quiet[2] = {(char)BINARY_REQUEST, (char)pairs[i][0]}, plain[2] = {(char)BINARY_REQUEST, (char)pairs[i][1]};
        right += binary_quiet(quiet) && !binary_quiet(plain) && binary_plain_opcode(quiet) == pairs[i][1] &&
                 binary_plain_opcode(plain) == pairs[i][1];
    }
    is(right, 14, "each of the fourteen quiet forms is that of its opcode");
}

TEST(test_lengths_that_end_the_connection) {
    static const struct packet wrong[] = {
        {BINARY_GET, NULL, 0, 0, 0, ""},       {BINARY_GET, "k", 4, 0, 0, ""},        {BINARY_GET, "k", 0, 1, 0, ""},
        {BINARY_SET, NULL, 8, 1, 0, ""},       {BINARY_SET, "k", 0, 1, 0, ""},        {BINARY_SETQ, "k", 4, 1, 0, ""},
        {BINARY_DELETE, NULL, 0, 0, 0, ""},    {BINARY_DELETE, "k", 4, 0, 0, ""},     {BINARY_DELETE, "k", 0, 1, 0, ""},
        {BINARY_INCREMENT, NULL, 20, 0, 0, ""}, {BINARY_INCREMENT, "k", 8, 0, 0, ""}, {BINARY_INCREMENT, "k", 20, 1, 0, ""},
        {BINARY_APPEND, NULL, 0, 1, 0, ""},    {BINARY_APPEND, "k", 8, 1, 0, ""},     {BINARY_TOUCH, NULL, 4, 0, 0, ""},
        {BINARY_TOUCH, "k", 0, 0, 0, ""},      {BINARY_GATKQ, "k", 8, 0, 0, ""},      {BINARY_GAT, "k", 4, 1, 0, ""},
        {BINARY_NOOP, "k", 0, 0, 0, ""},       {BINARY_NOOP, NULL, 0, 1, 0, ""},      {BINARY_VERSION, NULL, 4, 0, 0, ""},
        {BINARY_QUIT, NULL, 0, 1, 0, ""},      {BINARY_FLUSH, "k", 0, 0, 0, ""},      {BINARY_FLUSH, NULL, 8, 0, 0, ""},
        {BINARY_STAT, "k", 4, 0, 0, ""},       {BINARY_STAT, "k", 0, 1, 0, ""},       {BINARY_SASL_LIST_MECHS, "k", 0, 0, 0, ""},
        {BINARY_SASL_AUTH, NULL, 0, 1, 0, ""}, {BINARY_SASL_STEP, "k", 4, 1, 0, ""}};
    unsigned right = 0;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        right += ends(wrong[i], BINARY_INVALID);
    }
    is(right, sizeof wrong / sizeof *wrong, "lengths that are none of the opcode's are invalid arguments, and end the connection");
    char key[252];
    memset(key, 'k', sizeof key);
    key[251] = '\0';
    ok(ends((struct packet){BINARY_GET, key, 0, 0, 0, ""}, BINARY_INVALID), "so does a key of 251 bytes");
    key[250] = '\0';
    ok(takes((struct packet){BINARY_GET, key, 0, 0, 0, ""}, VERB_BINARY_GET), "one of 250 is taken");
    put(buffer, &(struct packet){BINARY_SET, "key", 8, 0, 0, ""});
    binary_put32(buffer + 8, 10);
    ok(parse_first(35, 1) == PARSED && requests[0].number == BINARY_UNKNOWN && requests[0].flags & REQUEST_LAST,
       "a body shorter than its extras and key is an unknown command, and ends the connection");
    binary_put32(buffer + 8, BINARY_BODY_MAX + 1);
    ok(parse_first(35, 1) == PARSED && requests[0].number == BINARY_INVALID && requests[0].flags & REQUEST_LAST,
       "so does a body of more than a gigabyte, as invalid arguments");
    ok(parse_first(24, 1) == PARSED && requests[0].number == BINARY_INVALID, "and nothing but the head is waited for");
    buffer[0] = 'g';
    ok(parse_first(1, 1) == PARSE_CLOSE, "another first byte than that of a request ends the connection at once");
}

TEST(test_unknown_commands_are_swallowed) {
    static const uint8_t unknown[] = {0x1b, 0x1f, 0x25, 0x30, 0xff, BINARY_SASL_AUTH, BINARY_SASL_STEP};
    logins = false;
    unsigned right = 0;
    for (size_t i = 0; i < sizeof unknown; i++) {
        bool one = parse_one((struct packet){unknown[i], "key", 0, 700, 0, ""}) == PARSED;
        right += one && requests[0].number == BINARY_UNKNOWN && used == BINARY_HEAD_BYTES &&
                 requests[0].flags == (REQUEST_BINARY | REQUEST_SWALLOW) && request_block_bytes(&requests[0]) == 703;
    }
    is(right, sizeof unknown, "of an unknown command all behind the head is dropped, and the connection goes on");
    ok(parse_one((struct packet){0x1f, NULL, 0, 0, 0, ""}) == PARSED && requests[0].flags == REQUEST_BINARY,
       "one that has nothing behind its head drops nothing");
}

TEST(test_steps_of_a_login) {
    static const struct packet step = {BINARY_SASL_AUTH, "PLAIN", 0, 3000, 0, ""};
    logins = true;
    ok(takes((struct packet){BINARY_SASL_LIST_MECHS, NULL, 0, 0, 0, ""}, VERB_BINARY_LOGIN) &&
           takes((struct packet){BINARY_SASL_STEP, "PLAIN", 0, 10, 0, ""}, VERB_BINARY_LOGIN),
       "where clients log in, a login's steps are requests");
    size_t whole = (size_t)(put(buffer, &step) - buffer);
    is(parse_first(whole - 1, 1), PARSE_GROW, "the words of a step wait until they are whole, though they are long");
    ok(parse_first(whole, ROOM) == PARSED && requests[0].value_bytes == 3000 && requests[0].value != NULL && used == whole,
       "and come whole");
    binary_put32(buffer + 8, BINARY_LOGIN_MAX);
    is(parse_first(whole, 1), PARSE_GROW, "up to %d bytes with the way's name", BINARY_LOGIN_MAX);
    binary_put32(buffer + 8, BINARY_LOGIN_MAX + 1);
    ok(parse_first(whole, 1) == PARSED && requests[0].number == BINARY_NO_MEMORY && requests[0].flags & REQUEST_SWALLOW &&
           !(requests[0].flags & REQUEST_LAST),
       "longer ones are refused and dropped, and the connection goes on");
    logins = false;
}

TEST(test_a_packet_waits_until_it_is_whole) {
    static const struct packet k = {BINARY_SET, "key", 8, 100, 0, ""};
    size_t whole = (size_t)(put(buffer, &k) - buffer), early = 0;
    for (size_t n = 1; n < whole; n++) {
        early += parse_first(n, 1) != PARSE_MORE || binary_has_key(buffer, n) != (n >= BINARY_HEAD_BYTES + 11);
    }
    is(early, 0, "a packet with a small value is not taken at any byte before its last");
    ok(parse_first(whole, 1) == PARSED && requests[0].value != NULL, "and then it is");
    struct packet large = {BINARY_SET, "key", 8, PARSE_WAIT_MAX + 1, 0, ""};
    put(buffer, &large);
    ok(parse_first(34, 1) == PARSE_MORE && parse_first(35, 1) == PARSED && requests[0].value == NULL && used == 35 &&
           request_block_bytes(&requests[0]) == PARSE_WAIT_MAX + 1,
       "a large value is left to the caller once its key is there");
}

TEST(test_a_pipeline_stops_where_its_caller_must_look) {
    static const struct packet parts[] = {{BINARY_GETQ, "a", 0, 0, 0, ""}, {BINARY_SETQ, "b", 8, 3, 0, ""},
                                          {BINARY_STAT, NULL, 0, 0, 0, ""}, {BINARY_NOOP, NULL, 0, 0, 0, ""},
                                          {BINARY_QUIT, NULL, 0, 0, 0, ""}, {BINARY_GETQ, "c", 0, 0, 0, ""}};
    char *p = buffer, *starts[7];
    for (size_t i = 0; i < 6; i++) {
        starts[i] = p;
        p = put(p, &parts[i]);
    }
    starts[6] = p;
    ok(parse_first((size_t)(p - buffer), ROOM) == PARSED && count == 2 && buffer + used == starts[2], "before a command");
    char *next = NULL;
    ok(binary_parse(starts[2], p, false, requests, ROOM, &count, &next) == PARSED && count == 1 && requests[0].verb == VERB_COMMAND &&
           next == starts[3],
       "which comes alone");
    ok(binary_parse(next, p, false, requests, ROOM, &count, &next) == PARSED && count == 2 && next == starts[5], "behind the last");
    ok(parse_first((size_t)(starts[2] - buffer), 1) == PARSED && count == 1 && buffer + used == starts[1],
       "and where there is no more room");
}

TEST(test_replies) {
    static const char want[] = "\x81\x05\0\x03\x04\0\0\x06\0\0\x01\0\x01\x02\x03\x04\0\0\0\0\0\0\x02\x01";
    struct binary_head head = {.opcode = 5, .extras_bytes = 4, .key_bytes = 3, .status = 6, .body_bytes = 256,
                               .opaque = 0x04030201, .cas = 513};
    char bytes[64];
    ok(binary_put_head(bytes, &head) == bytes + 24 && memcmp(bytes, want, 24) == 0,
       "a head has its numbers from the highest byte on, and the opaque as it came");
    char *end = binary_put_text(bytes, 1, 0, BINARY_NOT_FOUND, binary_status_text(BINARY_NOT_FOUND));
    ok(end == bytes + 33 && memcmp(bytes + 24, "Not found", 9) == 0 && bytes[11] == 9 && bytes[7] == 1, "an error has its words");
}

int main(void) { return tap_main(); }
