// Settings of the router; the sole reader of the environment, makers' credentials included.
import { egressConfig } from '@switchyard/egress';
import { byteBudgetConfig, commonConfig } from '@switchyard/service';
import { z } from 'zod';

const serverUrl = z.url({ protocol: /^https?$/ }).optional();
const dollarsPerToken = z
  .string()
  .regex(/^\d{1,12}(\.\d{1,18})?$/, 'dollars as a plain decimal number')
  .default('0');

export const config = z.looseObject({
  ...commonConfig,
  ...byteBudgetConfig,
  ...egressConfig,
  /** Further catalog files, separated by commas; a model of a known id replaces the shipped one. */
  SWITCHYARD_CATALOG: z
    .string()
    .default('')
    .transform((list) =>
      list
        .split(',')
        .map((path) => path.trim())
        .filter((path) => path !== ''),
    ),
  /** Seconds of a whole call, all attempts and waits together: under the ten minutes at which clients give up. */
  SWITCHYARD_CALL_TIMEOUT_SECONDS: z.coerce.number().min(0.1).max(570).default(570),
  /** An Ollama whose models are served as `ollama/<name>`. */
  SWITCHYARD_OLLAMA_URL: serverUrl,
  SWITCHYARD_OLLAMA_API_KEY: z.string().optional(),
  /** Servers of vLLM whose models are served as `vllm/<name>`: one serves one kind of model. */
  SWITCHYARD_VLLM_URL: serverUrl,
  SWITCHYARD_VLLM_EMBEDDING_URL: serverUrl,
  SWITCHYARD_VLLM_RERANK_URL: serverUrl,
  SWITCHYARD_VLLM_API_KEY: z.string().optional(),
  /** What a token of these models costs; they run on machines of one's own. */
  SWITCHYARD_DISCOVERED_INPUT_TOKEN_PRICE: dollarsPerToken,
  SWITCHYARD_DISCOVERED_OUTPUT_TOKEN_PRICE: dollarsPerToken,
});
export type Config = z.infer<typeof config>;

/** Credentials of upstreams, by the variable that the catalog names. */
export function secretOf(settings: Config, name: string): string | undefined {
  const value = settings[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}
