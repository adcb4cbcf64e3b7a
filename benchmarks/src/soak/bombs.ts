// What a bad or unlucky tenant does to a machine. Each must end within its timeout and leave its computer usable.

export interface Bomb {
  readonly name: string;
  readonly command: string;
  /** Seconds. */
  readonly timeout: number;
}

/** Over the disk and the inodes of a computer of 1 GB; where a host has no quota, so much is written by each. */
const DISK_MB = 1_536;
const FILES = 80_000;
const FLOOD_BYTES = 1_000_000_000;

export const BOMBS: readonly Bomb[] = [
  // The last command keeps the tree together, so that the timeout finds it.
  { name: 'fork', command: 'bomb() { bomb | bomb & }; bomb; sleep 60', timeout: 5 },
  {
    name: 'memory',
    command: `python3 -c 'held = []\nwhile True: held.append(b"x" * (16 << 20))'`,
    timeout: 20,
  },
  { name: 'disk', command: `dd if=/dev/zero of=bomb bs=1M count=${DISK_MB}; rm -f bomb`, timeout: 30 },
  {
    name: 'descriptors',
    command: `python3 -c 'import os, time\ntry:\n while True: os.dup(0)\nexcept OSError: time.sleep(3)'`,
    timeout: 10,
  },
  {
    name: 'inodes',
    command: `mkdir -p many && python3 -c 'for n in range(${FILES}): open(f"many/{n}", "w")'; rm -rf many`,
    timeout: 30,
  },
  { name: 'output that ends', command: `head -c ${FLOOD_BYTES} /dev/zero`, timeout: 20 },
  { name: 'output without end', command: 'yes', timeout: 5 },
  { name: 'cpu', command: 'for i in 1 2 3 4 5 6 7 8; do while :; do :; done & done; sleep 60', timeout: 8 },
];

/**
 * What a bomb that was cut short may have left. One whose call was lost with its agent runs on until its timeout, and may
 * be writing still.
 */
export const CLEAN_UP = 'until rm -rf bomb many 2>/dev/null; do sleep 0.1; done';
