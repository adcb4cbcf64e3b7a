// Starts programs of this host for its agent, for as long as that lives. An agent that forks itself stands still meanwhile:
// 10 to 30 ms with its memory, and whoever has a command under way waits with it. This process is small.
//
//   stdin:  requests, in fields that each end in a zero byte: a number that names it, the milliseconds that it may take, how
//           many arguments follow, and those, the program first
//   stdout: for each, when it is over: "<number> <exit code> <length>\n" and so many bytes of what it wrote, stdout and
//           stderr together. The code is 128 and the signal's number for one that a signal ended.
//
// Each request has a process that waits for its program, and answers in one write, which others do not divide. What runs when
// stdin ends is waited for by its own process still.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARGUMENTS_MAX 32
#define HEAD_MAX 64
#define CANNOT_RUN 127

static volatile pid_t program;

// What it has started goes with it.
static void too_late(int signal_number) {
  (void)signal_number;
  if (program <= 0) return;
  kill(-program, SIGKILL);
  kill(program, SIGKILL);
}

static void become(char **arguments, int output) {
  // A session of its own, and the weight of any process: the agent goes before others, what it has others do does not.
  setsid();
  setpriority(PRIO_PROCESS, 0, 0);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  if (output > STDERR_FILENO) close(output);
  signal(SIGCHLD, SIG_DFL);
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
  signal(SIGHUP, SIG_DFL);
  execvp(arguments[0], arguments);
  dprintf(STDERR_FILENO, "%s: %s", arguments[0], strerror(errno));
  _exit(CANNOT_RUN);
}

static void answer(const char *number, int code, const char *said, size_t length) {
  char record[PIPE_BUF];
  int head = snprintf(record, HEAD_MAX, "%s %d %zu\n", number, code, length);
  memcpy(record + head, said, length);
  size_t size = (size_t)head + length;
  _exit(write(STDOUT_FILENO, record, size) == (ssize_t)size ? 0 : 1);
}

static void attend(const char *number, long milliseconds, char **arguments) {
  char said[PIPE_BUF - HEAD_MAX];
  int ends[2];
  signal(SIGCHLD, SIG_DFL);
  if (pipe(ends) || (program = fork()) < 0) {
    const char *reason = strerror(errno);
    answer(number, CANNOT_RUN, reason, strlen(reason));
  }
  if (program == 0) {
    close(ends[0]);
    become(arguments, ends[1]);
  }
  close(ends[1]);

  struct sigaction act = {.sa_handler = too_late, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &act, NULL);
  struct itimerval timer = {.it_value = {.tv_sec = milliseconds / 1000, .tv_usec = milliseconds % 1000 * 1000}};
  setitimer(ITIMER_REAL, &timer, NULL);

  size_t length = 0;
  ssize_t count;
  char rest[PIPE_BUF];
  do {
    int full = length == sizeof said;
    count = read(ends[0], full ? rest : said + length, full ? sizeof rest : sizeof said - length);
    if (count > 0 && !full) length += (size_t)count;
  } while (count > 0);
  int status;
  waitpid(program, &status, 0);
  answer(number, WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status), said, length);
}

// One that was cut short is none.
static char *read_field(void) {
  char *text = NULL;
  size_t size = 0;
  ssize_t length = getdelim(&text, &size, 0, stdin);
  if (length > 0 && text[length - 1] == 0) return text;
  free(text);
  return NULL;
}

int main(void) {
  // They reach the agent too, which may still have computers to look after.
  signal(SIGINT, SIG_IGN);
  signal(SIGTERM, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
  signal(SIGCHLD, SIG_IGN); // nobody waits for those that attend

  for (;;) {
    char *number = read_field(), *milliseconds = read_field(), *count = read_field();
    if (!number || !milliseconds || !count) return 0;
    int arguments_count = atoi(count);
    if (arguments_count < 1 || arguments_count > ARGUMENTS_MAX) return 1;
    char *arguments[ARGUMENTS_MAX + 1] = {0};
    for (int i = 0; i < arguments_count; i++)
      if (!(arguments[i] = read_field())) return 0;
    pid_t attending = fork();
    if (attending == 0) {
      fclose(stdin);
      if (open("/dev/null", O_RDONLY) != STDIN_FILENO) return 1; // the number that is free
      attend(number, atol(milliseconds), arguments);
    }
    if (attending < 0) {
      const char *reason = strerror(errno);
      if (printf("%s %d %zu\n%s", number, CANNOT_RUN, strlen(reason), reason) < 0 || fflush(stdout)) return 1;
    }
    for (int i = 0; i < arguments_count; i++) free(arguments[i]);
    free(number);
    free(milliseconds);
    free(count);
  }
}
