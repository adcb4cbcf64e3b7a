// Agents that are connected: their requests in, output and results out.
#pragma once
#include <stdint.h>

struct connection;

void connections_open(int epoll, int listener);
void connection_accept(void);
void connection_on_event(struct connection *connection, uint32_t events, int64_t now_us);
// Sends what there is to send, as far as each socket takes it now: call it after every turn of the loop.
void connections_pump(void);
// From now on no exec is started.
void connections_refuse_execs(void);
