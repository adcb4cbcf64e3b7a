/** A service of the smallest kind, with HTTP: answers any request on HOST and PORT, says that it is ready, drains. */
import { appendFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';

const { HOST, PORT, SWITCHYARD_DATA, SWITCHYARD_INSTANCE } = process.env;

/** Answers with its environment, for tests that ask what a service is given. */
const server = createServer((_request, response) => response.end(JSON.stringify(process.env)));
server.listen(Number(PORT), HOST, () => process.send?.({ type: 'ready' }));

process.on('SIGTERM', () => {
  appendFileSync(join(SWITCHYARD_DATA!, 'stops'), `${SWITCHYARD_INSTANCE}\n`);
  process.exit(0);
});
