// The three base images of docker-compose.yml, and how to build each without a registry.
import { chmod, copyFile, cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import {
  ensureBuiltNatsServer,
  ensureStandIn,
  MONGO_IMAGE,
  NATS_IMAGE,
  ROOT,
  standInCommand,
} from '@switchyard/local';
import { addNode, architectureOf, nodePackages } from '@switchyard/sandbox-computer';
import type Docker from 'dockerode';

/** Dependencies of a build: the parameters of infra/local's steps, and the engine. */
export interface Kitchen extends Omit<Parameters<typeof ensureStandIn>[0], 'doing'> {
  readonly docker: Docker;
  readonly doing: (text: string) => void;
  readonly signal: AbortSignal;
}

export interface BaseRecipe {
  /** The variable of docker-compose.yml that names another image. */
  readonly variable: string;
  readonly official: string;
  /** Not the official name, so that it is not taken for the official image. */
  readonly own: string;
  /** In `bases/`. */
  readonly dockerfile: string;
  readonly prepare: (kitchen: Kitchen) => Promise<Ingredients>;
}

interface Ingredients {
  /** Changes with what goes into the image. */
  readonly version: string;
  /** Writes what the Dockerfile copies to the root of the image. */
  readonly write: (root: string) => Promise<void>;
}

const NODE_MAJOR = 24;
const MONGO_PORT = 27017;
/** Listens on all addresses, because only containers on the same network reach it. */
const ALL_ADDRESSES = '0.0.0.0';
const STAND_IN_FOLDER = '/opt/mongo-stand-in';
const STAND_IN_FILE = '/data/db/data.h2';

export const BASES = {
  node: {
    variable: 'SWITCHYARD_NODE_IMAGE',
    official: `node:${NODE_MAJOR}-bookworm-slim`,
    own: `switchyard/node:${NODE_MAJOR}`,
    dockerfile: 'node.Dockerfile',
    async prepare({ docker, signal }) {
      const packages = nodePackages(architectureOf((await docker.version()).Arch), await nodeVersion());
      return {
        version: `${packages.node} ${packages.npm}`,
        async write(root) {
          await addNode(root, packages, signal);
          // Only needed to compile add-ons, which the services do not use.
          await rm(join(root, 'usr/local/include'), { recursive: true });
        },
      };
    },
  },
  nats: {
    variable: 'SWITCHYARD_NATS_IMAGE',
    official: NATS_IMAGE,
    own: 'switchyard/nats:2',
    dockerfile: 'nats.Dockerfile',
    async prepare(kitchen) {
      const { path, version } = await ensureBuiltNatsServer(kitchen);
      return {
        version,
        async write(root) {
          await mkdir(join(root, 'bin'), { recursive: true });
          await copyFile(path, join(root, 'bin/nats-server'));
        },
      };
    },
  },
  mongo: {
    variable: 'SWITCHYARD_MONGO_IMAGE',
    official: MONGO_IMAGE,
    own: 'switchyard/mongo-stand-in:1',
    dockerfile: 'mongo.Dockerfile',
    async prepare(kitchen) {
      const { folder } = await ensureStandIn(kitchen);
      const { command, args } = standInCommand(
        { folder: STAND_IN_FOLDER },
        STAND_IN_FILE,
        MONGO_PORT,
        ALL_ADDRESSES,
      );
      const script = `#!/bin/sh\nexec ${[command, ...args].map((word) => `'${word}'`).join(' ')}\n`;
      return {
        // The folder's name has the hash of the sources in it.
        version: `${basename(folder)} ${script}`,
        async write(root) {
          const programs = join(root, 'usr/local/bin');
          await mkdir(programs, { recursive: true });
          await cp(folder, join(root, STAND_IN_FOLDER), { recursive: true });
          await writeFile(join(programs, 'mongo-stand-in'), script);
          await chmod(join(programs, 'mongo-stand-in'), 0o755);
        },
      };
    },
  },
} as const satisfies Record<string, BaseRecipe>;

/** The Node.js that the repository runs on, as its lock file has it. */
async function nodeVersion(): Promise<string> {
  const { devDependencies } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as {
    devDependencies: { node: string };
  };
  return devDependencies.node;
}
