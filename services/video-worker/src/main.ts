import { runService } from '@switchyard/service';
import { config } from './config.ts';
import { start } from './run.ts';

await runService({ name: 'video-worker', config, start });
