/** The environment that each service is started with: the common part, and what its row in the table grants it. */
import { join } from 'node:path';
import { ROOT } from './config.ts';
import type { NatsUsers } from './nats-users.ts';
import type { Grant, LocalService } from './services.ts';

export interface StackFacts {
  readonly natsUrl: string;
  /** By service, and by computer-agent instance; undefined: not our server; NATS_USER or NATS_URL has the user. */
  readonly natsUsers: NatsUsers | undefined;
  readonly mongoUrl: string;
  readonly dataFolder: string;
  readonly key: string;
  readonly providersSecret: string;
  readonly host: string;
  readonly port: number;
  /** Why there are no computers, or undefined where there are. */
  readonly noComputers: string | undefined;
}

/**
 * Where Node.js keeps what it has compiled, types already stripped, so that a service which is started again serves
 * sooner. One file for each source file; a service writes them when it is ready (libs/service/src/run-service.ts).
 */
const COMPILE_CACHE = join(ROOT, 'node_modules', '.cache', 'switchyard');

/** Passed on as they are: where programs, certificates and proxies are, how to log, platform limits. */
const PASSED_ON =
  /^(NATS_USER|NATS_PASSWORD|NATS_TLS_CA|PATH|HOME|USER|LANG|LC_\w+|TZ|TMPDIR|XDG_CACHE_HOME|NODE_ENV|NODE_OPTIONS|NODE_COMPILE_CACHE|NODE_DISABLE_COMPILE_CACHE|NODE_EXTRA_CA_CERTS|SSL_CERT_\w+|\w+_CA_BUNDLE|PIP_CERT|https?_proxy|no_proxy|HTTPS?_PROXY|NO_PROXY|LOG_LEVEL|SWITCHYARD_\w+)$/;
/** The variables of each grant. A service without the grant does not get them. */
const GRANTED: Readonly<Record<Grant, readonly string[]>> = {
  key: ['SWITCHYARD_KEY'],
  'providers secret': ['SWITCHYARD_PROVIDERS_SECRET'],
  'url secret': ['SWITCHYARD_URL_SECRET'],
  'model servers': ['SWITCHYARD_OLLAMA_API_KEY', 'SWITCHYARD_VLLM_API_KEY'],
  database: ['MONGODB_URL', 'MONGODB_USER', 'MONGODB_PASSWORD'],
  docker: ['DOCKER_HOST', 'DOCKER_TLS_VERIFY', 'DOCKER_CERT_PATH'],
  'whole environment': [],
};
const RESTRICTED = new Set(Object.values(GRANTED).flat());
/** Settings of npm and this launcher, not passed on. */
const NOT_PASSED_ON =
  /^(npm_\w+|INIT_CWD|PORT|HOST|HEALTH_PORT|SWITCHYARD_(SERVICES|SCALE|NATS_PORT|MONGODB_PORT))$/;

export function serviceEnvironment(
  service: LocalService,
  instance: string,
  machine: NodeJS.ProcessEnv,
  facts: StackFacts,
): NodeJS.ProcessEnv {
  const values: NodeJS.ProcessEnv = {
    ...machine,
    SWITCHYARD_KEY: facts.key,
    SWITCHYARD_PROVIDERS_SECRET: facts.providersSecret,
    MONGODB_URL: facts.mongoUrl,
    // They belong to the server of MONGODB_URL. One that the launcher started has no users.
    ...(machine.MONGODB_URL ? {} : { MONGODB_USER: undefined, MONGODB_PASSWORD: undefined }),
  };
  const granted = new Set(service.gets.flatMap((grant) => GRANTED[grant]));
  const whole = service.gets.includes('whole environment');
  const kept = Object.entries(values).filter(([name]) => {
    if (RESTRICTED.has(name)) return granted.has(name);
    return !NOT_PASSED_ON.test(name) && (whole || PASSED_ON.test(name));
  });
  const natsUser = facts.natsUsers?.of(service.name, instance);
  return {
    NODE_COMPILE_CACHE: COMPILE_CACHE,
    ...Object.fromEntries(kept),
    NATS_URL: facts.natsUrl,
    ...(natsUser ? { NATS_USER: natsUser.user, NATS_PASSWORD: natsUser.password } : {}),
    SWITCHYARD_DATA: facts.dataFolder,
    // Any free port, since a set one fits one service only. The log line `ready` names it.
    HEALTH_PORT: '0',
    // Stable over restarts, different for each instance: names what an instance keeps for itself on the disk.
    SWITCHYARD_INSTANCE: instance,
    // Without the stack nothing supervises or bills computers, so they stop with it.
    SWITCHYARD_COMPUTERS_ON_SHUTDOWN: machine.SWITCHYARD_COMPUTERS_ON_SHUTDOWN || 'stop',
    ...(facts.noComputers === undefined
      ? {}
      : { SWITCHYARD_COMPUTERS: 'off', SWITCHYARD_COMPUTERS_OFF_REASON: facts.noComputers }),
    ...(service.role === 'entry' ? { HOST: facts.host, PORT: String(facts.port) } : {}),
  };
}
