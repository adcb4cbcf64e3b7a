/**
 * Runs docker-compose.yml: its images are built, the stack comes up, answers and bills calls, survives the
 * loss of a container, and leaves nothing behind. Without a registry, the base images are built first.
 */
import { randomBytes } from 'node:crypto';
import { connect } from '@nats-io/transport-node';
import { presentDockerCompose, ROOT, runCommand } from '@switchyard/local';
import { ensureBases } from '@switchyard/service-images';
import { docker, ownPort, temporaryFolder } from '@switchyard/testing';
import { DockerComposeEnvironment, type StartedDockerComposeEnvironment } from 'testcontainers';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

const SECOND_MS = 1_000;
/** The first time on a machine: Debian, Node.js and a Java runtime are installed into images. */
const SET_UP_TIMEOUT_MS = 15 * 60 * SECOND_MS;
const COMPOSE_TIMEOUT_MS = 5 * 60 * SECOND_MS;
const BILLED_WITHIN_MS = 60 * SECOND_MS;
/** New containers of the bus and the database, and all services connected to them. */
const SERVES_AGAIN_MS_MAX = 90 * SECOND_MS;
/** Enough that each of two routers is chosen. */
const CALLS = 12;

const [engine, compose] = await Promise.all([docker(), presentDockerCompose(process.env)]);

describe.skipIf(engine === undefined || compose === undefined)('the stack of docker-compose.yml', () => {
  const project = `switchyard-test-${randomBytes(4).toString('hex')}`;
  const key = `sy_${randomBytes(16).toString('base64url')}`;
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  let environment: Record<string, string>;
  let stack: StartedDockerComposeEnvironment | undefined;
  let url: string;
  let billed = { calls: 0, cost: 0 };

  beforeAll(async () => {
    const [port, natsPort] = [await ownPort(), await ownPort()];
    url = `http://127.0.0.1:${port}`;
    environment = {
      ...(await ensureBases({ docker: engine! })),
      // Not the name of a stack that may run on this machine.
      SWITCHYARD_SERVICE_IMAGE: 'switchyard/services:test',
      SWITCHYARD_KEY: key,
      SWITCHYARD_CREDENTIALS: await makeCredentials(),
      HOST: '127.0.0.1',
      PORT: String(port),
      SWITCHYARD_NATS_PORT: String(natsPort),
      NATS_URL: '',
      MONGODB_URL: '',
      SWITCHYARD_CATALOG: '',
    };
    // One image for all services: built for one of them, found by the others.
    await runCompose(['build', 'edge']);
    stack = await new DockerComposeEnvironment(ROOT, 'docker-compose.yml')
      .withProjectName(project)
      .withEnvironment(environment)
      .withStartupTimeout(COMPOSE_TIMEOUT_MS)
      .withClientOptions(
        compose!.args.length > 0
          ? {}
          : { executable: { executablePath: compose!.command, standalone: true } },
      )
      .up();
  }, SET_UP_TIMEOUT_MS);

  afterAll(async () => {
    await stack?.down({ removeVolumes: true });
    // A build after a change of the sources leaves the previous image unnamed. The engine refuses a prune beside another.
    await engine
      ?.pruneImages({ filters: { dangling: ['true'], label: ['switchyard.image'] } })
      .catch(() => {});
  }, COMPOSE_TIMEOUT_MS);

  it('answers no client of NATS without TLS or without a password', async () => {
    const servers = `127.0.0.1:${environment.SWITCHYARD_NATS_PORT}`;
    const tls = { caFile: `${environment.SWITCHYARD_CREDENTIALS}/nats-tls/ca.pem` };
    await expect(connect({ servers, tls: null, reconnect: false })).rejects.toThrow(/tls/i);
    await expect(connect({ servers, tls, reconnect: false })).rejects.toThrow(/authorization/i);
  });

  it('says what is missing when it has no key', async () => {
    const keyless = { ...environment, SWITCHYARD_KEY: '' };
    await expect(runCompose(['config'], keyless)).rejects.toThrow('set it to the key of this installation');
  });

  it('answers a chat call, and bills it to the nano-dollar', async () => {
    const { content, cost } = await chat();
    expect(content).toContain('42');
    expect(cost).toBeGreaterThan(0);
    await expectBill();
  });

  it('runs its services as user 10001, on a read-only file system', async () => {
    const edge = await runCompose(['exec', '-T', 'edge', 'bash', '-c', 'id -u; touch /app/x 2>&1 || true']);
    expect(edge.stdout).toMatch(/^10001\n.*Read-only file system/s);
    // A flac that the router itself cannot measure is decoded, in a folder of its own.
    const audio = Buffer.from('fLaC broken').toString('base64');
    const response = await fetch(`${url}/v1/audio/transcriptions`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ model: 'local/transcribe', media_type: 'audio/flac', audio }),
    });
    expect(await response.json()).toMatchObject({ error: { code: 'audio_unreadable' } });
    expect(response.status).toBe(400);
  });

  it('audits and splits billing from its container, which alone reaches MongoDB', async () => {
    const inBilling = (...args: string[]) => runCompose(['exec', '-T', 'billing', 'node', ...args]);
    const audit = await inBilling('services/billing/src/audit/main.ts');
    expect(audit.stdout).toContain('zero drift');
    const split = await inBilling('services/billing/src/partitions/main.ts', '--to', '4');
    expect(split.stdout).toContain('4 partitions');
    await chat();
    await expectBill();
  });

  it('scales a service, and goes on when one of its containers is killed', async () => {
    await runCompose(['up', '--detach', '--no-recreate', '--scale', 'model-router=2']);
    const [first, second] = await containersOf('model-router');
    expect(second).toBeDefined();
    await Promise.all(Array.from({ length: CALLS }, chat));
    await engine!.getContainer(first!).kill();
    await Promise.all(Array.from({ length: CALLS }, chat));
    expect(await containersOf('model-router')).toEqual([second]);
    await expectBill();
  });

  it('keeps the bill when NATS and MongoDB get new containers', async () => {
    const before = await containersOf('nats');
    await runCompose(['up', '--detach', '--no-deps', '--force-recreate', 'nats', 'mongo']);
    expect(await containersOf('nats')).not.toEqual(before);
    await vi.waitFor(chat, { timeout: SERVES_AGAIN_MS_MAX, interval: SECOND_MS });
    await expectBill();
  });

  /** As `npm run credentials` does. */
  async function makeCredentials(): Promise<string> {
    const folder = await temporaryFolder('credentials');
    const env = { ...process.env, SWITCHYARD_CREDENTIALS: folder };
    await runCommand(process.execPath, ['infra/local/src/credentials.ts'], {
      cwd: ROOT,
      env,
      timeoutMs: COMPOSE_TIMEOUT_MS,
    });
    return folder;
  }

  /** Compose's own command, on this project. */
  function runCompose(args: string[], env = environment) {
    return runCommand(compose!.command, [...compose!.args, '--project-name', project, ...args], {
      cwd: ROOT,
      env: { ...process.env, ...env },
      timeoutMs: COMPOSE_TIMEOUT_MS,
    });
  }

  async function containersOf(service: string): Promise<string[]> {
    const labels = [`com.docker.compose.project=${project}`, `com.docker.compose.service=${service}`];
    return (await engine!.listContainers({ filters: { label: labels } })).map(({ Id }) => Id).sort();
  }

  async function chat(): Promise<{ content: string; cost: number }> {
    const body = { model: 'local/chat', messages: [{ role: 'user', content: 'What is 6*7?' }] };
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    const answer = (await response.json()) as {
      choices: [{ message: { content: string } }];
      usage: { cost: number };
    };
    expect(response.status, JSON.stringify(answer)).toBe(200);
    const { cost } = answer.usage;
    billed = { calls: billed.calls + 1, cost: Number((billed.cost + cost).toFixed(9)) };
    return { content: answer.choices[0].message.content, cost };
  }

  /** The usage endpoint shows every call that was answered, and their costs. */
  async function expectBill(): Promise<void> {
    await vi.waitFor(
      async () => {
        const response = await fetch(`${url}/v1/usage`, { headers });
        expect(response.status).toBe(200);
        expect(((await response.json()) as { total: unknown }).total).toMatchObject(billed);
      },
      { timeout: BILLED_WITHIN_MS },
    );
  }
});
