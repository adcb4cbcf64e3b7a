#define _GNU_SOURCE
#include "turns.h"

#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

// The kernel takes no less.
#define SLICE_NS 100000

// struct sched_attr of sched_setattr(2), which the C library may not have.
struct attributes {
  uint32_t size, policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime_ns, deadline_ns, period_ns;
};
#define POLICY_NORMAL 0
#define FLAG_RESET_ON_FORK 1

void take_short_turns(int also_forks) {
#ifdef SYS_sched_setattr
  struct attributes wanted = {
      .size = sizeof wanted,
      .policy = POLICY_NORMAL,
      .flags = also_forks ? 0 : FLAG_RESET_ON_FORK,
      .nice = getpriority(PRIO_PROCESS, 0),
      .runtime_ns = SLICE_NS,
  };
  if (syscall(SYS_sched_setattr, 0, &wanted, 0)) { /* a preference, not a need */ }
#endif
}
