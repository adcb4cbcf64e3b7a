// One computer and the client that works in it: one call after the other, tried again where the interface says so.
import { setTimeout as delay } from 'node:timers/promises';
import type { ExecResult } from '@switchyard/contracts';
import type { Answer, Computer, ComputerClient } from '../computer-client.ts';
import { BOMBS, CLEAN_UP } from './bombs.ts';
import { type Command, someCommand } from './commands.ts';
import type { Random } from './random.ts';

const PAUSE_MS = { least: 300, most: 1_500 };
const BOMB_PAUSE_MS = { least: 500, most: 3_000 };
const TRY_AGAIN_MS = 50;
/** Over this a computer does not answer: a fault of the product, not of the storm. */
const ANSWER_MS_MAX = 60_000;
const PROBES_SHARE = 0.6;
const RESTARTS_SHARE = 0.01;
/** What a call may meet while an agent is down or its computer was taken away; anything else is wrong. */
const PASSING = new Set(['service_unavailable', 'computer_failed', 'computer_busy', 'no_capacity']);

export interface TenantOptions {
  readonly client: ComputerClient;
  readonly computer: Computer;
  readonly random: Random;
}

/** `true`, asked for until it was done. */
export interface Probe {
  /** `performance.now()` at the first try. */
  readonly from: number;
  /** And at the answer. */
  readonly to: number;
}

export class Tenant {
  readonly computer: Computer;
  /** Without those that a fault of its own computer met. */
  readonly probes: Probe[] = [];
  /** What must not have happened, in words. */
  readonly wrong: string[] = [];
  /** So long after its timeout a bomb's call was answered, at most. */
  longestBombOverMs = 0;
  readonly counts = { commands: 0, bombs: 0, triedAgain: 0, restarts: 0 };
  readonly #client: ComputerClient;
  readonly #random: Random;
  /** How often its container was taken away, or stopped by itself. */
  #faults = 0;

  constructor({ client, computer, random }: TenantOptions) {
    this.#client = client;
    this.computer = computer;
    this.#random = random;
  }

  async settleIn(): Promise<void> {
    await this.#exec({ command: `echo ${this.computer.id} > owner`, stdout: '', exitCode: 0 });
  }

  /** Works until then (`performance.now()`). */
  async work(until: number): Promise<void> {
    while (performance.now() < until) {
      const choice = this.#random.next();
      if (choice < PROBES_SHARE) await this.#probe();
      else if (choice < PROBES_SHARE + RESTARTS_SHARE) await this.#restart();
      else await this.#exec(someCommand(this.#random, this.computer.id));
      await delay(this.#random.between(PAUSE_MS.least, PAUSE_MS.most));
    }
  }

  /** Throws bombs in its own computer until then; after each the computer must do a command again. */
  async bomb(until: number): Promise<void> {
    while (performance.now() < until) {
      const { name, command, timeout } = this.#random.oneOf(BOMBS);
      this.counts.bombs += 1;
      const startedAt = performance.now();
      const answer = await this.#client.attempt('POST', this.#path('exec'), { command, timeout });
      const over = performance.now() - startedAt - timeout * 1_000;
      this.longestBombOverMs = Math.max(this.longestBombOverMs, over);
      // Faults may meet it too; what counts is that it ended and that the computer is usable.
      if (answer.status !== 200 && answer.status !== 422) this.#isPassing(`a ${name} bomb`, answer);
      await this.#exec({ command: CLEAN_UP, stdout: '', exitCode: 0 });
      await this.#exec({ command: 'cat owner', stdout: `${this.computer.id}\n`, exitCode: 0 });
      await delay(this.#random.between(BOMB_PAUSE_MS.least, BOMB_PAUSE_MS.most));
    }
  }

  async #probe(): Promise<void> {
    const faults = this.#faults;
    const from = performance.now();
    await this.#exec({ command: 'true', stdout: '', exitCode: 0 });
    if (this.#faults === faults) this.probes.push({ from, to: performance.now() });
  }

  async #restart(): Promise<void> {
    this.counts.restarts += 1;
    await this.#untilDone('stop', {});
    await this.#untilDone('start', {});
  }

  async #exec({ command, stdin, stdout, exitCode }: Command): Promise<void> {
    this.counts.commands += 1;
    const body = { command, ...(stdin === undefined ? {} : { stdin }) };
    const result = (await this.#untilDone('exec', body)) as ExecResult | undefined;
    if (result === undefined || (result.stdout === stdout && result.exit_code === exitCode)) return;
    const got = JSON.stringify({ ...result, stdout: result.stdout.slice(0, 200) });
    this.wrong.push(`${this.computer.id}: ${command} gave ${got}`);
  }

  /** Asks until it is done; starts the computer where it has stopped. Undefined when it was never done. */
  async #untilDone(what: 'exec' | 'start' | 'stop', body: object): Promise<unknown> {
    const giveUpAt = performance.now() + ANSWER_MS_MAX;
    let answer: Answer;
    do {
      answer = await this.#client.attempt('POST', this.#path(what), body);
      if (answer.status === 200) return answer.body;
      this.counts.triedAgain += 1;
      if (codeOf(answer) === 'computer_not_running') {
        this.#faults += 1;
        await this.#client.attempt('POST', this.#path('start'));
      } else if (!this.#isPassing(what, answer)) return undefined;
      else if (codeOf(answer) === 'computer_failed') this.#faults += 1;
      await delay(TRY_AGAIN_MS);
    } while (performance.now() < giveUpAt);
    this.wrong.push(
      `${this.computer.id}: no ${what} within ${ANSWER_MS_MAX} ms; last ${answer.status} ${codeOf(answer)}`,
    );
    return undefined;
  }

  /** What is not to be expected is noted. */
  #isPassing(what: string, answer: Answer): boolean {
    const code = codeOf(answer);
    if (code === 'computer_not_running' || PASSING.has(code)) return true;
    this.wrong.push(
      `${this.computer.id}: ${what} was answered ${answer.status} ${JSON.stringify(answer.body)}`,
    );
    return false;
  }

  #path(what: string): string {
    return `/v1/computers/${this.computer.id}/${what}`;
  }
}

function codeOf({ body }: Answer): string {
  return (body as { error?: { code?: string } } | undefined)?.error?.code ?? '';
}
