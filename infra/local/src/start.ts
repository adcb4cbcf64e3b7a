/** `npm start`: brings the stack up, says where it is, and takes it down on SIGINT or SIGTERM. */
import { readLauncherConfig } from './config.ts';
import { runLauncher } from './launcher.ts';
import { createProgress } from './progress.ts';
import { SERVICES } from './services.ts';

await runLauncher({
  readConfig: () => readLauncherConfig(process.env),
  env: process.env,
  services: SERVICES,
  progress: createProgress((line) => console.log(line)),
});
