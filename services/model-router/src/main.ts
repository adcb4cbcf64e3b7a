import { runService } from '@switchyard/service';
import { config } from './config.ts';
import { start } from './run.ts';

await runService({ name: 'model-router', config, start });
