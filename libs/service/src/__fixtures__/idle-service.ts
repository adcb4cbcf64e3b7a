// A service without work of its own. Tests run it as a child process.
import { commonConfigSchema } from '../config.ts';
import { runService } from '../run-service.ts';

await runService({ name: 'idle', config: commonConfigSchema, start: async () => ({ stop: async () => {} }) });
