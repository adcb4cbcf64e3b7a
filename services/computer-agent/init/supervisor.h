// One command and the process that watches over it.
//
// PID 1 forks a supervisor, which forks the command. The supervisor is a child subreaper: while it lives, every
// descendant of the command stays below it, however it detaches itself, so the whole process tree can be found. When
// the command exits, its supervisor exits too, and PID 1 inherits its background processes.
#pragma once
#include <stdint.h>
#include <sys/types.h>

enum report_kind {
  REPORT_STARTED,  // value: pid of the command
  REPORT_FAILED,   // value: errno; stage: where
  REPORT_EXITED,   // value: wait status
  REPORT_KILLED,   // value: wait status; the whole tree is gone
  REPORT_UNKILLED, // the tree resisted
};

enum start_stage { STAGE_FORK, STAGE_CWD, STAGE_SHELL };

// Message of the supervisor to PID 1, or of the command before it becomes the shell. One datagram each.
struct report {
  int32_t kind, value, stage;
};

struct command {
  const char *text, *cwd;
  char *const *env; // env_count entries NAME=value, added to our own
  uint32_t env_count;
  int has_stdin;
  // A login shell has the far side of its terminal instead of pipes. Every process that it started ends with it.
  int has_terminal, terminal;
};

struct supervised {
  pid_t supervisor;
  int reports;   // a socket: read struct report from it; any byte written to it means: kill the tree
  int output;    // read end of the command's stdout and stderr, not blocking; -1 with a terminal
  int input;     // write end of its stdin, not blocking, or -1
};

// Returns 0, or the errno of what failed. Every descriptor is close-on-exec.
int supervise(const struct command *command, struct supervised *started);
