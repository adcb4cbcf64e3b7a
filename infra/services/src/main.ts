// Makes the bases of docker-compose.yml where no image registry is reached, and prints the variables that name them:
// `npm run --silent bases >> .env`. Where one is reached it prints the official names, and is not needed.
import Docker from 'dockerode';
import { ensureBases } from './ensure-bases.ts';

const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => interrupted.abort(new Error('interrupted')));
}

try {
  const bases = await ensureBases({
    docker: new Docker(),
    signal: interrupted.signal,
    onProgress: (message) => console.error(message),
  });
  for (const [variable, value] of Object.entries(bases)) console.log(`${variable}=${value}`);
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
