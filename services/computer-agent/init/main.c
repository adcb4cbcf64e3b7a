// The init of a computer: PID 1 of its container, mounted read-only into any image.
//
// It runs commands that the agent requests over a unix socket (protocol.h), keeps output and results until an agent has
// received them, opens connections to ports and terminals (streams.h), kills whole process trees, and reaps zombies. One
// thread, one epoll loop. Each command has its own supervisor process (supervisor.h).
//
//   usage: init <path of the socket to listen on>
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "connections.h"
#include "execs.h"
#include "streams.h"

#define EVENTS_PER_TURN 64
#define BACKLOG 8
// How long processes may take to end on SIGTERM when the computer is stopped.
#define STOP_GRACE_MS 2000

static int64_t now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000LL + now.tv_nsec / 1000;
}

static _Noreturn void die(const char *what) {
  perror(what);
  exit(1);
}

// The agent takes the socket as soon as it appears, so it appears only once it listens.
static int listen_on(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  int length = snprintf(address.sun_path, sizeof address.sun_path, "%s.new", path);
  if (length >= (int)sizeof address.sun_path) errno = ENAMETOOLONG, die(path);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  unlink(address.sun_path);
  if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address)) die(path);
  if (chmod(address.sun_path, 0600) || listen(fd, BACKLOG) || rename(address.sun_path, path)) die(path);
  return fd;
}

static int signals_of_pid_1(void) {
  // Blocked signals reach PID 1 through the signalfd only. The kernel ignores all others for PID 1.
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  sigaddset(&set, SIGTERM);
  sigprocmask(SIG_BLOCK, &set, NULL);
  signal(SIGPIPE, SIG_IGN);
  return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

// Returns 1 if Docker asks to stop. A SIGTERM of a process inside, whose pid is not 0, is ignored.
static int read_signals(int fd) {
  struct signalfd_siginfo signal;
  int stop = 0;
  while (read(fd, &signal, sizeof signal) == sizeof signal)
    if (signal.ssi_signo == SIGTERM && signal.ssi_pid == 0) stop = 1;
  return stop;
}

// Returns 0 when no process is left.
static int reap(int64_t now) {
  for (;;) {
    // Do not reap yet: the report that names the command of this process may still have to be read.
    siginfo_t ended = {0};
    if (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) < 0) return errno != ECHILD;
    if (ended.si_pid == 0) return 1;
    execs_learn_commands(now);
    int status;
    if (waitpid(ended.si_pid, &status, WNOHANG) == ended.si_pid) execs_on_reaped(ended.si_pid, status, now);
  }
}

static void watch_fd(int epoll, struct source *source) {
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = source};
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, source->fd, &event)) die("epoll");
}

int main(int count, char **arguments) {
  if (count != 2) {
    fprintf(stderr, "usage: %s <socket>\n", arguments[0]);
    return 2;
  }
  // Descriptors 0 to 2 belong to Docker; nothing of ours may land there.
  int null = open("/dev/null", O_RDWR);
  for (int fd = 0; fd <= 2; fd++) dup2(null, fd);
  if (null > 2) close(null);
  prctl(PR_SET_DUMPABLE, 0); // processes inside must not read our memory

  int epoll = epoll_create1(EPOLL_CLOEXEC);
  struct source signals = {SOURCE_SIGNALS, signals_of_pid_1(), NULL};
  struct source listener = {SOURCE_LISTENER, listen_on(arguments[1]), NULL};
  watch_fd(epoll, &signals);
  watch_fd(epoll, &listener);
  execs_open(epoll);
  streams_open(epoll);
  connections_open(epoll, listener.fd);

  int64_t stop_at_us = 0; // 0: not stopping
  for (;;) {
    execs_tick(now_us());
    connections_pump(now_us());
    int wait_ms = execs_tick(now_us()); // a stream that has just ended may have begun to kill
    if (stop_at_us && (wait_ms < 0 || wait_ms > 100)) wait_ms = 100;

    struct epoll_event events[EVENTS_PER_TURN];
    int ready = epoll_wait(epoll, events, EVENTS_PER_TURN, wait_ms);
    int64_t now = now_us();
    int stop_asked = 0;
    for (int i = 0; i < ready; i++) {
      struct source *source = events[i].data.ptr;
      if (source->fd < 0) continue; // closed earlier in this turn
      switch (source->kind) {
        case SOURCE_LISTENER: connection_accept(); break;
        case SOURCE_SIGNALS: stop_asked = read_signals(source->fd); break;
        case SOURCE_CONNECTION: connection_on_event(source->owner, events[i].events, now); break;
        case SOURCE_REPORTS: exec_on_reports(source->owner, now); break;
        case SOURCE_OUTPUT: exec_on_output(source->owner, now); break;
        case SOURCE_INPUT: exec_on_input(source->owner); break;
        case SOURCE_LEFTOVER: leftover_on_output(source, now); break;
        case SOURCE_STREAM: stream_on_event(source->owner, events[i].events); break;
      }
    }
    // After the reports, because the last report of a supervisor takes precedence.
    int processes_left = reap(now);

    if ((stop_asked || connections_stop_asked()) && !stop_at_us) {
      stop_at_us = now + STOP_GRACE_MS * 1000;
      connections_refuse_execs();
      kill(-1, SIGTERM);
      kill(-1, SIGCONT);
      processes_left = reap(now);
    }
    int all_reported = !processes_left && execs_running() == 0;
    if (stop_at_us && (all_reported || now >= stop_at_us)) {
      connections_pump(now);
      return 0; // the kernel kills what is left
    }
  }
}
