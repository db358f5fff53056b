/* One connection: requests are gathered and sent together, and replies are read while sending, so that neither side ever waits
 * for the other with both directions full. For one thread. */
#ifndef MODEL_WIRE_H
#define MODEL_WIRE_H
#include <stdbool.h>
#include <stddef.h>

struct wire {
    int    fd;              /* -1: closed */
    char  *out, *in;
    size_t out_bytes, out_room;
    size_t in_at, in_end, in_room;
};

bool  wire_open_path(struct wire *, const char *path); /* opens a UNIX socket */
bool  wire_open(struct wire *, int port, int receive_buffer_bytes); /* 0: the system's size; a small one bounds the server's, too */
void  wire_close(struct wire *, bool reset);  /* reset: the server sees an error instead of an end */
void  wire_free(struct wire *);
char *wire_room(struct wire *, size_t n);     /* returns the place for the next n bytes to be sent */
__attribute__((format(printf, 2, 3))) void wire_say(struct wire *, const char *format, ...);
bool  wire_flush(struct wire *);              /* false: the connection is gone, or nothing moved for two minutes */
/* The next line without its end; valid until the next call. NULL: none. */
char *wire_line(struct wire *);
/* The next n bytes, and the line end behind them, likewise. */
char *wire_block(struct wire *, size_t n);
void  wire_half_close(struct wire *);         /* nothing more will be sent */
bool  wire_ended(struct wire *);              /* waits for the server to close; bytes before that are dropped */
#endif
