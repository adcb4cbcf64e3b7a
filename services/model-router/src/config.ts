// Settings of the router. Only this module reads the environment, including the makers' credentials.
import { egressConfig } from '@switchyard/egress';
import { byteBudgetConfig, commonConfig, providersConfig } from '@switchyard/service';
import { z } from 'zod';
import { catalogConfig } from './catalog/catalog-config.ts';

const serverUrl = z.url({ protocol: /^https?$/ }).optional();
const dollarsPerToken = z
  .string()
  .regex(/^\d{1,12}(\.\d{1,18})?$/, 'dollars as a plain decimal number')
  .default('0');

export const config = z.looseObject({
  ...commonConfig,
  ...catalogConfig,
  ...byteBudgetConfig,
  ...egressConfig,
  ...providersConfig,
  /** Seconds for a whole call with all attempts and waits; less than the ten minutes after which clients give up. */
  SWITCHYARD_CALL_TIMEOUT_SECONDS: z.coerce.number().min(0.1).max(570).default(570),
  /** URL of an Ollama whose models are served as `ollama/<name>`. */
  SWITCHYARD_OLLAMA_URL: serverUrl,
  SWITCHYARD_OLLAMA_API_KEY: z.string().optional(),
  /** URLs of vLLM servers whose models are served as `vllm/<name>`; one server serves one type of model. */
  SWITCHYARD_VLLM_URL: serverUrl,
  SWITCHYARD_VLLM_EMBEDDING_URL: serverUrl,
  SWITCHYARD_VLLM_RERANK_URL: serverUrl,
  SWITCHYARD_VLLM_API_KEY: z.string().optional(),
  /** Price per token of these models, which run on the operator's machines. */
  SWITCHYARD_DISCOVERED_INPUT_TOKEN_PRICE: dollarsPerToken,
  SWITCHYARD_DISCOVERED_OUTPUT_TOKEN_PRICE: dollarsPerToken,
});
export type Config = z.infer<typeof config>;
