// Every dialect besides chat.
import type { Dialect } from '@switchyard/contracts';
import { translateCompletion } from './completions/translate.ts';
import type { Translate } from './dialect.ts';

export const TRANSLATIONS: Readonly<Partial<Record<Dialect, Translate>>> = {
  completions: translateCompletion,
};
