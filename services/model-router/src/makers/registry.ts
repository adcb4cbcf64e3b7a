// Every maker that the catalog may name as an `adapter`: one list. An adapter that goes through the AI SDK has its
// declaration in a folder of its own; ../../../../docs/adding-a-maker.md says how to add one.
import { createEgress, type Egress } from '@switchyard/egress';
import { Agent } from 'undici';
import { aiSdkMaker } from './ai-sdk/ai-sdk-maker.ts';
import type { MakerDeclaration } from './ai-sdk/declaration.ts';
import { anthropic } from './anthropic/index.ts';
import { blackForestLabs } from './black-forest-labs/index.ts';
import { cohere } from './cohere/index.ts';
import { deepgram } from './deepgram/index.ts';
import { elevenlabs } from './elevenlabs/index.ts';
import { fal } from './fal/index.ts';
import { google } from './google/index.ts';
import { localModels } from './local.ts';
import { luma } from './luma/index.ts';
import type { Maker } from './maker.ts';
import { mistral } from './mistral/index.ts';
import { openai } from './openai/index.ts';
import { openAiCompatible } from './openai-compatible.ts';
import { replicate } from './replicate/index.ts';
import { voyage } from './voyage/index.ts';
import { xai } from './xai/index.ts';

/** Makers that are called through their AI SDK provider package. */
export const AI_SDK_MAKERS: readonly MakerDeclaration[] = [
  openai,
  anthropic,
  google,
  mistral,
  xai,
  cohere,
  voyage,
  elevenlabs,
  deepgram,
  blackForestLabs,
  fal,
  replicate,
  luma,
];

const CONNECTIONS_PER_MAKER_MAX = 256;
const CONNECT_TIMEOUT_MS = 5_000;
const KEEP_ALIVE_MS = 60_000;

export interface MakersOptions {
  /** Reads an upstream's credentials by the name of their variable. */
  secret(name: string): string | undefined;
  /** Milliseconds since the epoch. */
  now(): number;
  /** For files that callers name by URL; default: one that reaches public addresses only. */
  egress?: Egress;
}

export interface Makers {
  readonly byName: Readonly<Record<string, Maker>>;
  close(): Promise<void>;
}

export function createMakers({ secret, now, egress = createEgress() }: MakersOptions): Makers {
  const openAi = openAiCompatible({ secret, now });
  const dispatcher = makersAgent();
  const aiSdk = AI_SDK_MAKERS.map(
    (one) => [one.name, aiSdkMaker(one, { secret, dispatcher, egress, now })] as const,
  );
  return {
    byName: { 'openai-compatible': openAi, local: localModels(now), ...Object.fromEntries(aiSdk) },
    async close() {
      await openAi.close();
      await dispatcher.destroy();
    },
  };
}

/** Connections to makers, for one process: without clocks of their own, since every attempt has its own. */
export function makersAgent(): Agent {
  return new Agent({
    connections: CONNECTIONS_PER_MAKER_MAX,
    pipelining: 1,
    connect: { timeout: CONNECT_TIMEOUT_MS },
    keepAliveTimeout: KEEP_ALIVE_MS,
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}
