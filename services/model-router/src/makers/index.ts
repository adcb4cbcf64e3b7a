// What other services use of the makers: the video worker calls the same ones, by jobs.
export type { MakerDeclaration, Models, ProviderSettings } from './ai-sdk/declaration.ts';
export { type Said, saidBy } from './ai-sdk/errors.ts';
export { providerFetch, rawMembers } from './ai-sdk/provider-fetch.ts';
export type { Maker } from './maker.ts';
export { AI_SDK_MAKERS, createMakers, makersAgent } from './registry.ts';
