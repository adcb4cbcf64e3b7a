// Byte streams between an agent and the inside of the computer: connections to its ports, and terminals.
//
// Both directions use credit: bytes above the agent's credit stay in the kernel's buffers, and an agent that sends more
// than its credit is disconnected. A stream belongs to the connection that opened it and ends with it.
#pragma once
#include <stdint.h>

#include "connections.h"

// A browser opens six connections for one page.
#define STREAMS_MAX 128
// Bytes of one stream that an agent may send before they are passed on.
#define STREAM_WINDOW_BYTES (128 * 1024)
// So that one stream does not delay the others.
#define STREAM_FRAME_BYTES_MAX (32 * 1024)

struct stream;

void streams_open(int epoll);
void stream_on_event(struct stream *stream, uint32_t events);

// Requests of an agent. A channel without a stream is ignored. They return 0 for an invalid request.
int stream_open(struct connection *connection, uint32_t channel, const char *payload, uint32_t size, int64_t now_us);
int stream_take(struct connection *connection, uint32_t channel, const char *bytes, uint32_t size);
int stream_grant(struct connection *connection, uint32_t channel, const char *payload, uint32_t size);
int stream_resize(struct connection *connection, uint32_t channel, const char *payload, uint32_t size);
void stream_finish_input(struct connection *connection, uint32_t channel, int64_t now_us);
void stream_close(struct connection *connection, uint32_t channel, int64_t now_us);

// Ends all streams of a disconnected agent.
void streams_disconnect(struct connection *connection, int64_t now_us);
// Moves bytes of this connection's streams in both directions, as far as each end accepts them.
void streams_pump(struct connection *connection, int64_t now_us);
// Frees terminals whose agent has disconnected and whose processes have ended.
void streams_sweep(void);
