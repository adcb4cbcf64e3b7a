#define _GNU_SOURCE
#include "supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process_tree.h"

#define WORKSPACE "/workspace"
// Under memory pressure the kernel kills a command before the init. Just above the init's 0: a command that lowers
// its own score must not outlive those of others.
#define COMMAND_OOM_SCORE "10"

// A statically linked shell of the standard image, which starts in two thirds of the time.
#define STATIC_SHELL "/bin/bash-static"
// Shells of an image, in order of preference.
static const char *const SHELLS[] = {"/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/bin/sh", "/usr/bin/sh", NULL};

static void report(int fd, int kind, int value, int stage) {
  struct report message = {kind, value, stage};
  while (send(fd, &message, sizeof message, MSG_NOSIGNAL) < 0 && errno == EINTR) continue;
}

static void close_from(int first) {
#ifdef SYS_close_range
  if (syscall(SYS_close_range, first, ~0u, 0) == 0) return;
#endif
  for (int fd = first; fd < 4096; fd++) close(fd);
}

static _Noreturn void become_command(const struct command *command, int reports, int output, int input) {
  setsid();
  // Reported by the command's own process, because it might kill the supervisor before that could report.
  report(reports, REPORT_STARTED, getpid(), 0);
  int oom = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (oom >= 0) {
    if (write(oom, COMMAND_OOM_SCORE, strlen(COMMAND_OOM_SCORE)) < 0) { /* a preference, not a need */ }
    close(oom);
  }
  setpriority(PRIO_PROCESS, 0, 0); // the init's priority is raised by the agent (host-side-limits.ts)
  if (command->has_terminal) ioctl(command->terminal, TIOCSCTTY, 0);
  if (input < 0) input = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(input, 0);
  dup2(output, 1);
  dup2(output, 2);

  // Reset signals to their defaults: PID 1 ignores SIGPIPE and blocks most others.
  for (int number = 1; number < NSIG; number++) signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);

  for (uint32_t i = 0; i < command->env_count; i++) putenv(command->env[i]);
  if (chdir(WORKSPACE) && chdir("/")) { /* no directory at all: the next call will say so */ }
  if (command->cwd[0] && chdir(command->cwd)) {
    report(reports, REPORT_FAILED, errno, STAGE_CWD);
    _exit(127);
  }
  unsetenv("PWD"); // the shell finds out by itself

  int failure = ENOENT;
  if (!command->has_terminal) execl(STATIC_SHELL, "bash", "-c", command->text, (char *)NULL);
  for (int i = 0; SHELLS[i]; i++) {
    const char *name = strrchr(SHELLS[i], '/') + 1;
    if (command->has_terminal) {
      char login_name[32];
      snprintf(login_name, sizeof login_name, "-%s", name); // a leading dash makes it a login shell
      execl(SHELLS[i], login_name, (char *)NULL);
    } else {
      execl(SHELLS[i], name, "-c", command->text, (char *)NULL);
    }
    if (errno != ENOENT && errno != ENOTDIR) {
      failure = errno;
      break;
    }
  }
  report(reports, REPORT_FAILED, failure, STAGE_SHELL);
  _exit(127);
}

// Kills what is left of the tree and reports the outcome.
static _Noreturn void end_tree(pid_t command, int reports) {
  int status = SIGKILL;
  int gone = kill_all_descendants(command, &status);
  report(reports, gone ? REPORT_KILLED : REPORT_UNKILLED, status, 0);
  _exit(0);
}

static _Noreturn void watch(pid_t command, int reports, int children, int ends_tree) {
  for (;;) {
    struct pollfd events[2] = {{.fd = reports, .events = POLLIN}, {.fd = children, .events = POLLIN}};
    if (poll(events, 2, -1) < 0 && errno != EINTR) _exit(1);

    if (events[0].revents) end_tree(command, reports);

    struct signalfd_siginfo ignored;
    while (read(children, &ignored, sizeof ignored) > 0) continue;
    for (;;) {
      // Look at the command without reaping it: if the supervisor is killed before its report is sent, PID 1 inherits
      // the zombie and with it the true status.
      siginfo_t ended = {0};
      if (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) < 0 || ended.si_pid == 0) break;
      if (ended.si_pid == command) {
        if (ends_tree) end_tree(command, reports);
        int status = ended.si_code == CLD_EXITED ? ended.si_status << 8 : ended.si_status;
        report(reports, REPORT_EXITED, status, 0);
        _exit(0);
      }
      waitpid(ended.si_pid, NULL, 0);
    }
  }
}

static _Noreturn void become_supervisor(const struct command *command, int reports, int output, int input) {
  // Ignore signals such as `kill -TERM -1` from inside; PID 1 handles SIGKILL.
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, NULL);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  prctl(PR_SET_NAME, "exec-supervisor");

  sigset_t child_ended;
  sigemptyset(&child_ended);
  sigaddset(&child_ended, SIGCHLD);
  int children = signalfd(-1, &child_ended, SFD_CLOEXEC | SFD_NONBLOCK);

  pid_t child = children < 0 ? -1 : fork();
  if (child < 0) {
    report(reports, REPORT_FAILED, errno, STAGE_FORK);
    _exit(1);
  }
  if (child == 0) become_command(command, reports, output, input);

  // Close other execs' pipes: an inherited copy would keep them from reaching their end.
  dup2(reports, 0);
  dup2(children, 1);
  close_from(2);
  watch(child, 0, 1, command->has_terminal);
}

static void close_both(int pair[2]) {
  if (pair[0] >= 0) close(pair[0]);
  if (pair[1] >= 0) close(pair[1]);
}

int supervise(const struct command *command, struct supervised *started) {
  int output[2] = {-1, -1}, input[2] = {-1, -1}, reports[2] = {-1, -1};
  int failed = (!command->has_terminal && pipe2(output, O_CLOEXEC)) || (command->has_stdin && pipe2(input, O_CLOEXEC)) ||
               socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, reports);
  pid_t supervisor = failed ? -1 : fork();
  if (supervisor == 0) {
    if (command->has_terminal) become_supervisor(command, reports[1], command->terminal, command->terminal);
    become_supervisor(command, reports[1], output[1], input[0]);
  }
  if (supervisor < 0) {
    int error = errno;
    close_both(output), close_both(input), close_both(reports);
    return error;
  }
  close(reports[1]);
  if (!command->has_terminal) close(output[1]);
  if (command->has_stdin) close(input[0]);
  if (!command->has_terminal) fcntl(output[0], F_SETFL, O_NONBLOCK);
  fcntl(reports[0], F_SETFL, O_NONBLOCK);
  if (command->has_stdin) fcntl(input[1], F_SETFL, O_NONBLOCK);
  *started = (struct supervised){supervisor, reports[0], output[0], input[1]};
  return 0;
}
