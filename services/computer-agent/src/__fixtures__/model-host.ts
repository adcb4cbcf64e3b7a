// The host that is held against the model: an agent in a process of its own, its record store, its events and its engine.
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { openReply, requestHost } from '@switchyard/bus';
import {
  type ComputerRecord,
  hostSubject,
  type HostUploadHead,
  recordKey,
  toComputerObject,
} from '@switchyard/contracts';
import type Docker from 'dockerode';
import { expect } from 'vitest';
import { mountCommand, mountPoints } from '../docker/mounts.ts';
import { minuteCost } from '../metering/minutes.ts';
import {
  defaultLimits,
  newTestRecord,
  type TestInstallation,
} from '../test-agent.ts';
import { type AgentProcess, startAgentProcess } from '../test-agent-process.ts';
import type { HostModel, ModelComputer } from './computer-model.ts';

const ORG = 'org_test';
const WAIT_MS = 60_000;

export interface ModelHostOptions {
  readonly installation: TestInstallation;
  readonly docker: Docker;
  readonly model: HostModel;
  readonly env: Readonly<Record<string, string>>;
}

export class ModelHost {
  readonly installation: TestInstallation;
  readonly docker: Docker;
  readonly #model: HostModel;
  readonly #dataFolder: string;
  readonly #env: Readonly<Record<string, string>>;
  #agent: AgentProcess;
  /** Commands that go on until they are let go, by their computer. */
  readonly busy = new Map<string, { execId: string; ended: Promise<unknown> }>();
  /** What was done, for the reader of a failure. */
  readonly history: string[] = [];

  private constructor(options: ModelHostOptions, dataFolder: string, agent: AgentProcess) {
    this.installation = options.installation;
    this.docker = options.docker;
    this.#model = options.model;
    this.#env = options.env;
    this.#dataFolder = dataFolder;
    this.#agent = agent;
  }

  static async open(options: ModelHostOptions): Promise<ModelHost> {
    const { installation, model, env } = options;
    const dataFolder = await installation.newDataFolder();
    const agent = await startAgentProcess(installation, { dataFolder, now: model.now, env });
    return new ModelHost(options, dataFolder, agent);
  }

  get agent(): AgentProcess {
    return this.#agent;
  }

  get dataFolder(): string {
    return this.#dataFolder;
  }

  /** The next agent of the host, by the model's clock. */
  async startAgent(): Promise<void> {
    const options = { dataFolder: this.#dataFolder, now: this.#model.now, env: this.#env };
    this.#agent = await startAgentProcess(this.installation, options);
  }

  /** Time passes in the model with no agent there. */
  async passUnwatched(ms: number): Promise<void> {
    const published = new Map<ModelComputer, number>();
    for (const computer of this.#model.those('running')) {
      const idleSince = (await this.#agent.host.record(computer.id))?.last_activity_at;
      if (idleSince) published.set(computer, Date.parse(idleSince));
    }
    this.#model.passUnwatched(ms, published);
  }

  /** As control makes it. */
  async putRecord(id: string): Promise<void> {
    const created_at = new Date(this.#model.now).toISOString();
    const record = newTestRecord(this.#agent.hostId, defaultLimits(), { id, created_at });
    await this.installation.computers.create(recordKey(record), record);
  }

  exec(id: string, command: string, { execId = '', keep = false, resume = false } = {}) {
    const body = { command, ...(keep ? { on_disconnect: 'continue' as const } : {}) };
    const request = { org: ORG, id, body, ...(resume ? { resume: true as const } : {}) };
    const options = execId === '' ? {} : { requestId: execId };
    return requestHost(this.installation.bus, this.#agent.hostId, 'exec', request, options);
  }

  async upload(id: string, path: string, content: Buffer): Promise<void> {
    const head: HostUploadHead = {
      request_id: 'req_upload',
      org: ORG,
      id,
      path,
      filename: path,
      bytes: content.length,
      sha256: hash('sha256', content),
    };
    const subject = hostSubject(this.#agent.hostId, 'upload');
    const reply = await openReply(this.installation.bus, { subject, head, body: content });
    await reply.end;
  }

  lookAtExec(id: string, execId: string) {
    const request = { org: ORG, id, exec_id: execId };
    return requestHost(this.installation.bus, this.#agent.hostId, 'exec-get', request);
  }

  async container(id: string): Promise<Docker.Container> {
    const record = await this.#agent.host.record(id);
    if (!record?.container) throw new Error(`the computer ${id} has no container, and should have one`);
    return this.docker.getContainer(record.container);
  }

  /** Record, events and engine, each against the model. @throws where one is at odds with it */
  async check(): Promise<void> {
    const running: string[] = [];
    for (const computer of this.#model.computers) {
      const record = await this.#agent.host.record(computer.id);
      this.#checkRecord(computer, record);
      await this.checkEvents(computer);
      if (record?.container) running.push(record.container);
    }
    const found = await this.#containers();
    expect(found.map(({ Id, State }) => `${State} ${Id}`).toSorted()).toEqual(
      running.map((id) => `running ${id}`).toSorted(),
    );
  }

  /** Each once, and in order. */
  async checkEvents({ id, events }: ModelComputer): Promise<void> {
    await expect.poll(() => this.#eventsOf(id), { timeout: WAIT_MS, interval: 10 }).toEqual(events);
  }

  #eventsOf(id: string): string[] {
    return this.installation.events.all
      .filter(({ data }) => 'computer_id' in data && data.computer_id === id)
      .map((event) => event.id.slice(id.length + 1));
  }

  #checkRecord(computer: ModelComputer, record: ComputerRecord | null): void {
    const { state, stopReason, runs, minutes, run } = computer;
    if (state === 'gone') return expect(record).toBeNull();
    if (!record) throw new Error(`the record of ${computer.id} is gone, which is ${state} in the model`);
    const { limits } = this.#model;
    const cost_nano = String(minuteCost(record) * BigInt(minutes));
    expect(record).toMatchObject({ state, runs, minutes, cost_nano });
    expect(record.run === null).toBe(run === null);
    expect(record.container === null).toBe(run === null);
    // As its owner sees it.
    const view = { limits: { ...defaultLimits(), ...limits }, cost: 0, hostSilent: false };
    const seen = toComputerObject(record, view);
    expect(seen).toMatchObject({ status: state, stop_reason: stopReason });
    if (!run) return expect(seen).toMatchObject({ idle_since: null, stops_at: null });
    const idleSince = seen.idle_since === null ? null : Date.parse(seen.idle_since);
    expect(computer.mayBeIdleSince(this.#model.now)).toContain(idleSince);
    const idleEnd = (idleSince ?? Number.POSITIVE_INFINITY) + limits.idleStopMs;
    const end = Math.min(run.startedAt + limits.maxLifetimeMs, idleEnd);
    expect(seen.stops_at).toBe(new Date(end).toISOString());
  }

  #containers() {
    const filters = { label: [`switchyard.agent=${this.#agent.hostId}`] };
    return this.docker.listContainers({ all: true, filters });
  }

  /** Leaves nothing, whatever has failed before. */
  async close(): Promise<void> {
    const { exitCode, signalCode, pid } = this.#agent.process;
    if (pid !== undefined && exitCode === null && signalCode === null) {
      const gone = once(this.#agent.process, 'exit');
      this.#agent.process.kill('SIGKILL');
      await gone;
    }
    for (const { Id } of await this.#containers())
      await this.docker.getContainer(Id).remove({ force: true });
    for (const { id } of this.#model.computers)
      await this.installation.computers.delete(recordKey({ host: this.#agent.hostId, org: ORG, id }));
    // The last one finds nothing but what it has to clear away, and does.
    await this.startAgent();
    await this.#agent.stop();
    for (const point of (await mountPoints()).reverse())
      if (point.startsWith(`${this.#dataFolder}/`)) await mountCommand('umount', '--lazy', point);
    await rm(this.#dataFolder, { recursive: true, force: true });
  }
}
