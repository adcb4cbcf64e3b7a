// Agents that are connected: their requests in, output and results out.
#pragma once
#include <stdint.h>

struct connection;

// Put a frame into its buffer.
void send_frame(struct connection *to, char type, uint32_t channel, const void *payload, uint32_t size);
void send_failure(struct connection *to, uint32_t channel, const char *code, const char *text);
// Whether more should be put into its buffer now: it holds no more than the agent reads.
int connection_has_room(const struct connection *connection);

void connections_open(int epoll, int listener);
void connection_accept(void);
void connection_on_event(struct connection *connection, uint32_t events, int64_t now_us);
// Sends what there is to send, as far as each socket takes it now: call it after every turn of the loop.
void connections_pump(int64_t now_us);
// Whether an agent has asked for the end of the computer.
int connections_stop_asked(void);
// From now on no exec is started and no stream opened.
void connections_refuse_execs(void);
