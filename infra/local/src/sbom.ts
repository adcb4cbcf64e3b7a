/** `npm run sbom`: writes output/sbom.cdx.json (CycloneDX) and output/licences.txt, from package-lock.json. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cycloneDx, licenceList, packageLock } from './bill-of-materials.ts';
import { ROOT } from './config.ts';

const readJson = async (file: string) => JSON.parse(await readFile(join(ROOT, file), 'utf8')) as unknown;

const lock = packageLock.parse(await readJson('package-lock.json'));
const { version } = (await readJson('lerna.json')) as { version: string };
const folder = join(ROOT, 'output');
await mkdir(folder, { recursive: true });
await writeFile(
  join(folder, 'sbom.cdx.json'),
  `${JSON.stringify(cycloneDx(lock, version, new Date()), null, 2)}\n`,
);
await writeFile(join(folder, 'licences.txt'), licenceList(lock));
console.log('Wrote output/sbom.cdx.json and output/licences.txt.');
