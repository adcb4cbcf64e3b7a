// The base images of docker-compose.yml: from a registry if one answers, else built here and rebuilt when their
// contents change.
import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createDebianPackages, toolsCacheFolder } from '@switchyard/local';
import {
  ensureBase,
  ensureBuiltImage,
  findExtraCertificates,
  type HostSetup,
  isImagePresent,
  proxyArguments,
  pullImage,
  readAptSetup,
  renderSources,
  writeSystem,
} from '@switchyard/sandbox-computer';
import type Docker from 'dockerode';
import { BASES, type BaseRecipe, type Kitchen } from './base-recipes.ts';

const DOCKERFILES = join(import.meta.dirname, '..', 'bases');

/** The name of an image for each variable of docker-compose.yml; and no user of MongoDB, if it is the stand-in. */
type Bases = Record<(typeof BASES)[keyof typeof BASES]['variable'], string> & { MONGODB_USER?: '' };

interface EnsureBasesOptions {
  readonly docker: Docker;
  readonly env?: NodeJS.ProcessEnv;
  readonly signal?: AbortSignal;
  /** Receives the progress in words. Not called if everything exists. */
  readonly onProgress?: (message: string) => void;
}

/**
 * Resolves when all bases exist. A variable that `env` sets keeps its value. Of several callers in several processes,
 * one builds and the others wait.
 * @throws Error with the reason, if no registry answers and a base cannot be built
 */
export async function ensureBases(options: EnsureBasesOptions): Promise<Bases> {
  const { docker, env = process.env, signal = new AbortController().signal, onProgress = () => {} } = options;
  const cacheFolder = toolsCacheFolder(env);
  const packages = createDebianPackages(env);
  const kitchen: Kitchen = { docker, env, signal, cacheFolder, packages, doing: onProgress };
  const [apt, certificates] = await Promise.all([readAptSetup(), findExtraCertificates(env)]);
  const registry: Registry = { reached: true };
  const found: [variable: string, image: string][] = [];
  for (const recipe of Object.values(BASES)) {
    const image = env[recipe.variable] || (await ensureOne(recipe, { apt, certificates }, kitchen, registry));
    found.push([recipe.variable, image]);
  }
  const bases = Object.fromEntries(found) as Bases;
  // The stand-in knows no users.
  return bases[BASES.mongo.variable] === BASES.mongo.own ? { ...bases, MONGODB_USER: '' } : bases;
}

interface Registry {
  /** False after a failed pull. The next pull is skipped, because a failure may take long. */
  reached: boolean;
}

async function ensureOne(
  recipe: BaseRecipe,
  host: HostSetup,
  kitchen: Kitchen,
  registry: Registry,
): Promise<string> {
  const { docker, env, signal, doing } = kitchen;
  const { official, own } = recipe;
  if (await isImagePresent(docker, official)) return official;
  // An earlier build means that no registry answered; asking again would cost time.
  const madeBefore = await isImagePresent(docker, own);
  if (!madeBefore && registry.reached) {
    doing(`${official}: asking the registry`);
    registry.reached = await pullImage(docker, official, signal).then(
      () => true,
      () => false,
    );
    if (registry.reached) return official;
  }
  const ingredients = await recipe.prepare(kitchen);
  const dockerfile = await readFile(join(DOCKERFILES, recipe.dockerfile), 'utf8');
  const parts = [
    dockerfile,
    ingredients.version,
    renderSources(host.apt),
    host.apt.options,
    host.certificates,
  ];
  const hash = createHash('sha256').update(JSON.stringify(parts)).digest('hex');
  await ensureBuiltImage({
    ...{ docker, tag: own, hash, signal, onProgress: doing },
    inWords: (line) => (line.startsWith('Step ') ? `${own}: ${line}` : undefined),
    async prepare({ workDirectory, contextDirectory }) {
      doing(`${own}: its Debian base`);
      const debian = await ensureBase({ docker, apt: host.apt, workDirectory, signal });
      doing(`${own}: collecting what goes into it`);
      await mkdir(contextDirectory);
      await writeFile(join(contextDirectory, 'Dockerfile'), dockerfile);
      await writeSystem(host, join(contextDirectory, 'system'));
      await ingredients.write(join(contextDirectory, 'rootfs'));
      return { DEBIAN: debian, ...proxyArguments(host.apt.proxy, env) };
    },
  });
  return own;
}
