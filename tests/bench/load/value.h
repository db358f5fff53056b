/* Values that can be checked. Every byte follows from the key's text, the length and a version that the value itself carries, so that a
 * reader with only the key finds any changed, shifted, cut or foreign byte, whichever client wrote the value.
 *
 *   12 bytes or more:   version (4)  identity (8)  stretch of a fixed pattern
 *   fewer:              bytes of a hash of key and length
 *
 * The identity decides where the stretch begins; so values are filled and compared at memcpy speed.
 * Call value_init once before threads start; the rest is thread-safe. */
#ifndef LOAD_VALUE_H
#define LOAD_VALUE_H
#include <stddef.h>
#include <stdint.h>

#define VALUE_HEADER_BYTES 12

enum value_state {
    VALUE_RIGHT,
    VALUE_FOREIGN, /* not a value of this key and length: another key's, or a damaged head */
    VALUE_DAMAGED  /* the head is this key's, later bytes are not */
};

void value_init(void);

/* Hash of a key's text; all functions here take this hash for the key. */
uint64_t value_key_hash(const char *key, size_t key_bytes);

void value_fill(char *into, size_t value_bytes, uint64_t key_hash, uint32_t version);
enum value_state value_check(const char *value, size_t value_bytes, uint64_t key_hash);
const char *value_state_text(enum value_state state);
#endif
