/** The launcher over a table of two small services: the real NATS and MongoDB, the real supervisor. */
import { readLauncherConfig } from '../config.ts';
import { runLauncher } from '../launcher.ts';
import { createProgress } from '../progress.ts';

await runLauncher({
  readConfig: () => readLauncherConfig(process.env),
  env: process.env,
  services: [
    { name: 'entry', entry: 'infra/local/src/__fixtures__/entry.ts', role: 'entry', gets: ['key'] },
    {
      name: 'worker',
      entry: 'infra/local/src/__fixtures__/worker.ts',
      role: 'worker',
      gets: ['database'],
      usesLocalPrograms: true,
    },
  ],
  progress: createProgress((line) => console.log(line)),
});
