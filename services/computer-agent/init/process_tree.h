// Kills a command with all processes that it started.
#pragma once
#include <sys/types.h>

// Sends `signal` to every process that descends from `root` or is in the session `root` leads; `root` itself only if
// `with_root`. Returns their number.
int signal_tree(pid_t root, int signal, int with_root);

// For a child subreaper that blocks SIGCHLD: kills all descendants of the calling process and reaps them until none is
// left. Hiding (setsid, double fork, trapped signals) does not help: orphans become our children.
// The wait status of `watched` goes to *status when it is reaped here. Returns 0 if something could not be ended in time.
int kill_all_descendants(pid_t watched, int *status);
