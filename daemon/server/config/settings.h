/* The settings of the daemon: their values, and functions that find, set, check and show them.
 * settings_rows.h lists the settings. */
#ifndef SLATE_SERVER_CONFIG_SETTINGS_H
#define SLATE_SERVER_CONFIG_SETTINGS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "control/automove/automove.h"
#include "mem/slab.h"
#include "server/config/settings_rows.h"

/*        type       C type        shown as        given as */
enum setting_type {
    /* bool         yes, no         the option alone sets it; -o no_NAME clears it */
    SETTING_FLAG,
    SETTING_NEGATED,   /* bool         yes, no         the option alone clears it */
    SETTING_NEGSWITCH, /* bool         on, off         the option alone clears it */
    SETTING_COUNT,     /* int          5               the option, once for each step */
    SETTING_INT,       /* int          5               a whole number */
    SETTING_OCTAL,     /* int          700             an octal number */
    SETTING_BYTES,     /* uint64_t     1048576         a number of bytes, or with k, m, g or t */
    /* uint64_t     1048576         a number of kilobytes, or with k, m, g or t */
    SETTING_KILOBYTES,
    /* uint64_t     1048576         a number of megabytes, or with k, m, g or t */
    SETTING_MEGABYTES,
    SETTING_RATIO,     /* double       0.80            a number */
    SETTING_RATIO3,    /* double       0.010, 0.0001   a number */
    SETTING_TEXT,      /* const char * text or NULL    a text */
    SETTING_CHOICE,    /* char []      text or NULL    one of the texts in `unit` */
    /* char []      1, utility     a mode of automove by name or number
     * (control/automove/automove.h) */
    SETTING_MODE,
    /* char []      a,b             a text; further ones are added behind a comma */
    SETTING_LIST,
    /* nothing      the default     anything, or one of `unit`'s words; memcached's, no effect
     * here */
    SETTING_ACCEPTED,
    /* nothing      the default     only its default; the help says what is missing */
    SETTING_ABSENT,
    SETTING_ACTION,    /* nothing      -               done at once, then the program ends */
};

enum setting_when { SETTING_STARTUP, SETTING_RUNTIME };
enum setting_group {
    GROUP_NETWORK,
    GROUP_MEMORY,
    GROUP_TUNING,
    GROUP_ACCESS,
    GROUP_PROCESS,
    GROUP_COUNT
};

enum { OPT_EXTENDED = 1 }; /* instead of a letter: the option is a sub-option of -o */

#define SETTING_C_FLAG(field) bool field;
#define SETTING_C_NEGATED(field) bool field;
#define SETTING_C_NEGSWITCH(field) bool field;
#define SETTING_C_COUNT(field) int field;
#define SETTING_C_INT(field) int field;
#define SETTING_C_OCTAL(field) int field;
#define SETTING_C_BYTES(field) uint64_t field;
#define SETTING_C_KILOBYTES(field) uint64_t field;
#define SETTING_C_MEGABYTES(field) uint64_t field;
#define SETTING_C_RATIO(field) double field;
#define SETTING_C_RATIO3(field) double field;
#define SETTING_C_TEXT(field) const char *field;
#define SETTING_C_CHOICE(field) char field[SETTING_CHOICE_BYTES];
#define SETTING_C_MODE(field) char field[AUTOMOVE_NAME_BYTES];
#define SETTING_C_LIST(field) char field[SETTING_LIST_BYTES];
#define SETTING_C_ACCEPTED(field)
#define SETTING_C_ABSENT(field)
#define SETTING_C_ACTION(field)
#define SETTING_MEMBER(type, field, ...) SETTING_C_##type(field)

enum { SETTING_CHOICE_BYTES = 16 }; /* size of a choice with its terminator */
/* memcached accepts ; too, and people write blanks */
#define SETTING_LIST_SEPARATORS ",; \t"
enum { SETTING_LIST_BYTES = 1024 }; /* size of a list with its terminator: about forty addresses */

#define SETTING_ONE(...) +1
enum { SETTING_ROWS = 0 SETTINGS(SETTING_ONE) };

#define SETTING_IN_VAIN "accepted without effect" /* the help of such a row begins so */

/* Texts belong to argv or to the table, and live as long as the process. */
struct settings {
    SETTINGS(SETTING_MEMBER)
    bool list_given; /* the list of addresses was given: not the default */
    bool maxbytes_given;
    bool maxbytes_share; /* given as a share of the memory of control group or machine */
    bool group_limits; /* process_memory follows from the control group: no option gave it */
    bool buffers_follow; /* read_buf_mem_limit follows from process_memory: no option gave it */
    bool group_is_too_small; /* the group has less than the least process_memory: no limit */
    /* by row: the option was given; was given without effect (setting_has_effect); was given with
     * an empty value, which counts as not given */
    bool given[SETTING_ROWS], given_in_vain[SETTING_ROWS], given_empty[SETTING_ROWS];
    bool logfile_named; /* the file of --config has a logfile option */
    bool udp_in_vain; /* -U was given, but other options exclude UDP */
    const char *stray;  /* the first word that belongs to no option; NULL: none */
    int         stray_count;
    char *config_text; /* the text of the file of --config, owned; NULL: none */
};

struct setting {
    const char *field, *stat, *name, *unit, *help;
    const char *default_text; /* for settings of a text, and for those that are only shown */
    double      default_number, min, max;
    size_t      offset; /* into struct settings */
    uint8_t     type, when, group;
    char        flag; /* a letter, OPT_EXTENDED or 0 */
};
extern const struct setting setting_table[SETTING_ROWS];

/* For each type: how struct settings stores a value, in how many bytes, and the type's name in
 * --describe. */
enum setting_storage {
    SETTING_STORED_BOOL,
    SETTING_STORED_INT,
    SETTING_STORED_UINT64,
    SETTING_STORED_DOUBLE,
    SETTING_STORED_TEXT,
    SETTING_STORED_CHARS,
    SETTING_STORED_NOT, /* no value is stored */
};
struct setting_type_facts {
    enum setting_storage stored;
    size_t            bytes;
    const char       *name;
};
extern const struct setting_type_facts setting_types[]; /* by enum setting_type */

enum { SETTING_WHY_BYTES = 256 };

void settings_init(struct settings *); /* sets every value to its default */
/* Finds a setting by the exact name of its field, option or statistic. NULL: not found. */
const struct setting *setting_find(const char *name, size_t name_bytes);

/* Sets one value from a text; `text` is NULL for an option given alone. `cleared`: the option was
 * given as no_NAME. False: the value is refused and nothing changed; `why` (SETTING_WHY_BYTES)
 * holds a clause without the option's name: "wants a whole number from …". */
bool setting_set(struct settings *, const struct setting *, const char *text, bool cleared,
                 char *why);
bool setting_is_yes(const char *text); /* yes, on, 1, true */
/* Whether a client may change the setting by its name while a server with these settings runs: the
 * row is RUNTIME, has a name, and applies to this store. */
bool setting_is_live(const struct settings *, const struct setting *);
/* The row as it applies to a running server: numbers of bytes are in bytes, as setting_format
 * shows them, not in kilobytes or megabytes; maxbytes is from SETTINGS_LIVE_MEMORY_MIN to
 * `memory_most`. */
struct setting setting_live(const struct setting *, size_t memory_most);
bool setting_takes_value(const struct setting *); /* whether the option needs an argument */
/* False: an option of memcached without effect here; its help says why. */
bool setting_has_effect(const struct setting *);

enum {
    /* An idle connection takes about 840 bytes with libevent's record, 26.4 KiB with TLS (OpenSSL's
     * part included), and 88 KiB while a handshake waits (measured with 700 handshakes). */
    SETTINGS_CONN_BYTES = 1 << 10,
    SETTINGS_CONN_TLS_BYTES = 96 << 10,
    SETTINGS_START_BYTES = 10 << 20, /* program, libraries, samples of a small cache */
    SETTINGS_THREAD_BYTES = 1 << 20, /* a worker, its buffers and counters */
    /* Reserve for growth of allocator and index between two checks of the process's memory. */
    SETTINGS_SLACK_SHARE = 32,
    SETTINGS_SLACK_LEAST = 4 << 20,
    SETTINGS_INDEX_SHARE = 8,        /* index and eviction history take this part of -m */
};
/* Bytes that the process needs so that items get all of -m: for items of at least 80 bytes, and
 * maxconns connections. */
uint64_t settings_memory_need(const struct settings *);
uint64_t settings_conn_bytes(const struct settings *); /* memory of a connection */

/* Checks the rules between values. False: `why` holds a whole sentence. */
bool settings_check(const struct settings *, char *why);
/* The effective policy: s3auto becomes s3fifo if a number of s3fifo is not its default, because
 * s3auto would choose other numbers. */
const char *settings_policy(const struct settings *);
/* Sets the values that follow from others, then checks the rules. Called once, after the options
 * are read. */
bool settings_settle(struct settings *, char *why);
/* The file of users; NULL: no client has to log in. */
const char *settings_auth_file(const struct settings *);

/* Writes the value in the form of an option. Returns the length; the text is cut at room - 1. */
int  setting_format(const struct settings *, const struct setting *, char *to, size_t room);
/* The same for `stats settings`, which has memcached's words for some values. */
int  setting_format_stat(const struct settings *, const struct setting *, char *to, size_t room);
void setting_copy(struct settings *to, const struct settings *from, const struct setting *);
bool setting_same(const struct settings *, const struct settings *, const struct setting *);
/* Whether both have the same values of all RUNTIME settings. */
bool settings_same_live(const struct settings *, const struct settings *);

void setting_format_bytes(char to[32], double bytes); /* 1536k, 64m */

/* Writes --help without its head and foot, and --describe, whose fields are: field, option, type,
 * default, min, max, unit, when, group, stat, help. */
void settings_help(FILE *);
void settings_describe(FILE *);

/* A list of chunk sizes, as in `-o slab_sizes=96-200-1000`. */
enum { SLAB_SIZES_LEAST_BYTES = 48, SLAB_SIZES_STEP_BYTES = 8 };
struct slab_sizes {
    uint32_t bytes[SLAB_CLASSES_MAX];
    unsigned count;
};
/* Reads the list. Sizes ascend by at least SLAB_SIZES_STEP_BYTES, from SLAB_SIZES_LEAST_BYTES to
 * less than chunk_bytes_max, which is added as the last; there are at most class_most - 1. False:
 * the list is refused, and `why` (SETTING_WHY_BYTES) holds a sentence. */
bool settings_parse_slab_sizes(const char *text, uint32_t chunk_bytes_max, unsigned class_most,
                               struct slab_sizes *, char *why);

/* Writes a sentence, or a clause of one, into `why` (SETTING_WHY_BYTES). Returns false. */
__attribute__((format(printf, 2, 3))) bool setting_refuse(char *why, const char *format, ...);
/* Copies a choice into SETTING_CHOICE_BYTES of room. */
void setting_put_choice(char *at, const char *text);
#endif
