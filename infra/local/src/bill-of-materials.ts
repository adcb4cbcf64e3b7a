/** The software bill of materials, from package-lock.json: what npm installs, its digests, licences and dependencies. */
import { z } from 'zod';

const lockedPackage = z.object({
  name: z.string().optional(),
  version: z.string().optional(),
  license: z.string().optional(),
  integrity: z.string().optional(),
  /** A workspace, which is our own. */
  link: z.boolean().optional(),
  dev: z.boolean().optional(),
  optional: z.boolean().optional(),
  dependencies: z.record(z.string(), z.string()).optional(),
  optionalDependencies: z.record(z.string(), z.string()).optional(),
});
export const packageLock = z.object({ packages: z.record(z.string(), lockedPackage) });
type PackageLock = z.infer<typeof packageLock>;

const FOLDER = 'node_modules/';
/** Their package.json names none in the way of npm. */
const READ_FROM_LICENCE_FILE: Readonly<Record<string, string>> = { 'cohere-ai': 'MIT', ssh2: 'MIT' };
const UNKNOWN = 'unknown (packages of other platforms)';

interface Component {
  readonly path: string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  /** Undefined for a package of another platform, of which the lock file may not know it. */
  readonly licence: string | undefined;
  readonly locked: z.infer<typeof lockedPackage>;
}

/** Every package of others, in the order of the lock file. */
function componentsOf({ packages }: PackageLock): Component[] {
  return Object.entries(packages).flatMap(([path, locked]) => {
    const at = path.lastIndexOf(FOLDER);
    if (at === -1 || locked.link || locked.version === undefined) return [];
    const name = locked.name ?? path.slice(at + FOLDER.length);
    const purl = `pkg:npm/${name.replace('@', '%40')}@${locked.version}`;
    return [
      {
        path,
        name,
        version: locked.version,
        purl,
        licence: locked.license ?? READ_FROM_LICENCE_FILE[name],
        locked,
      },
    ];
  });
}

/** A CycloneDX document, as JSON. @param version that of Switchyard */
export function cycloneDx(lock: PackageLock, version: string, time: Date) {
  const components = componentsOf(lock);
  const purls = new Map(components.map(({ path, purl }) => [path, purl]));
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: {
      timestamp: time.toISOString(),
      component: { type: 'application', 'bom-ref': 'switchyard', name: 'switchyard', version },
    },
    components: unique(components).map(({ name, version: of, purl, licence, locked }) => ({
      type: 'library',
      'bom-ref': purl,
      name,
      version: of,
      scope: locked.dev ? 'excluded' : locked.optional ? 'optional' : 'required',
      purl,
      licenses: licence === undefined ? [] : [{ expression: licence }],
      hashes: hashesOf(locked.integrity),
    })),
    dependencies: unique(components).map(({ path, purl, locked }) => ({
      ref: purl,
      dependsOn: Object.keys({ ...locked.dependencies, ...locked.optionalDependencies })
        .flatMap((name) => resolve(purls, path, name) ?? [])
        .sort(),
    })),
  };
}

/** One line for each licence, with its packages. */
export function licenceList(lock: PackageLock): string {
  const byLicence = Map.groupBy(unique(componentsOf(lock)), ({ licence }) => licence ?? UNKNOWN);
  return [...byLicence]
    .toSorted(([a], [b]) => a.localeCompare(b))
    .map(
      ([licence, all]) => `${licence}: ${all.map(({ name, version }) => `${name}@${version}`).join(', ')}\n`,
    )
    .join('');
}

/** npm may install one version at several paths. */
function unique(components: readonly Component[]): Component[] {
  return [...new Map(components.map((component) => [component.purl, component])).values()];
}

/** As Node.js does: from the package's own folder up to the top. */
function resolve(purls: ReadonlyMap<string, string>, from: string, name: string): string | undefined {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf(FOLDER) - 1))) {
    const found = purls.get(`${folder === '' ? '' : `${folder}/`}${FOLDER}${name}`);
    if (found !== undefined || folder === '') return found;
  }
}

/** npm's integrity: `sha512-<base64>`. */
function hashesOf(integrity: string | undefined) {
  const [, algorithm, digest] = /^(sha\d+)-(\S+)$/.exec(integrity ?? '') ?? [];
  if (algorithm === undefined || digest === undefined) return [];
  const alg = algorithm === 'sha1' ? 'SHA-1' : algorithm.replace('sha', 'SHA-');
  return [{ alg, content: Buffer.from(digest, 'base64').toString('hex') }];
}
