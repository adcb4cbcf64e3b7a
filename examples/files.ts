// A stored file: POST /v1/files, list, read, delete. computer.ts copies one into a computer.
//   node examples/files.ts notes.txt
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { toFile } from 'openai';
import { openai } from './client.ts';

const path = process.argv[2];
const client = openai();

const stored = await client.files.create({
  file:
    path === undefined
      ? await toFile(Buffer.from('city,inhabitants\nUlm,126000\n'), 'cities.csv')
      : createReadStream(path),
  purpose: 'user_data',
});
const { sha256 } = stored as typeof stored & { sha256: string };
console.log(
  `${stored.filename} is stored as ${stored.id}: ${stored.bytes} bytes, sha-256 ${sha256.slice(0, 16)}…`,
);

try {
  for await (const { id, filename, bytes } of client.files.list())
    console.log(`  ${id}  ${String(bytes).padStart(10)}  ${filename}`);
  const content = Buffer.from(await (await client.files.content(stored.id)).arrayBuffer());
  const same = createHash('sha256').update(content).digest('hex') === sha256;
  console.log(`read back: ${content.length} bytes, ${same ? 'the same to the byte' : 'NOT THE SAME'}`);
  process.exitCode = same ? 0 : 1;
} finally {
  await client.files.delete(stored.id);
  console.log('deleted');
}
