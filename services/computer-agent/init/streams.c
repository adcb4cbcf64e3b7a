#define _GNU_SOURCE
#include "streams.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include "execs.h"
#include "protocol.h"

#define ENV_ENTRIES_MAX 64

struct stream {
  int used;
  enum stream_kind kind;
  struct connection *connection; // NULL: the agent is gone and the processes are being killed
  uint32_t channel;
  struct source source; // the socket, or the terminal's own side
  int readable, writable;

  // TCP: addresses not tried yet, and whether one of them is connecting.
  uint16_t port;
  int next_address, connected;

  struct exec *shell; // of a terminal

  char *in; // from the agent, a ring of STREAM_WINDOW_BYTES; NULL while empty
  size_t in_start, in_size;
  uint32_t granted; // bytes the agent may send beyond those in `in`
  int in_ended, in_shut, broken;

  uint64_t credit; // bytes it takes
  int out_ended, looked_last;
};

static int epoll_fd;
static struct stream streams[STREAMS_MAX];
static int turn; // the stream that sends first

void streams_open(int epoll) { epoll_fd = epoll; }

static struct stream *stream_on(struct connection *connection, uint32_t channel) {
  for (int i = 0; i < STREAMS_MAX; i++)
    if (streams[i].used && streams[i].connection == connection && streams[i].channel == channel) return &streams[i];
  return NULL;
}

static void release(struct stream *stream) {
  free(stream->in);
  stream->in = NULL;
  stream->in_size = stream->in_start = 0;
  stream->connection = NULL;
}

static void free_stream(struct stream *stream) {
  close_source(&stream->source);
  release(stream);
  if (stream->shell) exec_forget(stream->shell);
  stream->shell = NULL;
  stream->used = 0;
}

// Detaches the stream from its agent. A terminal keeps its slot until its processes are gone.
static void end_stream(struct stream *stream, int64_t now_us) {
  if (!stream->shell || stream->shell->finished) return free_stream(stream);
  close_source(&stream->source);
  release(stream);
  exec_kill(stream->shell, FLAG_CANCELLED, now_us / 1000);
}

static void fail_stream(struct stream *stream, const char *code, const char *text, int64_t now_us) {
  send_failure(stream->connection, stream->channel, code, text);
  end_stream(stream, now_us);
}

static void watch_stream(struct stream *stream, int fd) {
  stream->source = (struct source){SOURCE_STREAM, fd, stream};
  stream->readable = stream->writable = 0;
  // Edge-triggered: readable and writable are remembered until a call returns EAGAIN.
  struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = &stream->source};
  epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

static void grant(struct stream *stream, uint32_t bytes) {
  stream->granted += bytes;
  send_frame(stream->connection, 'g', stream->channel, &bytes, sizeof bytes);
}

// --- connections to ports --------------------------------------------------------------------------------------------

static int connect_to(int family, uint16_t port) {
  int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  union {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
  } address = {0};
  socklen_t size;
  if (family == AF_INET) {
    address.v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port)};
    address.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    size = sizeof address.v4;
  } else {
    address.v6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = in6addr_loopback};
    size = sizeof address.v6;
  }
  if (connect(fd, &address.any, size) == 0 || errno == EINPROGRESS) {
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
  }
  close(fd);
  return -1;
}

// A server may listen on either loopback address.
static void try_next_address(struct stream *stream, int64_t now_us) {
  static const int FAMILIES[] = {AF_INET, AF_INET6};
  close_source(&stream->source);
  while (stream->next_address < 2) {
    int fd = connect_to(FAMILIES[stream->next_address++], stream->port);
    if (fd >= 0) return watch_stream(stream, fd);
  }
  char text[80];
  snprintf(text, sizeof text, "no server listens on port %u in the computer", stream->port);
  fail_stream(stream, "refused", text, now_us);
}

// Returns 1 once connected.
static int finish_connecting(struct stream *stream, int64_t now_us) {
  if (!stream->writable) return 0;
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(stream->source.fd, SOL_SOCKET, SO_ERROR, &error, &size);
  if (error) return try_next_address(stream, now_us), 0;
  struct sockaddr_storage peer;
  size = sizeof peer;
  if (getpeername(stream->source.fd, (struct sockaddr *)&peer, &size)) return stream->writable = 0; // not yet
  stream->connected = 1;
  grant(stream, STREAM_WINDOW_BYTES);
  return 1;
}

// --- terminals -------------------------------------------------------------------------------------------------------

static void set_window(int terminal, uint16_t columns, uint16_t rows) {
  struct winsize window = {.ws_col = columns, .ws_row = rows};
  ioctl(terminal, TIOCSWINSZ, &window);
}

// Opens a pair; the near side does not block. Returns 0, or the errno of what failed.
static int open_terminal(uint16_t columns, uint16_t rows, int *near, int *far) {
  // Root inside may have replaced this file: open it without blocking, and check what it is.
  *near = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  if (*near < 0) return errno;
  int locked = 0;
  *far = -1;
  if (ioctl(*near, TIOCSPTLCK, &locked) == 0) *far = ioctl(*near, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (*far < 0) {
    int error = errno;
    close(*near);
    return error;
  }
  set_window(*near, columns, rows);
  struct termios settings;
  if (tcgetattr(*far, &settings) == 0) {
    settings.c_iflag |= IUTF8;
    tcsetattr(*far, TCSANOW, &settings);
  }
  return 0;
}

static void start_terminal(struct stream *stream, uint16_t columns, uint16_t rows, char **env, uint32_t env_count,
                           int64_t now_us) {
  int near, far = -1, error = open_terminal(columns, rows, &near, &far);
  if (error) {
    char text[120];
    snprintf(text, sizeof text, "the computer has no terminals: %s", strerror(error));
    return fail_stream(stream, "no_terminal", text, now_us);
  }
  struct command shell = {.text = "", .cwd = "", .env = env, .env_count = env_count, .has_terminal = 1, .terminal = far};
  struct exec_request request = {.id = "", .command = shell};
  stream->shell = exec_start(&request, now_us);
  close(far);
  if (!stream->shell) {
    close(near);
    return fail_stream(stream, "too_many_execs", "too many commands are running in this computer", now_us);
  }
  watch_stream(stream, near);
  grant(stream, STREAM_WINDOW_BYTES);
}

// --- requests of the agent -------------------------------------------------------------------------------------------

int stream_open(struct connection *connection, uint32_t channel, const char *payload, uint32_t size, int64_t now_us) {
  struct {
    uint32_t kind, credit;
    uint16_t port_or_columns, rows;
  } fixed;
  if (size < sizeof fixed || stream_on(connection, channel)) return 0;
  memcpy(&fixed, payload, sizeof fixed);

  struct stream *stream = NULL;
  for (int i = 0; i < STREAMS_MAX && !stream; i++)
    if (!streams[i].used) stream = &streams[i];
  if (!stream) {
    send_failure(connection, channel, "too_many_streams", "too many connections to this computer are open");
    return 1;
  }
  *stream = (struct stream){
      .used = 1, .kind = fixed.kind, .connection = connection, .channel = channel, .credit = fixed.credit};
  stream->source.fd = -1;

  if (fixed.kind == STREAM_TCP) {
    stream->port = fixed.port_or_columns;
    return try_next_address(stream, now_us), 1;
  }
  if (fixed.kind != STREAM_TERMINAL) return stream->used = 0;
  char *env[ENV_ENTRIES_MAX];
  uint32_t count = 0;
  for (const char *at = payload + sizeof fixed, *end = payload + size; at < end; at += strlen(at) + 1) {
    if (!memchr(at, 0, (size_t)(end - at)) || count == ENV_ENTRIES_MAX) return stream->used = 0;
    env[count++] = (char *)at;
  }
  return start_terminal(stream, fixed.port_or_columns, fixed.rows, env, count, now_us), 1;
}

int stream_take(struct connection *connection, uint32_t channel, const char *bytes, uint32_t size) {
  struct stream *stream = stream_on(connection, channel);
  if (!stream || stream->in_shut) return 1;
  if (size > stream->granted || stream->in_ended) return 0;
  stream->granted -= size;
  if (!stream->in && !(stream->in = malloc(STREAM_WINDOW_BYTES))) return 0;
  for (uint32_t done = 0; done < size;) {
    size_t at = (stream->in_start + stream->in_size) % STREAM_WINDOW_BYTES, room = STREAM_WINDOW_BYTES - at;
    size_t count = size - done < room ? size - done : room;
    memcpy(stream->in + at, bytes + done, count);
    stream->in_size += count, done += (uint32_t)count;
  }
  return 1;
}

int stream_grant(struct connection *connection, uint32_t channel, const char *payload, uint32_t size) {
  struct stream *stream = stream_on(connection, channel);
  uint32_t bytes;
  if (size != sizeof bytes) return 0;
  memcpy(&bytes, payload, sizeof bytes);
  if (stream) stream->credit += bytes;
  return 1;
}

int stream_resize(struct connection *connection, uint32_t channel, const char *payload, uint32_t size) {
  struct stream *stream = stream_on(connection, channel);
  uint16_t window[2];
  if (size != sizeof window) return 0;
  memcpy(window, payload, sizeof window);
  if (stream && stream->kind == STREAM_TERMINAL && stream->source.fd >= 0)
    set_window(stream->source.fd, window[0], window[1]);
  return 1;
}

void stream_finish_input(struct connection *connection, uint32_t channel, int64_t now_us) {
  struct stream *stream = stream_on(connection, channel);
  if (!stream) return;
  // A terminal cannot be half-closed: closing its input ends it.
  if (stream->kind == STREAM_TERMINAL) end_stream(stream, now_us);
  else stream->in_ended = 1;
}

void stream_close(struct connection *connection, uint32_t channel, int64_t now_us) {
  struct stream *stream = stream_on(connection, channel);
  if (!stream) return;
  // Discard pending bytes: the server inside must see a reset, not a regular end.
  if (stream->kind == STREAM_TCP && stream->source.fd >= 0) {
    struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    setsockopt(stream->source.fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
  end_stream(stream, now_us);
}

void streams_disconnect(struct connection *connection, int64_t now_us) {
  for (int i = 0; i < STREAMS_MAX; i++)
    if (streams[i].used && streams[i].connection == connection) stream_close(connection, streams[i].channel, now_us);
}

// --- moving bytes ----------------------------------------------------------------------------------------------------

void stream_on_event(struct stream *stream, uint32_t events) {
  if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) stream->readable = 1;
  if (events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) stream->writable = 1;
}

// Writes the agent's bytes into the computer and grants credit for those written.
static void write_in(struct stream *stream) {
  uint32_t gone = 0;
  while (stream->writable && stream->in_size > 0) {
    size_t straight = STREAM_WINDOW_BYTES - stream->in_start;
    size_t want = stream->in_size < straight ? stream->in_size : straight;
    ssize_t count = write(stream->source.fd, stream->in + stream->in_start, want);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) stream->writable = 0;
    else if (count < 0) stream->broken = stream->in_shut = 1, stream->in_size = 0; // its output is still delivered
    else {
      stream->in_start = (stream->in_start + (size_t)count) % STREAM_WINDOW_BYTES;
      stream->in_size -= (size_t)count;
      gone += (uint32_t)count;
    }
  }
  if (stream->in && stream->in_size == 0) free(stream->in), stream->in = NULL, stream->in_start = 0;
  if (gone && !stream->in_shut && !stream->in_ended) grant(stream, gone);
  if (stream->in_ended && stream->in_size == 0 && !stream->in_shut) {
    stream->in_shut = 1;
    shutdown(stream->source.fd, SHUT_WR);
  }
}

// One frame to the agent. Returns 1 if there may be more.
static int read_out(struct stream *stream, int64_t now_us) {
  static char buffer[STREAM_FRAME_BYTES_MAX];
  if (!stream->readable || stream->out_ended || stream->credit == 0) return 0;
  size_t want = stream->credit < sizeof buffer ? (size_t)stream->credit : sizeof buffer;
  ssize_t count = read(stream->source.fd, buffer, want);
  if (count < 0 && errno == EINTR) return 1;
  if (count < 0 && errno == EAGAIN) return stream->readable = 0;
  if (count > 0) {
    stream->credit -= (uint64_t)count;
    send_frame(stream->connection, 'd', stream->channel, buffer, (uint32_t)count);
    return 1;
  }
  // A terminal that no process has open reads as an error.
  if (stream->kind == STREAM_TCP && (count < 0 || stream->broken))
    return fail_stream(stream, "reset", "the server in the computer reset the connection", now_us), 0;
  stream->out_ended = 1;
  if (stream->kind == STREAM_TCP) send_frame(stream->connection, 'z', stream->channel, NULL, 0);
  return 0;
}

// The last frame, once all bytes are sent.
static void conclude(struct stream *stream, int64_t now_us) {
  uint32_t status = 0;
  if (stream->kind == STREAM_TERMINAL) {
    struct exec *shell = stream->shell;
    // All of its processes are gone, so the readable bytes are the last ones.
    if (!shell->finished || (stream->readable && !stream->out_ended)) return;
    if (shell->failure) return fail_stream(stream, shell->failure, shell->failure_text, now_us);
    status = (uint32_t)shell->status;
  } else if (!stream->out_ended || !stream->in_shut) return;
  send_frame(stream->connection, 'y', stream->channel, &status, sizeof status);
  end_stream(stream, now_us);
}

static int is_of(const struct stream *stream, const struct connection *connection) {
  return stream->used && stream->connection == connection && (stream->kind == STREAM_TERMINAL || stream->connected);
}

void streams_pump(struct connection *connection, int64_t now_us) {
  for (int i = 0; i < STREAMS_MAX; i++) {
    struct stream *stream = &streams[i];
    if (stream->used && stream->connection == connection && stream->kind == STREAM_TCP && !stream->connected)
      finish_connecting(stream, now_us);
    if (!is_of(stream, connection)) continue;
    write_in(stream);
    // Final output may be in the terminal without an event.
    if (stream->shell && stream->shell->finished && !stream->looked_last) stream->looked_last = stream->readable = 1;
  }
  turn = (turn + 1) % STREAMS_MAX;
  for (int more = 1; more;) {
    more = 0;
    for (int i = 0; i < STREAMS_MAX && connection_has_room(connection); i++) {
      struct stream *stream = &streams[(turn + i) % STREAMS_MAX];
      if (is_of(stream, connection)) more |= read_out(stream, now_us);
    }
    more = more && connection_has_room(connection);
  }
  for (int i = 0; i < STREAMS_MAX; i++)
    if (is_of(&streams[i], connection)) conclude(&streams[i], now_us);
}

void streams_sweep(void) {
  for (int i = 0; i < STREAMS_MAX; i++)
    if (streams[i].used && !streams[i].connection && streams[i].shell && streams[i].shell->finished)
      free_stream(&streams[i]);
}
