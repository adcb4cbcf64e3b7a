// Bytes in memory that grow as more are appended.
#pragma once
#include <stddef.h>

struct bytes {
  char *data;
  size_t size, capacity;
};

// Returns 0 and appends nothing when out of memory.
int append(struct bytes *to, const void *data, size_t size);
void empty(struct bytes *bytes);
