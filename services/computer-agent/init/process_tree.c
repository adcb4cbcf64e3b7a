#define _GNU_SOURCE
#include "process_tree.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// Above any pids limit of a computer; further processes are found in the next round.
#define PROCESSES_MAX 8192
#define STOP_ROUNDS_MAX 20
// Time between two checks for remaining processes.
#define LOOK_MS_MIN 1
#define LOOK_MS_MAX 50
// PID 1 waits a little longer.
#define KILL_MS_MAX 9000

struct process {
  pid_t pid, parent, session;
  char hit;
};

// /proc/<pid>/stat: pid (name) state ppid pgrp session ...; the name may hold spaces and brackets.
static int read_process(const char *pid_text, struct process *into) {
  char path[64], text[512];
  snprintf(path, sizeof path, "/proc/%s/stat", pid_text);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  ssize_t length = read(fd, text, sizeof text - 1);
  close(fd);
  if (length <= 0) return 0;
  text[length] = 0;
  const char *after_name = strrchr(text, ')');
  int parent, group, session;
  char state;
  if (!after_name || sscanf(after_name + 1, " %c %d %d %d", &state, &parent, &group, &session) != 4) return 0;
  *into = (struct process){.pid = atoi(pid_text), .parent = parent, .session = session};
  return 1;
}

static int read_processes(struct process *into, int max) {
  DIR *directory = opendir("/proc");
  if (!directory) return 0;
  int count = 0;
  struct dirent *entry;
  while (count < max && (entry = readdir(directory)))
    if (isdigit((unsigned char)entry->d_name[0]) && read_process(entry->d_name, &into[count])) count++;
  closedir(directory);
  return count;
}

// Puts the pids of the tree into `found`, ascending; returns how many.
static int find_tree(pid_t root, int with_root, pid_t found[PROCESSES_MAX]) {
  static struct process all[PROCESSES_MAX];
  int count = read_processes(all, PROCESSES_MAX), size = 0;
  pid_t self = getpid();
  for (int grown = 1; grown;) {
    grown = 0;
    for (int i = 0; i < count; i++) {
      if (all[i].hit || all[i].pid == self || all[i].pid == 1) continue;
      if (all[i].pid == root && !with_root) continue;
      int ours = all[i].pid == root || all[i].parent == root || all[i].session == root;
      for (int j = 0; !ours && j < count; j++) ours = all[j].hit && all[j].pid == all[i].parent;
      if (ours) all[i].hit = 1, grown = 1;
    }
  }
  for (int i = 0; i < count; i++)
    if (all[i].hit) found[size++] = all[i].pid;
  return size;
}

int signal_tree(pid_t root, int signal, int with_root) {
  static pid_t found[PROCESSES_MAX];
  int count = find_tree(root, with_root, found);
  for (int i = 0; i < count; i++) kill(found[i], signal);
  return count;
}

// A fork bomb outruns plain killing by refilling each free slot. Stopped processes cannot fork, so when two scans
// find the same processes, the tree has stopped growing, except for a fork in progress.
static void stop_descendants(pid_t self) {
  static pid_t found[PROCESSES_MAX], before[PROCESSES_MAX];
  int count_before = -1;
  for (int round = 0; round < STOP_ROUNDS_MAX; round++) {
    int count = find_tree(self, 0, found);
    if (count == count_before && !memcmp(found, before, (size_t)count * sizeof *found)) return;
    for (int i = 0; i < count; i++) kill(found[i], SIGSTOP);
    memcpy(before, found, (size_t)count * sizeof *found);
    count_before = count;
  }
}

static int64_t now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

// Reaps children for `ms` milliseconds. Returns 1 as soon as none is left, otherwise 0.
static int reap_for(int64_t ms, pid_t watched, int *status) {
  sigset_t child_ended;
  sigemptyset(&child_ended);
  sigaddset(&child_ended, SIGCHLD);
  for (int64_t until_ms = now_ms() + ms;;) {
    int child_status;
    pid_t reaped;
    while ((reaped = waitpid(-1, &child_status, WNOHANG)) > 0)
      if (reaped == watched) *status = child_status;
    if (reaped < 0 && errno == ECHILD) return 1;
    int64_t left_ms = until_ms - now_ms();
    if (left_ms <= 0) return 0;
    struct timespec left = {.tv_nsec = left_ms * 1000000}; // under a second
    sigtimedwait(&child_ended, NULL, &left);
  }
}

int kill_all_descendants(pid_t watched, int *status) {
  pid_t self = getpid();
  stop_descendants(self);
  int64_t give_up_ms = now_ms() + KILL_MS_MAX;
  for (int64_t pause_ms = LOOK_MS_MIN; now_ms() < give_up_ms; pause_ms *= 2) {
    if (pause_ms > LOOK_MS_MAX) pause_ms = LOOK_MS_MAX;
    signal_tree(self, SIGKILL, 0);
    // Orphans become our children: when there are no children, the tree is gone.
    if (reap_for(pause_ms, watched, status)) return 1;
  }
  return 0;
}
