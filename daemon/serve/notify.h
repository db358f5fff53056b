/* Tells the service manager that started us how we are: systemd's notification protocol
 * (sd_notify(3)), a datagram to the socket that NOTIFY_SOCKET names. Without that name nothing
 * happens, and a manager that is gone is passed over: a cache serves all the same.
 *
 * Threading: main's thread. Cost: one socket a call. */
#ifndef SLATE_SERVE_NOTIFY_H
#define SLATE_SERVE_NOTIFY_H

void notify_ready(void);    /* connections are accepted from now on */
void notify_stopping(void);
void notify_main(int pid); /* another process is the service now */ /* … and no more */
#endif
