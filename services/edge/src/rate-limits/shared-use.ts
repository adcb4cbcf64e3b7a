// Counts the use of each limit over all edges. An edge publishes what it takes on core NATS, and every edge, this one
// included, counts it when the message arrives. All edges see the messages in the same order, so the order decides who
// gets the last of a limit. README.md compares this with an exchange at intervals.
import { type Bus, FROM_PUBLISHER } from '@switchyard/bus';
import {
  RATE_LIMITS_SUBJECTS,
  type RateLimitUse,
  rateLimitsSubject,
  rateLimitUse,
} from '@switchyard/contracts';
import { type Clock, type Logger, type Repeating, repeat } from '@switchyard/service';
import { SlidingWindow } from './sliding-window.ts';

/** How long a request waits for its own message. After that, the counts of this edge decide. */
export const ECHO_MS_MAX = 250;
/** How often an edge repeats what it has open. */
export const RENEW_MS = 1_000;
/** Open work of an edge counts for this long after its last message. */
export const LEASE_MS = 3_000;
/** Keeps a renewal well under the megabyte that NATS takes. */
const GAUGES_PER_MESSAGE_MAX = 5_000;

/** A part of one limit. */
export interface Share {
  /** Names the window or gauge on all edges. */
  readonly name: string;
  /** `window`: counts for a minute. `gauge`: counts while it is open. */
  readonly unit: 'window' | 'gauge';
  readonly amount: number;
  readonly limit: number;
}

interface OpenTake {
  readonly shares: readonly Share[];
  /** What this edge had open with this take, by gauge. */
  readonly open: Readonly<Record<string, number>>;
  readonly decide: (exceeded: Share | null) => void;
  readonly stopClock: () => void;
}

interface OpenElsewhere {
  readonly count: number;
  readonly heardAt: number;
}

export interface SharedUseDeps {
  readonly bus: Pick<Bus, 'nc' | 'connected' | 'instance'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class SharedUse {
  readonly #deps: SharedUseDeps;
  readonly #windows = new Map<string, SlidingWindow>();
  /** By gauge: what this edge has open. */
  readonly #own = new Map<string, number>();
  /** By gauge and edge: what the other edges have open. */
  readonly #others = new Map<string, Map<string, OpenElsewhere>>();
  readonly #takes = new Map<number, OpenTake>();
  readonly #renewing: Repeating;
  readonly #unsubscribe: () => void;
  #messages = 0;

  constructor(deps: SharedUseDeps) {
    this.#deps = deps;
    const { bus, clock, logger } = deps;
    const subscription = bus.nc.subscribe(RATE_LIMITS_SUBJECTS, {
      callback: (error, message) => {
        if (!error && message.reply === FROM_PUBLISHER) this.#receive(message.data);
      },
    });
    this.#unsubscribe = () => subscription.unsubscribe();
    const failed = 'open calls and commands could not be sent to the other edges';
    this.#renewing = repeat({ everyMs: RENEW_MS, clock, logger, failed }, async () => this.#renew());
  }

  /**
   * Takes all shares, or none. Returns the first that does not fit, null when all were taken. Without NATS, this edge
   * decides by what it knows.
   */
  take(shares: readonly Share[]): Promise<Share | null> {
    const full = shares.find((share) => !this.#fits(share));
    if (full) return Promise.resolve(full);
    for (const { name, unit, amount } of shares)
      if (unit === 'window') this.#window(name).reserved += amount;
      else this.#addOwn(name, amount);
    const open = this.#openOf(shares);
    const number = this.#nextNumber();
    return new Promise((decide) => {
      const stopClock = this.#deps.clock.after(ECHO_MS_MAX, () => this.#decide(number));
      this.#takes.set(number, { shares, open, decide, stopClock });
      const taken = shares.filter(({ unit }) => unit === 'window');
      const sent = this.#publish({
        number,
        taken: Object.fromEntries(taken.map(({ name, amount }) => [name, [amount, 0]])),
        open,
      });
      if (!sent) this.#decide(number);
    });
  }

  /** Gives gauges back when the counted work has ended. */
  release(shares: readonly Share[]): void {
    this.#tell(
      shares.filter(({ unit }) => unit === 'gauge').map((share) => ({ share, amount: -share.amount })),
    );
  }

  /**
   * Corrects takes from windows. A surplus leaves the slot in which it was taken; additional use counts from now.
   * @param ageMs since it was taken
   */
  correct(shares: readonly Share[], used: number, ageMs: number): void {
    const changes = shares.map((share) => ({ share, amount: used - share.amount, ageMs }));
    this.#tell(changes.filter(({ amount }) => amount !== 0));
  }

  /** How much of a window is left, and when more will be. */
  leftOf({ name, limit, amount }: Share) {
    const now = this.#deps.clock.monotonic();
    const window = this.#windows.get(name) ?? new SlidingWindow();
    return {
      remaining: Math.max(0, limit - window.total(now) - window.reserved),
      nextMs: window.nextMs(now),
      emptyMs: window.emptyMs(now),
      roomMs: window.roomMs(now, amount, limit),
    };
  }

  async close(): Promise<void> {
    await this.#renewing.stop();
    for (const number of this.#takes.keys()) this.#decide(number);
    this.#unsubscribe();
  }

  #fits({ name, unit, amount, limit }: Share): boolean {
    if (unit === 'gauge') return (this.#own.get(name) ?? 0) + this.#openElsewhere(name) + amount <= limit;
    const window = this.#window(name);
    return window.total(this.#deps.clock.monotonic()) + window.reserved + amount <= limit;
  }

  /** Counts this edge's own take, and decides it. */
  #decide(number: number): void {
    const take = this.#takes.get(number);
    if (!take) return; // decided without its message, which came late
    this.#takes.delete(number);
    take.stopClock();
    const now = this.#deps.clock.monotonic();
    for (const { name, unit, amount } of take.shares) {
      if (unit !== 'window') continue;
      const window = this.#window(name);
      window.reserved -= amount;
      window.add(now, amount);
    }
    const exceeded = take.shares.find(({ name, unit, limit }) =>
      unit === 'window'
        ? this.#window(name).total(now) > limit
        : (take.open[name] ?? 0) + this.#openElsewhere(name) > limit,
    );
    if (exceeded) this.#tell(take.shares.map((share) => ({ share, amount: -share.amount, ageMs: 0 })));
    take.decide(exceeded ?? null);
  }

  /** Makes changes that need no decision, here and on the other edges. */
  #tell(changes: readonly { share: Share; amount: number; ageMs?: number }[]): void {
    if (changes.length === 0) return;
    const now = this.#deps.clock.monotonic();
    const taken: RateLimitUse['taken'] = {};
    for (const { share, amount, ageMs = 0 } of changes) {
      if (share.unit === 'gauge') {
        this.#addOwn(share.name, amount);
        continue;
      }
      const age = amount < 0 ? ageMs : 0;
      this.#window(share.name).add(now, amount, age);
      taken[share.name] = [amount, age];
    }
    const open = this.#openOf(changes.map(({ share }) => share));
    this.#publish({ number: this.#nextNumber(), taken, open });
  }

  #openOf(shares: readonly Share[]): Record<string, number> {
    const gauges = shares.filter(({ unit }) => unit === 'gauge');
    return Object.fromEntries(gauges.map(({ name }) => [name, this.#own.get(name) ?? 0]));
  }

  /** Returns false without a connection. */
  #publish(use: Omit<RateLimitUse, 'edge'>): boolean {
    const { bus } = this.#deps;
    if (!bus.connected || bus.nc.isClosed()) return false;
    bus.nc.publish(rateLimitsSubject(bus.instance), JSON.stringify({ edge: bus.instance, ...use }), {
      reply: FROM_PUBLISHER,
    });
    return true;
  }

  #receive(data: Uint8Array): void {
    const { bus, clock, logger } = this.#deps;
    const use = readUse(data);
    if (!use) return logger.error({}, 'a message about rate limits is unreadable');
    if (use.edge === bus.instance) return this.#decide(use.number);
    const now = clock.monotonic();
    for (const [name, [amount, ageMs]] of Object.entries(use.taken))
      this.#window(name).add(now, amount, ageMs);
    for (const [name, count] of Object.entries(use.open))
      this.#heard(name, use.edge, { count, heardAt: now });
  }

  #heard(name: string, edge: string, open: OpenElsewhere): void {
    const edges = this.#others.get(name) ?? new Map<string, OpenElsewhere>();
    if (open.count > 0) edges.set(edge, open);
    else edges.delete(edge);
    if (edges.size > 0) this.#others.set(name, edges);
    else this.#others.delete(name);
  }

  #openElsewhere(name: string): number {
    const since = this.#deps.clock.monotonic() - LEASE_MS;
    let sum = 0;
    for (const { count, heardAt } of this.#others.get(name)?.values() ?? [])
      if (heardAt >= since) sum += count;
    return sum;
  }

  #renew(): void {
    const open = [...this.#own];
    for (let at = 0; at < open.length; at += GAUGES_PER_MESSAGE_MAX) {
      const part = Object.fromEntries(open.slice(at, at + GAUGES_PER_MESSAGE_MAX));
      this.#publish({ number: this.#nextNumber(), taken: {}, open: part });
    }
    this.#forget();
  }

  /** Drops the entries that no longer count. */
  #forget(): void {
    const now = this.#deps.clock.monotonic();
    for (const [name, window] of this.#windows)
      if (window.emptyMs(now) === 0 && window.reserved === 0) this.#windows.delete(name);
    for (const [name, edges] of this.#others)
      for (const [edge, { heardAt }] of edges)
        if (heardAt < now - LEASE_MS) this.#heard(name, edge, { count: 0, heardAt });
  }

  #window(name: string): SlidingWindow {
    const known = this.#windows.get(name);
    if (known) return known;
    const window = new SlidingWindow();
    this.#windows.set(name, window);
    return window;
  }

  #addOwn(name: string, amount: number): void {
    const count = (this.#own.get(name) ?? 0) + amount;
    if (count > 0) this.#own.set(name, count);
    else this.#own.delete(name);
  }

  #nextNumber(): number {
    this.#messages += 1;
    return this.#messages;
  }
}

function readUse(data: Uint8Array): RateLimitUse | null {
  try {
    return rateLimitUse.parse(JSON.parse(Buffer.from(data).toString()));
  } catch {
    return null;
  }
}
