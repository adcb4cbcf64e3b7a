// Every maker with an adapter of its own, except `example`, which is there to be copied (docs/adding-a-maker.md).
export { anthropic } from './anthropic/index.ts';
export { blackForestLabs } from './black-forest-labs/index.ts';
export { cohere } from './cohere/index.ts';
export { deepgram } from './deepgram/index.ts';
export { elevenlabs } from './elevenlabs/index.ts';
export { fal } from './fal/index.ts';
export { google } from './google/index.ts';
export { mistral } from './mistral/index.ts';
export { openai } from './openai/index.ts';
export { replicate } from './replicate/index.ts';
export { voyage } from './voyage/index.ts';
export { xai } from './xai/index.ts';
