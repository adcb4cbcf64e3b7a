#define _GNU_SOURCE
#include "connections.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "execs.h"
#include "protocol.h"
#include "streams.h"

// One agent, and the next one during a handover.
#define CONNECTIONS_MAX 4
#define READ_BYTES (64 * 1024)
// Output leaves the execs' buffers only as fast as the agent reads.
#define OUT_BYTES_WANTED (128 * 1024)
#define OUTPUT_FRAME_BYTES_MAX (32 * 1024)
#define METRIC_FILES_MAX 32
#define METRIC_FILE_BYTES_MAX (16 * 1024)

struct connection {
  struct source source; // fd -1: free
  struct bytes in, out;
  size_t out_sent;
  int wants_writable;
};

static int epoll_fd, listener_fd, stop_asked, refuse_execs;
static struct connection connections[CONNECTIONS_MAX];

// Execs continue and their results wait for the next agent that asks. Streams end.
static void disconnect(struct connection *connection, int64_t now_us) {
  streams_disconnect(connection, now_us);
  for (int i = 0; i < EXECS_MAX; i++) {
    struct exec *exec = exec_at(i);
    if (exec && exec->to == connection) exec_detach(exec);
  }
  close_source(&connection->source);
  empty(&connection->in), empty(&connection->out);
  connection->out_sent = 0;
  connection->wants_writable = 0;
}

void send_frame(struct connection *to, char type, uint32_t channel, const void *payload, uint32_t size) {
  char head[FRAME_HEAD_BYTES] = {type};
  memcpy(head + 1, &channel, 4);
  memcpy(head + 5, &size, 4);
  append(&to->out, head, sizeof head);
  append(&to->out, payload, size);
}

void send_failure(struct connection *to, uint32_t channel, const char *code, const char *text) {
  char payload[256];
  size_t code_size = strlen(code) + 1, text_size = strlen(text) + 1;
  if (code_size + text_size > sizeof payload) text_size = sizeof payload - code_size;
  memcpy(payload, code, code_size);
  memcpy(payload + code_size, text, text_size);
  payload[code_size + text_size - 1] = 0;
  send_frame(to, 'F', channel, payload, (uint32_t)(code_size + text_size));
}

static void send_end(struct connection *to, const struct exec *exec) {
  if (exec->failure) return send_failure(to, exec->channel, exec->failure, exec->failure_text);
  struct {
    uint32_t status, flags;
    uint64_t output_bytes, duration_us;
  } end = {(uint32_t)exec->status, exec->flags, exec->output_bytes, (uint64_t)(exec->ended_us - exec->started_us)};
  send_frame(to, 'X', exec->channel, &end, sizeof end);
}

// Reads a zero-terminated string of the payload and moves past it. NULL if it has no end.
static const char *take_string(const char **at, const char *end) {
  const char *start = *at, *zero = memchr(start, 0, (size_t)(end - start));
  if (!zero) return NULL;
  *at = zero + 1;
  return start;
}

static void attach(struct connection *connection, struct exec *exec, uint32_t channel) {
  if (exec->to) send_failure(exec->to, exec->channel, "taken_over", "another request now waits for this command");
  exec_attach(exec, connection, channel);
}

static struct exec *exec_on_channel(struct connection *connection, uint32_t channel) {
  for (int i = 0; i < EXECS_MAX; i++) {
    struct exec *exec = exec_at(i);
    if (exec && exec->to == connection && exec->channel == channel) return exec;
  }
  return NULL;
}

static int on_start(struct connection *connection, uint32_t channel, const char *at, const char *end, int64_t now_us) {
  uint32_t fixed[4]; // timeout_ms, output_max, env_count, flags
  if ((size_t)(end - at) < sizeof fixed) return 0;
  memcpy(fixed, at, sizeof fixed);
  at += sizeof fixed;
  const char *id = take_string(&at, end), *text = id ? take_string(&at, end) : NULL;
  const char *cwd = text ? take_string(&at, end) : NULL;
  if (!cwd || !id[0] || strlen(id) > EXEC_ID_BYTES_MAX || fixed[2] > (size_t)(end - at)) return 0;

  struct exec *known = exec_find(id);
  if (known) return attach(connection, known, channel), 1;
  if (refuse_execs) return send_failure(connection, channel, "stopping", "the computer is being stopped"), 1;

  char **env = calloc(fixed[2] + 1, sizeof *env);
  for (uint32_t i = 0; env && i < fixed[2]; i++) {
    env[i] = (char *)take_string(&at, end);
    if (!env[i]) return free(env), 0;
  }
  struct exec_request request = {
      .id = id,
      .timeout_ms = fixed[0] > TIMEOUT_MS_MAX ? TIMEOUT_MS_MAX : fixed[0],
      .output_max = fixed[1] > OUTPUT_BYTES_MAX ? OUTPUT_BYTES_MAX : fixed[1],
      .command = {.text = text, .cwd = cwd, .env = env, .env_count = env ? fixed[2] : 0,
                  .has_stdin = (fixed[3] & EXEC_HAS_STDIN) != 0},
      .streamed = (fixed[3] & EXEC_STREAMED) != 0,
      .kept = (fixed[3] & EXEC_KEPT) != 0,
      .stdin_bytes = at,
      .stdin_size = (size_t)(end - at),
  };
  struct exec *exec = exec_start(&request, now_us);
  free(env);
  if (exec) exec->to = connection, exec->channel = channel;
  else send_failure(connection, channel, "too_many_execs", "too many commands are running in this computer");
  return 1;
}

static int on_attach(struct connection *connection, uint32_t channel, const char *at, const char *end) {
  const char *id = take_string(&at, end);
  if (!id) return 0;
  struct exec *exec = exec_find(id);
  if (exec) attach(connection, exec, channel);
  else send_failure(connection, channel, "unknown_exec", "no such exec, or its result is no longer kept");
  return 1;
}

static void on_list(struct connection *connection, uint32_t channel) {
  struct bytes list = {0};
  for (int i = 0; i < EXECS_MAX; i++) {
    struct exec *exec = exec_at(i);
    if (!exec || exec->is_terminal) continue;
    append(&list, exec->kept ? (exec->finished ? "=" : "*") : exec->finished ? "-" : "+", 1);
    append(&list, exec->id, strlen(exec->id) + 1);
  }
  send_frame(connection, 'L', channel, list.data, (uint32_t)list.size);
  empty(&list);
}

static int on_open(struct connection *connection, uint32_t channel, const char *payload, uint32_t size, int64_t now_us) {
  if (!refuse_execs) return stream_open(connection, channel, payload, size, now_us);
  return send_failure(connection, channel, "stopping", "the computer is being stopped"), 1;
}

static void on_received(struct exec *exec) {
  if (exec->kept) exec_detach(exec);
  else exec_forget(exec);
}

static void on_window(struct exec *exec, const char *payload) {
  uint32_t bytes;
  memcpy(&bytes, payload, sizeof bytes);
  exec->credit += bytes;
}

// Appends the size and that many bytes, or UINT32_MAX alone for a file that cannot be read.
static int append_file(struct bytes *answer, const char *path) {
  static char buffer[METRIC_FILE_BYTES_MAX];
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  ssize_t count = fd < 0 ? -1 : read(fd, buffer, sizeof buffer);
  if (fd >= 0) close(fd);
  uint32_t size = count < 0 ? UINT32_MAX : (uint32_t)count;
  return append(answer, &size, sizeof size) && append(answer, buffer, count < 0 ? 0 : (size_t)count);
}

static int on_read_files(struct connection *connection, uint32_t channel, const char *at, const char *end) {
  struct bytes answer = {0};
  int sound = 1;
  for (int i = 0; sound && at < end; i++) {
    const char *path = i < METRIC_FILES_MAX ? take_string(&at, end) : NULL;
    sound = path && append_file(&answer, path);
  }
  if (sound) send_frame(connection, 'M', channel, answer.data, (uint32_t)answer.size);
  empty(&answer);
  return sound;
}

// Returns 0 for an invalid request.
static int on_frame(struct connection *connection, char type, uint32_t channel, const char *payload, uint32_t size,
                    int64_t now_us) {
  struct exec *exec;
  switch (type) {
    case 'E': return on_start(connection, channel, payload, payload + size, now_us);
    case 'A': return on_attach(connection, channel, payload, payload + size);
    case 'K':
      if ((exec = exec_on_channel(connection, channel))) exec_kill(exec, FLAG_CANCELLED, now_us / 1000);
      return 1;
    case 'R':
      if ((exec = exec_on_channel(connection, channel)) && exec->finished) on_received(exec);
      return 1;
    case 'W':
      if (size != 4) return 0;
      if ((exec = exec_on_channel(connection, channel))) on_window(exec, payload);
      return 1;
    case 'M': return on_read_files(connection, channel, payload, payload + size);
    case 'L': return on_list(connection, channel), 1;
    case 's': return on_open(connection, channel, payload, size, now_us);
    case 'd': return stream_take(connection, channel, payload, size);
    case 'g': return stream_grant(connection, channel, payload, size);
    case 'w': return stream_resize(connection, channel, payload, size);
    case 'z': return stream_finish_input(connection, channel, now_us), 1;
    case 'c': return stream_close(connection, channel, now_us), 1;
    case 'T': return stop_asked = 1;
    default: return 0;
  }
}

// Handles the complete frames received. Returns 0 if the connection must be closed.
static int on_bytes(struct connection *connection, int64_t now_us) {
  struct bytes *in = &connection->in;
  size_t at = 0;
  while (in->size - at >= FRAME_HEAD_BYTES) {
    uint32_t channel, size;
    memcpy(&channel, in->data + at + 1, 4);
    memcpy(&size, in->data + at + 5, 4);
    if (size > FRAME_PAYLOAD_BYTES_MAX) return 0;
    if (in->size - at - FRAME_HEAD_BYTES < size) break;
    if (!on_frame(connection, in->data[at], channel, in->data + at + FRAME_HEAD_BYTES, size, now_us)) return 0;
    at += FRAME_HEAD_BYTES + size;
  }
  if (at == in->size) empty(in);
  else if (at) memmove(in->data, in->data + at, in->size -= at);
  return 1;
}

void connections_open(int epoll, int listener) {
  epoll_fd = epoll, listener_fd = listener;
  for (int i = 0; i < CONNECTIONS_MAX; i++) connections[i].source.fd = -1;
}

int connections_stop_asked(void) { return stop_asked; }

void connections_refuse_execs(void) { refuse_execs = 1; }

void connection_accept(void) {
  int fd = accept4(listener_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) return;
  struct connection *place = NULL;
  for (int i = 0; i < CONNECTIONS_MAX && !place; i++)
    if (connections[i].source.fd < 0) place = &connections[i];
  if (!place) {
    close(fd);
    return;
  }
  place->source = (struct source){SOURCE_CONNECTION, fd, place};
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = &place->source};
  epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event);
  uint32_t version = PROTOCOL_VERSION;
  send_frame(place, 'H', 0, &version, sizeof version);
}

void connection_on_event(struct connection *connection, uint32_t events, int64_t now_us) {
  if (!(events & (EPOLLIN | EPOLLHUP | EPOLLERR))) return; // writable: handled by connections_pump
  static char buffer[READ_BYTES];
  ssize_t count = recv(connection->source.fd, buffer, sizeof buffer, 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0 || !append(&connection->in, buffer, (size_t)count) || !on_bytes(connection, now_us))
    disconnect(connection, now_us);
}

int connection_has_room(const struct connection *connection) { return connection->out.size < OUT_BYTES_WANTED; }

// Fills the connection's buffer with output and ends of its execs and bytes of its streams, up to its limit.
static void fill(struct connection *connection, int64_t now_us) {
  for (int i = 0; i < EXECS_MAX && connection_has_room(connection); i++) {
    struct exec *exec = exec_at(i);
    if (!exec || exec->to != connection) continue;
    const char *output;
    size_t size;
    while (connection_has_room(connection) && (size = exec_next_output(exec, &output))) {
      if (size > OUTPUT_FRAME_BYTES_MAX) size = OUTPUT_FRAME_BYTES_MAX;
      send_frame(connection, 'O', exec->channel, output, (uint32_t)size);
      exec_output_sent(exec, size);
    }
    // The end is sent once; SIZE_MAX marks that. The exec is forgotten only when the agent has confirmed it.
    if (exec->finished && exec_output_is_sent(exec)) {
      send_end(connection, exec);
      exec->sent = SIZE_MAX;
    }
  }
  streams_pump(connection, now_us);
}

static void pump(struct connection *connection, int64_t now_us) {
  for (;;) {
    struct bytes *out = &connection->out;
    fill(connection, now_us);
    while (connection->out_sent < out->size) {
      ssize_t count = send(connection->source.fd, out->data + connection->out_sent, out->size - connection->out_sent,
                           MSG_NOSIGNAL);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && errno != EAGAIN) return disconnect(connection, now_us);
      if (count < 0) break;
      connection->out_sent += (size_t)count;
    }
    int blocked = connection->out_sent < out->size;
    if (!blocked && out->size > 0) {
      empty(out);
      connection->out_sent = 0;
      continue; // perhaps there is more
    }
    if (blocked != connection->wants_writable) {
      connection->wants_writable = blocked;
      struct epoll_event event = {.events = EPOLLIN | (blocked ? EPOLLOUT : 0), .data.ptr = &connection->source};
      epoll_ctl(epoll_fd, EPOLL_CTL_MOD, connection->source.fd, &event);
    }
    return;
  }
}

void connections_pump(int64_t now_us) {
  for (int i = 0; i < CONNECTIONS_MAX; i++)
    if (connections[i].source.fd >= 0) pump(&connections[i], now_us);
  streams_sweep();
}
