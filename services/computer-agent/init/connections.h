// Connected agents: reads their requests, sends output and results.
#pragma once
#include <stdint.h>

struct connection;

// Put a frame into its buffer.
void send_frame(struct connection *to, char type, uint32_t channel, const void *payload, uint32_t size);
void send_failure(struct connection *to, uint32_t channel, const char *code, const char *text);
// Whether its buffer has room: it fills only as fast as the agent reads.
int connection_has_room(const struct connection *connection);

void connections_open(int epoll, int listener);
void connection_accept(void);
void connection_on_event(struct connection *connection, uint32_t events, int64_t now_us);
// Sends as much as each socket accepts. Call it in every turn of the loop.
void connections_pump(int64_t now_us);
// An agent has asked to end the computer.
int connections_stop_asked(void);
// From now on no exec is started and no stream opened.
void connections_refuse_execs(void);
