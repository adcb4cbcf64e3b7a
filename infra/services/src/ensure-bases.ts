// The base images of docker-compose.yml: from a registry if one answers, else built here and rebuilt when their
// contents change.
import { createHash } from 'node:crypto';
import { cp, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createDebianPackages, toolsCacheFolder } from '@switchyard/local';
import {
  buildImage,
  buildLockName,
  ensureBase,
  findExtraCertificates,
  type HostSetup,
  isImagePresent,
  proxyArguments,
  pullImage,
  readAptSetup,
  renderSources,
  withBuildLock,
  withWorkDirectory,
  writeSystem,
} from '@switchyard/sandbox-computer';
import type Docker from 'dockerode';
import { BASES, type BaseRecipe, type Ingredients, type Kitchen } from './base-recipes.ts';

const LABEL_RECIPE = 'switchyard.recipe';
const DOCKERFILES = join(import.meta.dirname, '..', 'bases');

/** The name of an image for each variable of docker-compose.yml; and no user of MongoDB, if it is the stand-in. */
export type Bases = Record<(typeof BASES)[keyof typeof BASES]['variable'], string> & { MONGODB_USER?: '' };

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
  const { docker, signal, doing } = kitchen;
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
  const isThere = async () => (await recipeOf(docker, own)) === hash;
  if (await isThere()) return own;
  const lockName = await buildLockName(docker);
  await withBuildLock({ name: lockName, signal, onProgress: doing }, isThere, async (tell) => {
    const tellAll = (message: string) => {
      tell(message);
      doing(message);
    };
    await make(recipe, ingredients, host, { hash, lockName }, { ...kitchen, doing: tellAll });
  });
  return own;
}

interface Build {
  /** Of everything that goes into the image. */
  readonly hash: string;
  /** Of the lock that this process holds. */
  readonly lockName: string;
}

async function make(
  { own, dockerfile }: BaseRecipe,
  ingredients: Ingredients,
  host: HostSetup,
  { hash, lockName }: Build,
  { docker, env, signal, doing }: Kitchen,
): Promise<void> {
  const before = await imageId(docker, own);
  await withWorkDirectory(lockName, async (workDirectory) => {
    doing(`${own}: its Debian base`);
    const debian = await ensureBase({ docker, apt: host.apt, workDirectory, signal });
    doing(`${own}: collecting what goes into it`);
    const contextDirectory = join(workDirectory, 'context');
    await mkdir(contextDirectory);
    await cp(join(DOCKERFILES, dockerfile), join(contextDirectory, 'Dockerfile'));
    await writeSystem(host, join(contextDirectory, 'system'));
    await ingredients.write(join(contextDirectory, 'rootfs'));
    await buildImage({
      docker,
      contextDirectory,
      tag: own,
      buildArguments: { DEBIAN: debian, ...proxyArguments(host.apt.proxy, env) },
      labels: { [LABEL_RECIPE]: hash },
      signal,
      onLine: (line) => {
        if (line.startsWith('Step ')) doing(`${own}: ${line}`);
      },
    });
  });
  if (before !== undefined && before !== (await imageId(docker, own))) {
    // A container may still use it; the next rebuild removes it then.
    await docker
      .getImage(before)
      .remove()
      .catch(() => {});
  }
}

async function recipeOf(docker: Docker, image: string): Promise<string | undefined> {
  if (!(await isImagePresent(docker, image))) return undefined;
  return (await docker.getImage(image).inspect()).Config.Labels?.[LABEL_RECIPE];
}

async function imageId(docker: Docker, image: string): Promise<string | undefined> {
  return (await isImagePresent(docker, image)) ? (await docker.getImage(image).inspect()).Id : undefined;
}
