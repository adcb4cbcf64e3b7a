// The maker to copy for an API of its own: docs/adding-a-maker.md. It does not exist, so makers.ts has no line for it.
import type { MakerDeclaration } from '../ai-sdk/declaration.ts';
import { exampleChat } from './chat-model.ts';

export const example: MakerDeclaration = {
  /** `adapter` in the catalog. */
  name: 'example',
  types: ['language'],
  baseUrl: 'https://api.example.com/v1',
  /** The variable of the maker's own documentation. */
  apiKeyEnv: 'EXAMPLE_API_KEY',
  /** The maker's names for what the price depends on, each with ours: `provider_options` may not set them. */
  priced: { cap: 'max_tokens' },
  async create(settings) {
    return { language: (id) => exampleChat(settings, id) };
  },
};
