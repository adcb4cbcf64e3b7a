// Takes the lock named in its first argument, says so, and keeps it until it is killed.
import { withBuildLock } from '../build-lock.ts';

await withBuildLock({ name: process.argv[2]!, signal: new AbortController().signal }, async () => {
  process.send?.('locked');
  await new Promise(() => setInterval(() => {}, 60_000));
});
