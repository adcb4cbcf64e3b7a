// What the property test does to a host, at random: calls, late and repeated ones, time, and faults. Each says when it can
// be done, does it to the host, and tells the model what it must have come to.
import { rm } from 'node:fs/promises';
import { newId } from '@switchyard/contracts';
import fc from 'fast-check';
import { expect } from 'vitest';
import { diskOf } from '../test-agent.ts';
import { type HostModel, ModelComputer } from './computer-model.ts';
import type { ModelHost } from './model-host.ts';

/** Each is a container. */
const COMPUTERS_MAX = 3;
/** After each command, so that what is written a little later is written. */
const SETTLE_MS = 1_000;

export type HostCommand = fc.AsyncCommand<HostModel, ModelHost>;

interface CommandSpec {
  readonly name: string;
  /** The computers to which it can be done; where it is to none of them, `applies` alone counts. */
  readonly to?: (model: HostModel) => ModelComputer[];
  readonly applies?: (model: HostModel) => boolean;
  readonly run: (model: HostModel, host: ModelHost, computer: ModelComputer) => Promise<void>;
}

/** @param pick chooses among the computers that there are then */
function command({ name, to, applies = () => true, run }: CommandSpec, pick = 0): HostCommand {
  return {
    toString: () => `${name}${to ? ` #${pick}` : ''}`,
    check: (model) => applies(model) && (to === undefined || to(model).length > 0),
    async run(model, host) {
      const eligible = to?.(model) ?? [];
      const computer = eligible[pick % Math.max(1, eligible.length)] ?? new ModelComputer(newId('computer'));
      host.history.push(`${new Date(model.now).toISOString()} ${name} ${to ? computer.id : ''}`);
      await run(model, host, computer);
      await host.agent.pass(SETTLE_MS);
      model.pass(SETTLE_MS);
      await host.check();
    },
  };
}

const running = (model: HostModel) => model.those('running');
const stopped = (model: HostModel) => model.those('stopped').filter(({ filesAreThere }) => filesAreThere);
const hasRoom = (model: HostModel) => model.those('running', 'stopped', 'error').length < COMPUTERS_MAX;

/** So many of the same at once. */
const times = <T>(count: number, ask: () => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, ask));

const create = (count: number): CommandSpec => ({
  name: `create ×${count}`,
  applies: hasRoom,
  async run(model, host, computer) {
    await host.putRecord(computer.id);
    const answers = await times(count, () => host.agent.host.ask('create', computer.id));
    for (const answer of answers) expect(answer).toMatchObject({ id: computer.id, status: 'running' });
    model.computers.push(computer);
    computer.begin(model.now);
  },
});

const start = (count: number): CommandSpec => ({
  name: `start ×${count}`,
  to: (model) => [...stopped(model), ...running(model)],
  async run(model, host, computer) {
    const answers = await times(count, () => host.agent.host.ask('start', computer.id));
    for (const answer of answers) expect(answer).toMatchObject({ status: 'running', stop_reason: null });
    if (!computer.run) computer.begin(model.now);
  },
});

const stop = (count: number): CommandSpec => ({
  name: `stop ×${count}`,
  to: (model) => model.those('running', 'stopped', 'error'),
  async run(_model, host, computer) {
    const answers = await times(count, () => host.agent.host.ask('stop', computer.id));
    if (computer.run) computer.end('user');
    const { state, stopReason, minutes } = computer;
    for (const answer of answers)
      expect(answer).toMatchObject({ status: state, stop_reason: stopReason, minutes });
  },
});

const remove = (count: number): CommandSpec => ({
  name: `delete ×${count}`,
  to: (model) => model.those('running', 'stopped', 'error'),
  async run(_model, host, computer) {
    const [first, ...others] = await Promise.allSettled(
      Array.from({ length: count }, () => host.agent.host.delete(computer.id)),
    );
    expect([first, ...others].filter((one) => one?.status === 'fulfilled').length).toBeGreaterThan(0);
    for (const one of [first, ...others])
      if (one?.status === 'rejected') expect(one.reason).toMatchObject({ code: 'computer_not_found' });
    computer.delete();
  },
});

/** Each word is there once, however often its computer was stopped, killed or taken over since. */
const exec: CommandSpec = {
  name: 'exec',
  to: running,
  async run(model, host, computer) {
    const word = `w${host.history.length}`;
    computer.words.push(word);
    const result = await host.exec(computer.id, `echo ${word} >> words; cat words`);
    expect(result).toMatchObject({ exit_code: 0, stdout: computer.words.map((one) => `${one}\n`).join('') });
    computer.rest(model.now);
  },
};

/** The same request again, by a caller who thinks that its agent was lost. */
const execTwice: CommandSpec = {
  name: 'exec, resumed',
  to: running,
  async run(model, host, computer) {
    const word = `w${host.history.length}`;
    const execId = `req_${word}`;
    computer.words.push(word);
    const first = host.exec(computer.id, `echo ${word} >> words; exit 3`, { execId });
    const again = host.exec(computer.id, `echo ${word} >> words; exit 3`, { execId, resume: true });
    const outcomes = await Promise.allSettled([first, again]);
    for (const one of outcomes) {
      if (one.status === 'fulfilled') expect(one.value).toMatchObject({ exit_code: 3 });
      else expect(one.reason).toMatchObject({ code: 'computer_failed' });
    }
    expect(outcomes.map(({ status }) => status)).toContain('fulfilled');
    computer.rest(model.now);
  },
};

const beginBusy: CommandSpec = {
  name: 'begin a long command',
  to: (model) => running(model).filter(({ currentRun: on }) => !on.busy),
  async run(_model, host, computer) {
    const word = `w${host.history.length}`;
    const execId = `req_${word}`;
    computer.words.push(word);
    const long = `echo ${word} >> words; touch begun-${word}; until [ -e go-${word} ]; do sleep 0.02; done; exit 7`;
    const ended = host.exec(computer.id, long, { execId, keep: true });
    ended.catch(() => {}); // it ends with its computer, or is asked for when it is let go
    const begun = `until [ -e begun-${word} ]; do sleep 0.02; done`;
    await host.exec(computer.id, begun);
    host.busy.set(computer.id, { execId, ended });
    computer.currentRun.busy = true;
  },
};

const endBusy: CommandSpec = {
  name: 'end a long command',
  to: (model) => running(model).filter(({ currentRun: on }) => on.busy),
  async run(model, host, computer) {
    const { execId } = host.busy.get(computer.id)!;
    await host.exec(computer.id, `touch go-${execId.slice('req_'.length)}`);
    await expect
      .poll(() => host.lookAtExec(computer.id, execId), { interval: 20 })
      .toMatchObject({ status: 'finished', result: { exit_code: 7 } });
    computer.currentRun.busy = false;
    computer.rest(model.now);
  },
};

/** In place of what commands have written. */
const upload: CommandSpec = {
  name: 'upload',
  to: running,
  async run(model, host, computer) {
    const word = `u${host.history.length}`;
    await host.upload(computer.id, 'words', Buffer.from(`${word}\n`));
    computer.words = [word];
    computer.rest(model.now);
  },
};

const late: CommandSpec = {
  name: 'calls to one that does not run',
  to: (model) => model.those('stopped', 'error', 'gone'),
  async run(_model, host, { id, state }) {
    const code = state === 'gone' ? 'computer_not_found' : 'computer_not_running';
    await expect(host.exec(id, 'true')).rejects.toMatchObject({ code });
    await expect(host.agent.host.ask('create', id)).rejects.toMatchObject({ code: 'computer_not_found' });
    if (state !== 'gone') return;
    await expect(host.agent.host.ask('start', id)).rejects.toMatchObject({ code });
    await expect(host.agent.host.delete(id)).rejects.toMatchObject({ code });
  },
};

const pass = (ms: number): CommandSpec => ({
  name: `${ms} ms pass`,
  async run(model, host) {
    await host.agent.pass(ms);
    model.pass(ms);
  },
});

const fallSilent = (ms: number): CommandSpec => ({
  name: `the host is silent for ${ms} ms`,
  async run(model, host) {
    await host.agent.fallSilent(ms);
    model.pass(ms, { heard: false });
  },
});

const endContainer = (how: 'kill' | 'remove'): CommandSpec => ({
  name: `${how} the container`,
  to: running,
  async run(_model, host, computer) {
    const container = await host.container(computer.id);
    await (how === 'kill' ? container.kill() : container.remove({ force: true }));
    computer.end('exited');
    await host.checkEvents(computer);
  },
});

const loseFiles: CommandSpec = {
  name: 'lose the files',
  to: stopped,
  async run(_model, host, computer) {
    await rm((await diskOf(host.dataFolder, computer.id)).image);
    computer.filesAreThere = false;
    await expect(host.agent.host.ask('start', computer.id)).rejects.toMatchObject({ code: 'computer_failed' });
    computer.state = 'error';
  },
};

/** @param endsMeanwhile a container ends, too, while no agent is there */
const die = (downMs: number, endsMeanwhile: boolean): CommandSpec => ({
  name: `kill -9 of the agent, down for ${downMs} ms${endsMeanwhile ? ', a container ends meanwhile' : ''}`,
  async run(model, host) {
    await host.agent.kill();
    const [first] = model.those('running');
    if (endsMeanwhile && first) {
      await (await host.container(first.id)).kill();
      first.end('exited');
    }
    await host.passUnwatched(downMs);
    await host.startAgent();
  },
});

const duration = fc.constantFrom(1, 500, 10_000, 29_999, 59_000, 60_000, 61_000, 119_000, 180_000);
const absence = fc.constantFrom(0, 1_000, 59_999, 60_000, 61_000, 200_000, 3_600_000);
const pick = fc.nat(COMPUTERS_MAX * 2);
const count = fc.constantFrom(1, 1, 2, 3);
const one = (spec: CommandSpec) => pick.map((picked) => command(spec, picked));
const some = <T>(of: readonly T[], make: (value: T) => CommandSpec) =>
  fc.tuple(fc.constantFrom(...of), pick).map(([value, picked]) => command(make(value), picked));

/** One of them, the calls of every day more often. */
export const anyCommand: fc.Arbitrary<HostCommand> = fc.oneof(
  { weight: 5, arbitrary: count.map((n) => command(create(n))) },
  { weight: 5, arbitrary: fc.tuple(count, pick).map(([n, picked]) => command(start(n), picked)) },
  { weight: 4, arbitrary: fc.tuple(count, pick).map(([n, picked]) => command(stop(n), picked)) },
  { weight: 2, arbitrary: fc.tuple(count, pick).map(([n, picked]) => command(remove(n), picked)) },
  { weight: 5, arbitrary: one(exec) },
  { weight: 2, arbitrary: one(execTwice) },
  { weight: 2, arbitrary: one(upload) },
  { weight: 3, arbitrary: one(beginBusy) },
  { weight: 2, arbitrary: one(endBusy) },
  { weight: 2, arbitrary: one(late) },
  { weight: 6, arbitrary: duration.map((ms) => command(pass(ms))) },
  { weight: 2, arbitrary: absence.map((ms) => command(fallSilent(ms))) },
  { weight: 2, arbitrary: some(['kill', 'remove'] as const, endContainer) },
  { weight: 1, arbitrary: one(loseFiles) },
  { weight: 3, arbitrary: fc.tuple(absence, fc.boolean()).map(([ms, ends]) => command(die(ms, ends))) },
);

/** The last word: all of them deleted, nothing left. */
export const endAll: HostCommand = {
  toString: () => 'delete all',
  check: () => true,
  async run(model, host) {
    for (const computer of model.those('running', 'stopped', 'error')) {
      await host.agent.host.delete(computer.id);
      computer.delete();
    }
    await host.check();
  },
};
