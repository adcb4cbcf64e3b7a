// Taking and returning partitions: many processes decide by themselves, on views that lag by one check.
import { expect, test } from 'vitest';
import { FREE_MS_MAX, toGiveBack, toTake, UNCHANGED_MS } from './shares.ts';

const LOOK_MS = 500;
/** Longer than the hand-overs of any of these cases. */
const LOOKS_MAX = 500;

/** Processes that check in turns, like the loop of owners.ts. */
class World {
  owners: (string | null)[];
  members: string[] = [];
  handOvers = 0;
  #now = 0;
  #seen = '';
  #seenAt = 0;
  #freeAt: number | null = null;

  constructor(partitions: number) {
    this.owners = Array.from({ length: partitions }, () => null);
  }

  /** One check by every process. @returns whether anything changed */
  look(): boolean {
    let changed = false;
    this.#now += LOOK_MS;
    for (const me of this.members) changed = this.#lookOf(me) || changed;
    return changed;
  }

  #lookOf(me: string): boolean {
    let changed = false;
    for (;;) {
      const seen = JSON.stringify([this.members, this.owners]);
      if (seen !== this.#seen) [this.#seen, this.#seenAt] = [seen, this.#now];
      this.#freeAt = this.owners.includes(null) ? (this.#freeAt ?? this.#now) : null;
      const view = {
        ...{ me, members: this.members, owners: this.owners, unchangedForMs: this.#now - this.#seenAt },
        freeForMs: this.#freeAt === null ? 0 : this.#now - this.#freeAt,
      };
      const back = toGiveBack(view);
      if (back !== null) {
        this.owners[back] = null;
        this.handOvers += 1;
        return true;
      }
      const taken = toTake(view);
      if (taken === null) return changed;
      expect(this.owners[taken]).toBeNull();
      this.owners[taken] = me;
      changed = true;
    }
  }

  /** @returns the number of checks until nothing has changed for longer than any delay */
  settle(): number {
    let last = 0;
    for (let looks = 1; looks <= LOOKS_MAX; looks += 1) {
      if (this.look()) last = looks;
      if ((looks - last) * LOOK_MS > UNCHANGED_MS + FREE_MS_MAX + LOOK_MS) return last;
    }
    throw new Error('they never come to rest');
  }

  kill(member: string): void {
    this.members = this.members.filter((one) => one !== member);
    this.owners = this.owners.map((owner) => (owner === member ? null : owner));
  }

  get counts(): number[] {
    return this.members.map((member) => this.owners.filter((owner) => owner === member).length);
  }
}

test.each([1, 2, 4, 8, 16])('all of %i partitions are owned, in shares that differ by at most one', (n) => {
  for (const processes of [1, 2, 3, 5, 20]) {
    const world = new World(n);
    world.members = Array.from({ length: processes }, (_, i) => `billing-${String.fromCharCode(97 + i)}`);
    world.settle();
    expect(world.owners).not.toContain(null);
    expect(Math.max(...world.counts) - Math.min(...world.counts)).toBeLessThanOrEqual(1);
  }
});

test('a process that joins later gets its share, one partition per rest, and then nothing moves', () => {
  const world = new World(8);
  world.members = ['billing-b', 'billing-c'];
  world.settle();
  expect(world.handOvers).toBe(0);
  world.members = ['billing-a', ...world.members];
  world.settle();
  expect(world.counts.sort()).toEqual([2, 3, 3]);
  expect(world.handOvers).toBe(2);
  world.settle();
  expect(world.handOvers).toBe(2);
});

test('partitions of a dead process are taken at the next check, by those with the fewest first', () => {
  const world = new World(4);
  world.members = ['billing-a', 'billing-b', 'billing-c'];
  world.settle();
  world.kill('billing-b');
  expect(world.look()).toBe(true);
  const looks = world.settle();
  expect((looks + 1) * LOOK_MS).toBeLessThanOrEqual(FREE_MS_MAX + 2 * LOOK_MS);
  expect(world.owners).not.toContain(null);
  expect(world.counts).toEqual([2, 2]);
});

test('a live member that takes nothing does not block other members', () => {
  const owners = [null, 'billing-a'];
  const view = { me: 'billing-a', members: ['billing-a', 'billing-stuck'], owners, unchangedForMs: 0 };
  expect(toTake({ ...view, freeForMs: FREE_MS_MAX - 1 })).toBeNull();
  expect(toTake({ ...view, freeForMs: FREE_MS_MAX })).toBe(0);
});

test('a process that dies repeatedly gets nothing: others return partitions only after a rest', () => {
  const view = { me: 'billing-a', members: ['billing-a', 'billing-z'], owners: ['billing-a', 'billing-a'] };
  expect(toGiveBack({ ...view, freeForMs: 0, unchangedForMs: UNCHANGED_MS - 1 })).toBeNull();
  expect(toGiveBack({ ...view, freeForMs: 0, unchangedForMs: UNCHANGED_MS })).toBe(1);
});
