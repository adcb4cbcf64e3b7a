// The makers that the catalog may name as an `adapter`, and what it knows of each.
import { MODEL_TYPES, type ModelType } from '@switchyard/contracts';
import type { Egress } from '@switchyard/egress';
import type { Adapter } from '../catalog/catalog.ts';
import { createMakersAgent } from '../http/makers-agent.ts';
import { aiSdkMaker } from './ai-sdk/ai-sdk-maker.ts';
import type { MakerDeclaration } from './ai-sdk/declaration.ts';
import { localModels } from './local.ts';
import type { Maker, MakerDeps } from './maker.ts';
import * as makers from './makers.ts';
import { openAiCompatible } from './openai-compatible.ts';

/** Makers whose models have the interface of the AI SDK, most by its provider packages. */
export const AI_SDK_MAKERS: readonly MakerDeclaration[] = Object.values(makers);

const types = Object.keys(MODEL_TYPES) as ModelType[];

/** What the catalog knows of each adapter. Videos are jobs: videos/registry.ts creates their makers. */
export const ADAPTERS: Readonly<Record<string, Adapter>> = {
  'openai-compatible': { types },
  local: { types },
  ...Object.fromEntries(AI_SDK_MAKERS.map(({ name, types, apiKeyEnv }) => [name, { types, apiKeyEnv }])),
};

interface MakersDeps extends MakerDeps {
  /** Fetches files that callers name by URL. */
  egress: Egress;
}

export interface Makers {
  readonly byName: Readonly<Record<string, Maker>>;
  close(): Promise<void>;
}

export function createMakers({ secret, now, egress }: MakersDeps): Makers {
  const dispatcher = createMakersAgent();
  const deps = { secret, dispatcher, egress, now };
  return {
    byName: {
      'openai-compatible': openAiCompatible(deps),
      local: localModels(now),
      ...Object.fromEntries(AI_SDK_MAKERS.map((one) => [one.name, aiSdkMaker(one, deps)])),
    },
    close: () => dispatcher.destroy(),
  };
}
