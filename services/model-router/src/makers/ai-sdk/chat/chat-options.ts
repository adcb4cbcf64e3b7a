// In what the chat of a maker with a provider package differs from that of others.
import type { JSONObject, LanguageModelV4FinishReason } from '@ai-sdk/provider';

export interface ChatOptions {
  /**
   * OpenAI fields that the maker's own body has with the same name and shape. They are sent unchanged, and the maker
   * validates them.
   */
  readonly onWire?: readonly string[];
  /** The fewest output tokens that the maker takes as a limit. */
  readonly outputTokensMin?: number;
  /** Members of the maker's own body that callers may not set, and what to do instead. */
  readonly refused?: { readonly [member: string]: string };
  /** Fields for which the provider package has its own option, instead of or beside the AI SDK's setting. */
  readonly options?: { readonly [field: string]: (value: unknown) => JSONObject };
  /** Options of the provider package, unless the caller's fields say otherwise. */
  readonly defaults?: JSONObject;
  /** The provider package adds tokens for thinking to the limit of output tokens (chat/limit-thinking.ts). */
  readonly addedThinking?: {
    /** The tokens that it adds, from the body that it would send; null: none. */
    tokensIn(body: unknown): number | null;
    /** The fewest that the maker accepts. */
    readonly tokensMin: number;
    /** Its option for a number of tokens. */
    optionFor(tokens: number): JSONObject;
  };
  /** The maker has system messages only before all others; later ones are sent as text of the user. */
  readonly systemFirst?: boolean;
  /** The maker accepts the name of a message's author (`name`). */
  readonly messageNames?: boolean;
  /** The maker fetches images from any URL, although its provider package does not declare it. */
  readonly imageUrls?: boolean;
  /** The provider package's option for OpenAI's `image_url.detail`. */
  readonly imageDetail?: string;
  /** The maker accepts cache marks on parts (`cache_control`). */
  readonly cacheControl?: boolean;
  /** Reads the finish reason from the body when it is more precise than the provider package's. */
  readonly finishOf?: (body: unknown) => LanguageModelV4FinishReason | undefined;
  /** Of the tokens written to the maker's cache, those kept for an hour. */
  readonly cacheWrites1h?: (usage: JSONObject) => number;
  /** Of the input tokens, those of sound, and those of them that were read from the maker's cache. */
  readonly audioTokens?: (usage: JSONObject) => { input: number; cached: number };
  /** The tokens that the maker charges, if they differ from its token counts. */
  readonly billedTokens?: (usage: JSONObject) => { input?: number; output?: number } | undefined;
}
