#include "bytes.h"

#include <stdlib.h>
#include <string.h>

int append(struct bytes *to, const void *data, size_t size) {
  if (to->size + size > to->capacity) {
    size_t capacity = to->capacity ? to->capacity : 4096;
    while (capacity < to->size + size) capacity *= 2;
    char *grown = realloc(to->data, capacity);
    if (!grown) return 0;
    to->data = grown, to->capacity = capacity;
  }
  if (size) memcpy(to->data + to->size, data, size);
  to->size += size;
  return 1;
}

void empty(struct bytes *bytes) {
  free(bytes->data);
  *bytes = (struct bytes){0};
}
