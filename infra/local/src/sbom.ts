/** `npm run sbom`: writes output/sbom.cdx.json (CycloneDX) and output/licences.txt, from package-lock.json. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './config.ts';

/** Their package.json lacks npm's licence field. */
const READ_FROM_LICENCE_FILE: Readonly<Record<string, string>> = { 'cohere-ai': 'MIT', ssh2: 'MIT' };
const OUTPUT_BYTES_MAX = 64 * 1024 ** 2;

type Licence = { license?: { id: string }; expression?: string };
type Component = { 'bom-ref': string; name: string; licenses?: Licence[] };
const UNKNOWN: Licence = { expression: 'unknown (packages of other platforms)' };

const args = ['sbom', '--package-lock-only', '--sbom-format', 'cyclonedx'];
const bill = JSON.parse(execFileSync('npm', args, { cwd: ROOT, maxBuffer: OUTPUT_BYTES_MAX }).toString());
const { version } = JSON.parse(readFileSync(join(ROOT, 'lerna.json'), 'utf8'));
bill.metadata.component = { type: 'application', 'bom-ref': 'switchyard', name: 'switchyard', version };
// Workspaces are Switchyard itself.
const isOurs = (ref: string) => /^@?switchyard[@/]/.test(ref);
bill.dependencies = bill.dependencies.filter(({ ref }: { ref: string }) => !isOurs(ref));
bill.components = bill.components.filter((component: Component) => !isOurs(component['bom-ref']));
for (const component of bill.components as Component[]) {
  const id = READ_FROM_LICENCE_FILE[component.name];
  if (id !== undefined) component.licenses ??= [{ license: { id } }];
}
const byLicence = Map.groupBy(
  bill.components as Component[],
  ({ licenses: [licence = UNKNOWN] = [] }) => licence.expression ?? licence.license?.id,
);
const lines = [...byLicence].map(
  ([licence, all]) => `${licence}: ${all.map((component) => component['bom-ref']).join(', ')}\n`,
);

const folder = join(ROOT, 'output');
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, 'sbom.cdx.json'), `${JSON.stringify(bill, null, 2)}\n`);
writeFileSync(join(folder, 'licences.txt'), lines.sort().join(''));
console.log('Wrote output/sbom.cdx.json and output/licences.txt.');
