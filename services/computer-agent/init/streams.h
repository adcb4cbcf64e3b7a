// Byte streams between an agent and the inside of the computer: connections to its ports, and terminals.
//
// Both ways under credit: what the agent has not asked for stays in the kernel's buffers, and what it sends beyond the
// credit it was given ends its connection. A stream belongs to the connection that opened it and ends with it.
#pragma once
#include <stdint.h>

#include "connections.h"

// A page in a browser opens six connections at a time.
#define STREAMS_MAX 128
// What an agent may send that has not gone on yet, for each stream.
#define STREAM_WINDOW_BYTES (128 * 1024)
// So that one stream does not keep the others waiting.
#define STREAM_FRAME_BYTES_MAX (32 * 1024)

struct stream;

void streams_open(int epoll);
void stream_on_event(struct stream *stream, uint32_t events);

// Requests of an agent; a channel that has no stream (any more) is passed over. They return 0 for what no agent would do.
int stream_open(struct connection *connection, uint32_t channel, const char *payload, uint32_t size, int64_t now_us);
int stream_take(struct connection *connection, uint32_t channel, const char *bytes, uint32_t size);
int stream_grant(struct connection *connection, uint32_t channel, const char *payload, uint32_t size);
int stream_resize(struct connection *connection, uint32_t channel, const char *payload, uint32_t size);
void stream_finish_input(struct connection *connection, uint32_t channel, int64_t now_us);
void stream_close(struct connection *connection, uint32_t channel, int64_t now_us);

// Ends all streams of an agent that is gone.
void streams_disconnect(struct connection *connection, int64_t now_us);
// Moves bytes into the computer, and bytes of this connection's streams to its agent, as far as each takes them.
void streams_pump(struct connection *connection, int64_t now_us);
// Frees terminals of which the agent is gone and the processes are too.
void streams_sweep(void);
