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
#include <unistd.h>

// Above any pids limit of a computer; processes beyond are met in the next round.
#define PROCESSES_MAX 8192
// While the tree may still fork, stop it before killing it: a fork bomb outruns plain killing.
#define STOP_ROUNDS 20
#define KILL_ROUNDS_MAX 4000
#define ROUND_PAUSE_US 500

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

int signal_tree(pid_t root, int signal, int with_root) {
  static struct process all[PROCESSES_MAX];
  int count = read_processes(all, PROCESSES_MAX), met = 0;
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
    if (all[i].hit) kill(all[i].pid, signal), met++;
  return met;
}

int kill_all_descendants(pid_t watched, int *status) {
  pid_t self = getpid();
  for (int round = 0; round < KILL_ROUNDS_MAX; round++) {
    if (round < STOP_ROUNDS) signal_tree(self, SIGSTOP, 0);
    int met = signal_tree(self, SIGKILL, 0);
    int child_status;
    pid_t reaped;
    while ((reaped = waitpid(-1, &child_status, WNOHANG)) > 0)
      if (reaped == watched) *status = child_status;
    if (reaped < 0 && errno == ECHILD && !met) return 1;
    usleep(ROUND_PAUSE_US);
  }
  return 0;
}
