#define _GNU_SOURCE
#include "own_files.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervisor.h"

// Says that it has loaded everything, and waits.
#define SCRIPT "echo; read answer"
#define SHELL_STARTS_MS_MAX 2000
#define FILES_MAX 32
// Of foreign images too: what is larger than any shell or C library is not worth the time and the room.
#define FILE_BYTES_MAX (16 << 20)

static void become_shell(int end) {
  dup2(end, 0);
  dup2(end, 1);
  dup2(end, 2);
  unsetenv("BASH_ENV"), unsetenv("ENV"); // scripts that an image has its shells run first
  for (int i = 0; SHELLS[i]; i++) execl(SHELLS[i], SHELLS[i], "-c", SCRIPT, (char *)NULL);
  _exit(127);
}

// Paths of the files that a process maps, each once; how many there are.
static int mapped_files(pid_t pid, char paths[FILES_MAX][256]) {
  char line[512];
  snprintf(line, sizeof line, "/proc/%d/maps", pid);
  FILE *maps = fopen(line, "re");
  if (!maps) return 0;
  int count = 0;
  while (count < FILES_MAX && fgets(line, sizeof line, maps)) {
    char *path = strchr(line, '/');
    size_t size = path ? strcspn(path, "\n") : 0;
    if (size == 0 || size >= sizeof paths[0]) continue;
    path[size] = 0;
    if (count > 0 && !strcmp(path, paths[count - 1])) continue; // a file's parts follow each other
    memcpy(paths[count++], path, size + 1);
  }
  fclose(maps);
  return count;
}

static void copy_up(const char *path) {
  struct stat file;
  if (lstat(path, &file) || !S_ISREG(file.st_mode) || file.st_size > FILE_BYTES_MAX) return;
  if (chmod(path, file.st_mode & 07777)) { /* it stays shared */ }
}

void take_own_files(void) {
  copy_up(STATIC_SHELL);
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) return;
  pid_t shell = fork();
  if (shell == 0) become_shell(ends[1]);
  close(ends[1]);
  if (shell > 0) {
    struct pollfd said = {.fd = ends[0], .events = POLLIN};
    char newline, paths[FILES_MAX][256];
    int count = 0;
    if (poll(&said, 1, SHELL_STARTS_MS_MAX) == 1 && read(ends[0], &newline, 1) == 1) count = mapped_files(shell, paths);
    kill(shell, SIGKILL);
    waitpid(shell, NULL, 0);
    for (int i = 0; i < count; i++) copy_up(paths[i]);
  }
  close(ends[0]);
}
