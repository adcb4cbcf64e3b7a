// The execs of a computer: running ones, and ended ones whose result was not received yet.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bytes.h"
#include "protocol.h"
#include "supervisor.h"

#define RUNNING_EXECS_MAX 128
// Bounds of the results that wait for an agent; above either one, the oldest result is forgotten.
#define KEPT_RESULTS_MAX 64
#define KEPT_RESULT_BYTES_MAX (16u << 20)
#define EXECS_MAX (RUNNING_EXECS_MAX + KEPT_RESULTS_MAX)

enum source_kind {
  SOURCE_LISTENER,
  SOURCE_SIGNALS,
  SOURCE_CONNECTION,
  SOURCE_REPORTS,
  SOURCE_OUTPUT,
  SOURCE_INPUT,
  SOURCE_LEFTOVER,
  SOURCE_STREAM,
};

// What an epoll event points to.
struct source {
  enum source_kind kind;
  int fd; // -1 when closed
  void *owner;
};

// Closes its descriptor, if open, and ends its events.
void close_source(struct source *source);

struct connection;

struct exec {
  int used, finished;
  int is_terminal; // belongs to a stream, which forgets it; never listed
  char id[EXEC_ID_BYTES_MAX + 1];

  pid_t supervisor, command;
  struct source reports, output, input;
  char *stdin_bytes;
  size_t stdin_size, stdin_written;

  struct bytes data; // kept output: the first output_max bytes
  size_t output_max;
  uint64_t output_bytes; // written in all
  // Streamed execs only: output after `data`, to be sent from tail_sent on. Freed once sent.
  int streamed;
  int pauses; // reasons for not reading its output, PAUSED_...; 0: it is read
  int64_t read_us;
  int quick_reads; // reads since its last pause
  int64_t resume_ms; // when it is read again, if it floods
  struct bytes tail;
  size_t tail_sent;
  int kept;

  int64_t started_us, ended_us, deadline_ms;
  uint32_t flags;
  int status, status_known;
  const char *failure; // code of the failure; NULL: it has a status
  char failure_text[160];

  int killing;
  int64_t kill_again_ms, kill_give_up_ms;

  // The connection that asked last; it receives output and end.
  struct connection *to;
  uint32_t channel;
  size_t sent; // of data
  uint64_t credit; // bytes that may be sent, if streamed
  uint64_t finished_order;
};

struct exec_request {
  const char *id;
  uint32_t timeout_ms, output_max;
  int streamed, kept;
  struct command command;
  const char *stdin_bytes;
  size_t stdin_size;
};

void execs_open(int epoll);
struct exec *exec_find(const char *id);
struct exec *exec_at(int index); // 0 .. EXECS_MAX - 1; NULL where the place is free

// Starts a command. An exec that cannot be started is returned finished, with its failure. Returns NULL if too many run.
struct exec *exec_start(const struct exec_request *request, int64_t now_us);
void exec_kill(struct exec *exec, uint32_t why, int64_t now_ms);
void exec_forget(struct exec *exec);
// From now on `to` receives the exec's output, from the beginning, and its end. Output that only a stream carried is
// lost.
void exec_attach(struct exec *exec, struct connection *to, uint32_t channel);
// Detaches the exec from its connection. It continues, and its result waits within the bounds.
void exec_detach(struct exec *exec);
// The next output to send and its size; 0: none now.
size_t exec_next_output(const struct exec *exec, const char **output);
void exec_output_sent(struct exec *exec, size_t size);
int exec_output_is_sent(const struct exec *exec);
int execs_running(void);

void exec_on_reports(struct exec *exec, int64_t now_us);
void exec_on_output(struct exec *exec, int64_t now_us);
void exec_on_input(struct exec *exec);
void leftover_on_output(struct source *leftover, int64_t now_us);

// Reads the process ids of commands where they are not known yet.
void execs_learn_commands(int64_t now_us);

// PID 1 reaped this process; it may be the command of a supervisor that was killed.
void execs_on_reaped(pid_t pid, int status, int64_t now_us);
// Handles timeouts, retries of kills and the ends of pauses. Returns milliseconds until the next call, or -1.
int execs_tick(int64_t now_us);
