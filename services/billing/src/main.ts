// Entry point of the billing process.
import { runService } from '@switchyard/service';
import { configSchema } from './config.ts';
import { startBilling } from './run.ts';

await runService({ name: 'billing', config: configSchema, start: startBilling });
