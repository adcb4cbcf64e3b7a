// The name of a provider in /v1/providers. A provider is one key: the variable that holds it in the environment.
import { AI_SDK_MAKERS } from '../makers/registry.ts';

const OF_MAKERS = new Map(AI_SDK_MAKERS.map(({ name, apiKeyEnv }) => [apiKeyEnv, name]));
const MAKERS = new Set(OF_MAKERS.values());
const SUFFIX = /-api-key$/;

/**
 * `ANTHROPIC_API_KEY` is `anthropic`, `ACME_API_KEY` is `acme`. The name of a maker never stands for another variable,
 * so that its key is sent nowhere else: `FAL_API_KEY` is `fal-api-key`.
 */
export function providerIdOf(variable: string): string {
  const name = OF_MAKERS.get(variable);
  if (name !== undefined) return name;
  const whole = variable.toLowerCase().replaceAll('_', '-');
  const short = whole.replace(SUFFIX, '');
  return MAKERS.has(short) ? whole : short;
}

/** The variables of all makers with an adapter of their own. */
export function makersVariables(): string[] {
  return [...OF_MAKERS.keys()];
}
