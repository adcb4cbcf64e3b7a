// Every dialect besides chat.
import type { Dialect } from '@switchyard/contracts';
import { translateCompletion } from './completions/translate.ts';
import type { Translate } from './dialect.ts';
import { nativeMessages } from './messages/native/index.ts';
import { translateMessages } from './messages/translate.ts';
import type { NativeDialect } from './native-dialect.ts';
import { nativeResponses } from './responses/native/index.ts';
import { translateResponse } from './responses/translate.ts';

export const TRANSLATIONS: Readonly<Partial<Record<Dialect, Translate>>> = {
  responses: translateResponse,
  completions: translateCompletion,
  messages: translateMessages,
};

/** Dialects whose bytes pass through to a maker that speaks them. */
export const NATIVE: Readonly<Partial<Record<Dialect, NativeDialect>>> = {
  messages: nativeMessages,
  responses: nativeResponses,
};
