// One Docker host: the life of its computers, their commands and their minutes. One agent for each host.
import { runService } from '@switchyard/service';
import { agentConfig } from './config.ts';
import { startAgent } from './run.ts';

await runService({ name: 'computer-agent', config: agentConfig, start: startAgent });
