// Keeps thinking within the caller's limit of output tokens, which is what a call holds and what OpenAI's field means.
// Some provider packages add the tokens for thinking to the limit instead.
import type { LanguageModelV4 } from '@ai-sdk/provider';
import { UnsupportedField } from '../translation.ts';
import type { ChatOptions } from './chat-options.ts';
import { type ChatSettings, callWithoutNetwork } from './settings.ts';

/** The part of the limit that thinking may take; the rest is for the answer. */
const THINKING_SHARE = 0.5;

interface Target {
  readonly maker: string;
  readonly chatOptions: ChatOptions;
}

/** @throws UnsupportedField when the limit is too small to think */
export async function limitThinking(
  model: LanguageModelV4,
  settings: ChatSettings,
  { maker, chatOptions: { addedThinking } }: Target,
): Promise<ChatSettings> {
  const { maxOutputTokens: most, reasoning } = settings;
  if (!addedThinking || most === undefined || reasoning === undefined) return settings;
  const planned = addedThinking.tokensIn(await bodyWithout(model, settings));
  if (planned === null) return settings;
  const tokens = Math.min(planned, Math.floor(most * THINKING_SHARE));
  if (tokens < addedThinking.tokensMin) {
    const least = Math.ceil(addedThinking.tokensMin / THINKING_SHARE);
    const advice = `Thinking needs at least ${least} output tokens. Raise max_tokens or the budget.`;
    throw new UnsupportedField('reasoning_effort', advice);
  }
  const options = { ...settings.providerOptions?.[maker], ...addedThinking.optionFor(tokens) };
  return {
    ...settings,
    maxOutputTokens: most - tokens,
    providerOptions: { ...settings.providerOptions, [maker]: options },
  };
}

/** The body that the package would send without a limit; nothing is sent. */
async function bodyWithout(model: LanguageModelV4, settings: ChatSettings): Promise<unknown> {
  const { maxOutputTokens: _, ...unlimited } = settings;
  const { stream, request } = await callWithoutNetwork(model, unlimited);
  void stream.cancel().catch(() => {});
  return request?.body;
}
