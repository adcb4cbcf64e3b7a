#define _GNU_SOURCE
#include "execs.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "process_tree.h"

#define READ_BYTES (64 * 1024)
// So that one flood does not delay other commands.
#define READS_PER_TURN 16
// Bytes of a streamed exec that wait to be sent, beyond the kept ones, before the command is blocked. Bytes left in
// its pipe when it ends are added.
#define TAIL_BYTES_MAX (256u << 10)
// A flood in small pieces would wake the init for each piece. The init has priority over the writer, so they would
// alternate tens of thousands of times a second and use all of the computer's CPU time. A command that writes without
// a pause is therefore read at intervals, from a larger pipe: at most 256 MB/s, or 128 MB/s for output that is only
// counted and dropped.
#define QUICK_READS_MAX 16
#define PAUSE_US 50000
#define FLOOD_PAUSE_MS 1
#define DROPPED_PAUSE_MS 2
#define FLOOD_PIPE_BYTES (256 << 10)
// Reasons for not reading an exec's output: no consumer takes it, or it floods.
#define PAUSED_UNCONSUMED 1
#define PAUSED_FLOODING 2
#define KILL_AGAIN_MS 50
#define KILL_GIVE_UP_MS 10000
// Background programs keep writing after their command has ended. Their pipe stays open (closing it would end them by
// SIGPIPE) and is drained at a limited rate, so that they cannot keep the init busy.
#define LEFTOVERS_MAX 256
#define LEFTOVER_PAUSE_MS 50
#define LEFTOVER_BYTES_PER_TURN (1u << 20)

static int epoll_fd;
static struct exec execs[EXECS_MAX];
static uint64_t finished_count;

static struct leftover {
  struct source source;
  int64_t resume_ms; // 0: it is not paused
  uint64_t order;
} leftovers[LEFTOVERS_MAX];
static uint64_t leftover_count;
static char scratch[READ_BYTES];

static void watch_source(struct source *source, enum source_kind kind, int fd, uint32_t events, void *owner) {
  *source = (struct source){kind, fd, owner};
  struct epoll_event event = {.events = events, .data.ptr = source};
  if (fd >= 0) epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

void close_source(struct source *source) {
  if (source->fd < 0) return;
  // A newly forked supervisor may hold a copy, so closing this descriptor alone would not end its events.
  epoll_ctl(epoll_fd, EPOLL_CTL_DEL, source->fd, NULL);
  close(source->fd);
  source->fd = -1;
}

void execs_open(int epoll) {
  epoll_fd = epoll;
  for (int i = 0; i < LEFTOVERS_MAX; i++) leftovers[i].source.fd = -1;
}

struct exec *exec_at(int index) { return execs[index].used ? &execs[index] : NULL; }

struct exec *exec_find(const char *id) {
  for (int i = 0; i < EXECS_MAX; i++)
    if (execs[i].used && !execs[i].is_terminal && !strcmp(execs[i].id, id)) return &execs[i];
  return NULL;
}

int execs_running(void) {
  int running = 0;
  for (int i = 0; i < EXECS_MAX; i++) running += execs[i].used && !execs[i].finished;
  return running;
}

void exec_forget(struct exec *exec) {
  close_source(&exec->reports);
  close_source(&exec->output);
  close_source(&exec->input);
  empty(&exec->data), empty(&exec->tail);
  free(exec->stdin_bytes);
  memset(exec, 0, sizeof *exec);
}

// Forgets the oldest results until the kept ones are within their bounds. Results being received do not count.
static void trim_results(void) {
  for (;;) {
    struct exec *oldest = NULL;
    size_t count = 0, bytes = 0;
    for (int i = 0; i < EXECS_MAX; i++) {
      struct exec *exec = &execs[i];
      if (!exec->used || !exec->finished || exec->to || exec->is_terminal) continue;
      count++, bytes += exec->data.size;
      if (!oldest || exec->finished_order < oldest->finished_order) oldest = exec;
    }
    if (!oldest || (count <= KEPT_RESULTS_MAX && bytes <= KEPT_RESULT_BYTES_MAX)) return;
    exec_forget(oldest);
  }
}

// How much more output may be read now. Output above a dropping limit is always read.
static size_t output_room(const struct exec *exec) {
  if (!exec->streamed || exec->flags & FLAG_TRUNCATED) return READ_BYTES;
  size_t held = exec->tail.size - exec->tail_sent;
  return exec->output_max - exec->data.size + (held < TAIL_BYTES_MAX ? TAIL_BYTES_MAX - held : 0);
}

static void keep_output(struct exec *exec, const char *bytes, size_t count) {
  exec->output_bytes += count;
  size_t room = exec->output_max - exec->data.size, first = count < room ? count : room;
  if (!append(&exec->data, bytes, first)) {
    exec->flags |= FLAG_TRUNCATED;
    exec->output_max = exec->data.size;
    return;
  }
  if (first == count) return;
  int is_whole = exec->streamed && !(exec->flags & FLAG_TRUNCATED);
  if (!is_whole || !append(&exec->tail, bytes + first, count - first)) exec->flags |= FLAG_TRUNCATED;
}

// While its output is not read, the command blocks once its pipe is full.
static void pause_reading(struct exec *exec, int why) {
  if (exec->output.fd < 0) return;
  if (!exec->pauses) epoll_ctl(epoll_fd, EPOLL_CTL_DEL, exec->output.fd, NULL);
  exec->pauses |= why;
}

static void resume_reading(struct exec *exec, int why) {
  if (exec->output.fd < 0 || !(exec->pauses & why)) return;
  exec->pauses &= ~why;
  if (exec->pauses) return;
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = &exec->output};
  epoll_ctl(epoll_fd, EPOLL_CTL_ADD, exec->output.fd, &event);
}

// Pauses reading of a flooding command. Call it after reading everything available, or the maximum of one turn.
static void pause_flood(struct exec *exec, int64_t now_us) {
  if (exec->output.fd < 0) return;
  if (now_us - exec->read_us >= PAUSE_US) exec->quick_reads = 0;
  exec->read_us = now_us;
  if (++exec->quick_reads <= QUICK_READS_MAX) return;
  if (exec->quick_reads == QUICK_READS_MAX + 1) fcntl(exec->output.fd, F_SETPIPE_SZ, FLOOD_PIPE_BYTES); // may fail
  exec->resume_ms = now_us / 1000 + (exec->flags & FLAG_TRUNCATED ? DROPPED_PAUSE_MS : FLOOD_PAUSE_MS);
  pause_reading(exec, PAUSED_FLOODING);
}

size_t exec_next_output(const struct exec *exec, const char **output) {
  size_t size;
  if (exec->sent == SIZE_MAX) return 0;
  if (exec->sent < exec->data.size) {
    *output = exec->data.data + exec->sent;
    size = exec->data.size - exec->sent;
  } else {
    *output = exec->tail.data + exec->tail_sent;
    size = exec->tail.size - exec->tail_sent;
  }
  return exec->streamed && size > exec->credit ? (size_t)exec->credit : size;
}

void exec_output_sent(struct exec *exec, size_t size) {
  if (exec->streamed) exec->credit -= size;
  if (exec->sent < exec->data.size) {
    exec->sent += size;
    return;
  }
  exec->tail_sent += size;
  if (exec->tail_sent == exec->tail.size) exec->tail.size = exec->tail_sent = 0;
  else if (exec->tail_sent >= TAIL_BYTES_MAX / 2) {
    exec->tail.size -= exec->tail_sent;
    memmove(exec->tail.data, exec->tail.data + exec->tail_sent, exec->tail.size);
    exec->tail_sent = 0;
  }
  if (output_room(exec) > 0) resume_reading(exec, PAUSED_UNCONSUMED);
}

int exec_output_is_sent(const struct exec *exec) {
  return exec->sent == exec->data.size && exec->tail_sent == exec->tail.size;
}

void exec_attach(struct exec *exec, struct connection *to, uint32_t channel) {
  exec->to = to;
  exec->channel = channel;
  exec->sent = exec->credit = exec->streamed = 0;
  if (exec->output_bytes > exec->data.size) exec->flags |= FLAG_TRUNCATED;
  empty(&exec->tail);
  exec->tail_sent = 0;
  resume_reading(exec, PAUSED_UNCONSUMED);
}

void exec_detach(struct exec *exec) {
  exec_attach(exec, NULL, 0);
  trim_results();
}

// Background processes of an ended command still write to its pipe: keep it among the leftovers.
static void keep_leftover(struct source *output) {
  struct leftover *place = &leftovers[0];
  for (int i = 0; i < LEFTOVERS_MAX && place->source.fd >= 0; i++)
    if (leftovers[i].source.fd < 0 || leftovers[i].order < place->order) place = &leftovers[i];
  close_source(&place->source);
  place->resume_ms = 0;
  place->order = ++leftover_count;
  place->source = (struct source){SOURCE_LEFTOVER, output->fd, place};
  struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.ptr = &place->source};
  epoll_ctl(epoll_fd, EPOLL_CTL_MOD, output->fd, &event);
  output->fd = -1;
}

// The command has ended, so its output is complete: read what is in the pipe now, and no more.
static void take_last_output(struct exec *exec) {
  if (exec->output.fd < 0) return;
  resume_reading(exec, PAUSED_UNCONSUMED | PAUSED_FLOODING);
  int waiting = 0;
  if (ioctl(exec->output.fd, FIONREAD, &waiting) < 0) waiting = 0;
  while (waiting > 0) {
    size_t want = waiting < READ_BYTES ? (size_t)waiting : READ_BYTES;
    ssize_t count = read(exec->output.fd, scratch, want);
    if (count <= 0) break;
    keep_output(exec, scratch, (size_t)count);
    waiting -= (int)count;
  }
  if (read(exec->output.fd, scratch, 1) == 0) close_source(&exec->output);
  else keep_leftover(&exec->output);
}

static void finish(struct exec *exec, int64_t now_us) {
  if (exec->finished) return;
  if (!exec->ended_us) exec->ended_us = now_us;
  take_last_output(exec);
  close_source(&exec->reports);
  close_source(&exec->input);
  free(exec->stdin_bytes);
  exec->stdin_bytes = NULL;
  exec->command = exec->supervisor = 0;
  exec->finished = 1;
  exec->finished_order = ++finished_count;
  trim_results();
}

static void finish_with_status(struct exec *exec, int status, int64_t now_us) {
  exec->status = status;
  exec->status_known = 1;
  finish(exec, now_us);
}

static void finish_with_failure(struct exec *exec, const char *code, const char *text, int64_t now_us) {
  exec->failure = code;
  snprintf(exec->failure_text, sizeof exec->failure_text, "%s", text);
  finish(exec, now_us);
}

struct exec *exec_start(const struct exec_request *request, int64_t now_us) {
  struct exec *exec = NULL;
  for (int i = 0; i < EXECS_MAX && !exec; i++)
    if (!execs[i].used) exec = &execs[i];
  if (!exec || execs_running() >= RUNNING_EXECS_MAX) return NULL;

  memset(exec, 0, sizeof *exec);
  exec->used = 1;
  exec->reports.fd = exec->output.fd = exec->input.fd = -1;
  snprintf(exec->id, sizeof exec->id, "%s", request->id);
  exec->output_max = request->output_max;
  exec->streamed = request->streamed;
  exec->kept = request->kept;
  exec->started_us = now_us;
  exec->is_terminal = request->command.has_terminal;
  exec->deadline_ms = now_us / 1000 + (exec->is_terminal ? TIMEOUT_MS_MAX : request->timeout_ms);

  struct supervised started;
  int error = supervise(&request->command, &started);
  if (error) {
    char text[128];
    snprintf(text, sizeof text, "the command could not be started: %s", strerror(error));
    finish_with_failure(exec, error == EAGAIN ? "process_limit" : "start_failed", text, now_us);
    return exec;
  }
  exec->supervisor = started.supervisor;
  watch_source(&exec->reports, SOURCE_REPORTS, started.reports, EPOLLIN, exec);
  watch_source(&exec->output, SOURCE_OUTPUT, started.output, EPOLLIN, exec);
  if (request->command.has_stdin) {
    exec->stdin_bytes = malloc(request->stdin_size ? request->stdin_size : 1);
    exec->stdin_size = exec->stdin_bytes ? request->stdin_size : 0;
    if (exec->stdin_bytes) memcpy(exec->stdin_bytes, request->stdin_bytes, request->stdin_size);
    watch_source(&exec->input, SOURCE_INPUT, started.input, EPOLLOUT, exec);
    exec_on_input(exec);
  }
  return exec;
}

void exec_on_input(struct exec *exec) {
  while (exec->input.fd >= 0 && exec->stdin_written < exec->stdin_size) {
    ssize_t count = write(exec->input.fd, exec->stdin_bytes + exec->stdin_written, exec->stdin_size - exec->stdin_written);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count < 0) break; // the command closed its stdin
    exec->stdin_written += (size_t)count;
  }
  close_source(&exec->input);
}

void exec_on_output(struct exec *exec, int64_t now_us) {
  for (int i = 0; i < READS_PER_TURN && exec->output.fd >= 0; i++) {
    size_t room = output_room(exec);
    if (room == 0) return pause_reading(exec, PAUSED_UNCONSUMED);
    ssize_t count = read(exec->output.fd, scratch, room < READ_BYTES ? room : READ_BYTES);
    if (count > 0) keep_output(exec, scratch, (size_t)count);
    else if (count == 0) close_source(&exec->output);
    else if (errno == EAGAIN) break;
    else if (errno != EINTR) return;
  }
  pause_flood(exec, now_us);
}

void leftover_on_output(struct source *source, int64_t now_us) {
  struct leftover *leftover = source->owner;
  size_t taken = 0;
  while (taken < LEFTOVER_BYTES_PER_TURN) {
    ssize_t count = read(source->fd, scratch, READ_BYTES);
    if (count == 0) {
      close_source(source);
      return;
    }
    if (count < 0) break;
    taken += (size_t)count;
  }
  // EPOLLONESHOT keeps it quiet until then. All leftovers resume together, so many wake the init as often as one.
  leftover->resume_ms = (now_us / 1000 / LEFTOVER_PAUSE_MS + 1) * LEFTOVER_PAUSE_MS;
}

static void resume_leftover(struct leftover *leftover) {
  leftover->resume_ms = 0;
  struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.ptr = &leftover->source};
  epoll_ctl(epoll_fd, EPOLL_CTL_MOD, leftover->source.fd, &event);
}

static void on_start_failure(struct exec *exec, const struct report *report, int64_t now_us) {
  char text[160];
  if (report->stage == STAGE_CWD) {
    snprintf(text, sizeof text, "the working directory cannot be entered: %s", strerror(report->value));
    finish_with_failure(exec, "bad_cwd", text, now_us);
  } else if (report->stage == STAGE_SHELL && report->value == E2BIG) {
    finish_with_failure(exec, "too_big", "command and environment together are too big", now_us);
  } else if (report->stage == STAGE_SHELL) {
    snprintf(text, sizeof text, "the image has no shell that starts: %s", strerror(report->value));
    finish_with_failure(exec, "no_shell", text, now_us);
  } else {
    snprintf(text, sizeof text, "the command could not be started: %s", strerror(report->value));
    finish_with_failure(exec, report->value == EAGAIN ? "process_limit" : "start_failed", text, now_us);
  }
}

// The supervisor ended without a report: a process inside killed it. Its command, if alive, is now PID 1's child, and
// its true status comes when it is reaped.
static void on_supervisor_lost(struct exec *exec, int64_t now_us) {
  close_source(&exec->reports);
  exec->supervisor = 0;
  if (exec->killing) return; // the tick continues killing and finishes the exec
  if (exec->status_known) finish(exec, now_us);
  else if (!exec->command || kill(exec->command, 0) < 0)
    finish_with_failure(exec, "lost", "the supervisor of the command was killed; the exit code is unknown", now_us);
}

void exec_on_reports(struct exec *exec, int64_t now_us) {
  while (exec->reports.fd >= 0) {
    struct report report;
    ssize_t size = recv(exec->reports.fd, &report, sizeof report, 0);
    if (size < 0) return;
    if (size != sizeof report) return on_supervisor_lost(exec, now_us);
    switch (report.kind) {
      case REPORT_STARTED: exec->command = report.value; break;
      case REPORT_FAILED: return on_start_failure(exec, &report, now_us);
      case REPORT_EXITED:
      case REPORT_KILLED: return finish_with_status(exec, report.value, now_us);
      default: return finish_with_failure(exec, "unkillable", "processes of the command could not be killed", now_us);
    }
  }
}

void execs_learn_commands(int64_t now_us) {
  for (int i = 0; i < EXECS_MAX; i++)
    if (execs[i].used && !execs[i].finished && !execs[i].command) exec_on_reports(&execs[i], now_us);
}

void execs_on_reaped(pid_t pid, int status, int64_t now_us) {
  for (int i = 0; i < EXECS_MAX; i++) {
    struct exec *exec = &execs[i];
    if (!exec->used || exec->finished || exec->command != pid) continue;
    exec->status = status;
    exec->status_known = 1;
    exec->ended_us = now_us;
    // While the reports are open they may still contain a message of the supervisor.
    if (exec->reports.fd < 0 && !exec->killing) finish(exec, now_us);
  }
}

void exec_kill(struct exec *exec, uint32_t why, int64_t now_ms) {
  if (exec->finished || exec->killing) return;
  exec->killing = 1;
  exec->flags |= why;
  exec->kill_give_up_ms = now_ms + KILL_GIVE_UP_MS;
  exec->kill_again_ms = now_ms;
  if (exec->reports.fd >= 0) send(exec->reports.fd, "k", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void continue_kill(struct exec *exec, int64_t now_us) {
  int64_t now_ms = now_us / 1000;
  if (now_ms < exec->kill_again_ms) return;
  exec->kill_again_ms = now_ms + KILL_AGAIN_MS;
  int given_up = now_ms >= exec->kill_give_up_ms;
  if (exec->supervisor && !given_up) {
    kill(exec->supervisor, SIGCONT); // a process inside may have stopped it
    return;
  }
  // The supervisor is gone: kill all visible processes of the tree.
  if (exec->supervisor) kill(exec->supervisor, SIGKILL);
  int met = exec->command ? signal_tree(exec->command, SIGKILL, 1) : 0;
  if (exec->status_known && !met) return finish(exec, now_us);
  if (given_up) finish_with_failure(exec, "unkillable", "processes of the command could not be killed", now_us);
}

static void sooner(int64_t *next_ms, int64_t at_ms) {
  if (*next_ms < 0 || at_ms < *next_ms) *next_ms = at_ms;
}

int execs_tick(int64_t now_us) {
  int64_t now_ms = now_us / 1000, next_ms = -1;
  for (int i = 0; i < EXECS_MAX; i++) {
    struct exec *exec = &execs[i];
    if (!exec->used || exec->finished) continue;
    if (exec->pauses & PAUSED_FLOODING) {
      if (now_ms >= exec->resume_ms) resume_reading(exec, PAUSED_FLOODING);
      else sooner(&next_ms, exec->resume_ms);
    }
    if (!exec->killing && now_ms >= exec->deadline_ms) exec_kill(exec, FLAG_TIMED_OUT, now_ms);
    if (exec->killing) continue_kill(exec, now_us);
    if (!exec->finished) sooner(&next_ms, exec->killing ? exec->kill_again_ms : exec->deadline_ms);
  }
  for (int i = 0; i < LEFTOVERS_MAX; i++) {
    struct leftover *leftover = &leftovers[i];
    if (leftover->source.fd < 0 || !leftover->resume_ms) continue;
    if (now_ms >= leftover->resume_ms) resume_leftover(leftover);
    else sooner(&next_ms, leftover->resume_ms);
  }
  if (next_ms < 0) return -1;
  return next_ms <= now_ms ? 0 : (int)(next_ms - now_ms);
}
