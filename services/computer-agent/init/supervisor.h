// One command and the process that watches over it.
//
// PID 1 forks a supervisor, which forks the command. The supervisor is a child subreaper: every descendant of the
// command, however it detaches itself, stays below the supervisor while it lives, so that "the whole process tree"
// has a meaning. When the command ends by itself the supervisor goes, and what it left running passes to PID 1.
#pragma once
#include <stdint.h>
#include <sys/types.h>

// Where a shell may be in an image, the preferred first; NULL at the end.
extern const char *const SHELLS[];
// For commands, where an image has it, as the standard one has: without libraries to look for and to map it starts in two
// thirds of the time.
#define STATIC_SHELL "/bin/bash-static"

enum report_kind {
  REPORT_STARTED,  // value: pid of the command
  REPORT_FAILED,   // value: errno; stage: where
  REPORT_EXITED,   // value: wait status
  REPORT_KILLED,   // value: wait status; the whole tree is gone
  REPORT_UNKILLED, // the tree resisted
};

enum start_stage { STAGE_FORK, STAGE_CWD, STAGE_SHELL };

// What the supervisor (or the command, before it becomes the shell) tells PID 1, one datagram each.
struct report {
  int32_t kind, value, stage;
};

struct command {
  const char *text, *cwd;
  char *const *env; // env_count entries NAME=value, added to our own
  uint32_t env_count;
  int has_stdin;
  // Of a login shell: the far side of its terminal, in place of pipes. Whatever it started ends with it.
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
