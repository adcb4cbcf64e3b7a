// Every dialect besides chat.
import type { Dialect } from '@switchyard/contracts';
import { translateCompletion } from './completions/translate.ts';
import type { Translate } from './dialect.ts';
import { translateMessages } from './messages/translate.ts';
import { translateResponse } from './responses/translate.ts';

export const TRANSLATIONS: Readonly<Partial<Record<Dialect, Translate>>> = {
  responses: translateResponse,
  completions: translateCompletion,
  messages: translateMessages,
};
