// What a maker makes of the caller's fields of one type, beyond what the AI SDK's interface carries. The AI SDK tells of
// a setting that it left out only with the answer, when it is paid for: what a maker cannot serve is declared, and
// refused before anything is sent.
import type { JSONObject } from '@ai-sdk/provider';
import type { WordsOfAnswer } from './transcribe.ts';
import { type TranslationRequest, UnsupportedField } from './translation.ts';

/** Members for the maker's body, made of one field's value. */
export type SentAs = string | ((value: unknown) => Readonly<Record<string, unknown>>);

export interface FieldRules {
  /** Fields that the maker cannot serve, with the reason that the caller is told. */
  readonly refused?: Readonly<Record<string, string>>;
  /** Fields that go into the maker's body past the AI SDK, under the maker's own name or as what a function makes of them. */
  readonly sent?: Readonly<Record<string, SentAs>>;
  /** The maker's own words for the values of a field; a value that is not among them cannot be served. */
  readonly values?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Values of fields that the caller does not give. */
  readonly defaults?: Readonly<Record<string, unknown>>;
  /** Members of the maker's body, unless the caller's `provider_options` have them. */
  readonly unlessSaid?: Readonly<Record<string, unknown>>;
  /** Such members where the caller does not give a field. */
  readonly without?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** The AI SDK's own `providerOptions`, for what it does by itself: how long it asks for a result. */
  readonly options?: Readonly<Record<string, JSONObject>>;
  /** Inputs of one call, where the AI SDK does not know it: a larger request is made in several. */
  readonly perCall?: number;
  /** Of a transcription: its words, which the AI SDK drops or takes for segments. */
  readonly words?: WordsOfAnswer;
}

export interface FieldsOfType {
  /** Fields that the translation reads itself. */
  readonly read: readonly string[];
  /** Fields that callers know from OpenAI's and Cohere's APIs, and that a maker must know to serve them. */
  readonly known: readonly string[];
}

/** Fields that say who asks and how it is filed: no answer is different without them. */
const WITHOUT_EFFECT: readonly string[] = [
  'user',
  'safety_identifier',
  'metadata',
  'stream',
  'stream_options',
];

/**
 * The fields that the translation is to read, as the maker has them. Of the others those that the maker knows go on the
 * wire, and so do those that nobody here knows: they are between the caller and the maker.
 * @throws UnsupportedField for one that the maker cannot serve.
 */
export function fieldsFor(
  request: TranslationRequest,
  { read, known }: FieldsOfType,
): Readonly<Record<string, unknown>> {
  const { rules, maker } = request;
  const fields: Record<string, unknown> = {};
  for (const [name, value] of Object.entries({ ...rules.defaults, ...given(request.body) })) {
    const refused = rules.refused?.[name];
    if (refused !== undefined) throw new UnsupportedField(name, `${name}: ${maker} ${refused}`);
    const own = ownValue(request, name, value);
    const sent = rules.sent?.[name];
    if (sent !== undefined) putAs(request, sent, own);
    else if (read.includes(name)) fields[name] = own;
    else if (WITHOUT_EFFECT.includes(name)) continue;
    else if (known.includes(name)) throw new UnsupportedField(name, `${name}: ${maker} has no such setting`);
    else request.passOn(name);
  }
  putAll(request, rules.unlessSaid);
  for (const [name, members] of Object.entries(rules.without ?? {}))
    if (request.body[name] === undefined || request.body[name] === null) putAll(request, members);
  return fields;
}

/** A field that is null is one that was not given. */
function given(body: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(body).filter(([, value]) => value !== null && value !== undefined),
  );
}

function ownValue({ rules, maker }: TranslationRequest, name: string, value: unknown): unknown {
  const values = rules.values?.[name];
  if (values === undefined || typeof value !== 'string') return value;
  const own = values[value];
  if (own === undefined)
    throw new UnsupportedField(name, `${name}: ${maker} has ${Object.keys(values).join(', ')}`);
  return own;
}

function putAs(request: TranslationRequest, sent: SentAs, value: unknown): void {
  if (typeof sent === 'string') request.put(sent, value);
  else putAll(request, sent(value));
}

function putAll({ put }: TranslationRequest, members: Readonly<Record<string, unknown>> | undefined): void {
  for (const [name, value] of Object.entries(members ?? {})) put(name, value);
}
