// The model servers named in the settings.
import type { Clock, Logger } from '@switchyard/service';
import type { Config } from '../../config.ts';
import type { ModelServer } from './model-server.ts';
import { ollamaServer } from './ollama.ts';
import { vllmServer } from './vllm.ts';

export function configuredServers(
  config: Config,
  { logger, ...deps }: { fetch: typeof fetch; clock: Clock; logger: Logger },
): ModelServer[] {
  const prices = {
    input: config.SWITCHYARD_DISCOVERED_INPUT_TOKEN_PRICE,
    output: config.SWITCHYARD_DISCOVERED_OUTPUT_TOKEN_PRICE,
  };
  const keyed = (variable: 'SWITCHYARD_OLLAMA_API_KEY' | 'SWITCHYARD_VLLM_API_KEY') => {
    const apiKey = config[variable];
    return { ...deps, prices, apiKey, apiKeyEnv: apiKey === undefined ? undefined : variable };
  };
  const servers: ModelServer[] = [];
  const { SWITCHYARD_OLLAMA_URL: ollama } = config;
  if (ollama !== undefined)
    servers.push(ollamaServer({ url: ollama, logger, ...keyed('SWITCHYARD_OLLAMA_API_KEY') }));
  const vllm = [
    ['language', config.SWITCHYARD_VLLM_URL],
    ['embedding', config.SWITCHYARD_VLLM_EMBEDDING_URL],
    ['rerank', config.SWITCHYARD_VLLM_RERANK_URL],
  ] as const;
  for (const [type, url] of vllm)
    if (url !== undefined) servers.push(vllmServer({ url, type, ...keyed('SWITCHYARD_VLLM_API_KEY') }));
  return servers;
}
