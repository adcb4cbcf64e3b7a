// How a maker treats the caller's fields of one type, beyond the AI SDK's interface. The AI SDK reports an ignored
// setting only with the paid answer, so unsupported fields are declared here and refused before anything is sent.
import type { JSONObject } from '@ai-sdk/provider';
import type { WordsOfAnswer } from './transcribe.ts';
import { NOT_SUPPORTED, type TranslationRequest, UnsupportedField } from './translation.ts';

/** Members for the maker's body, made of one field's value. */
type SentAs = string | ((value: unknown) => Readonly<Record<string, unknown>>);

export interface FieldRules {
  /** Fields that the maker does not support, with the reason for the caller. */
  readonly refused?: Readonly<Record<string, string>>;
  /** Fields sent to the maker past the AI SDK, under the maker's own name or converted by a function. */
  readonly sent?: Readonly<Record<string, SentAs>>;
  /** The maker's names for the values of a field; other values are unsupported. */
  readonly values?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Default values of fields. */
  readonly defaults?: Readonly<Record<string, unknown>>;
  /** Members of the maker's body, unless the caller's `provider_options` set them. */
  readonly unlessSaid?: Readonly<Record<string, unknown>>;
  /** Such members for requests without a certain field. */
  readonly without?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** The AI SDK's own `providerOptions`, for its client-side behaviour, e.g. polling times. */
  readonly options?: Readonly<Record<string, JSONObject>>;
  /** Inputs per call when the AI SDK does not know the limit; a larger request is split. */
  readonly perCall?: number;
  /** For transcriptions: the words, which the AI SDK drops or treats as segments. */
  readonly words?: WordsOfAnswer;
}

export interface FieldsOfType {
  /** Fields that the translation reads itself. */
  readonly read: readonly string[];
  /** Fields known from OpenAI's and Cohere's APIs; a maker must support them explicitly. */
  readonly known: readonly string[];
}

/** The fields of a body that the edge has checked; null counts as not given. */
export type Given<Body> = { readonly [Name in keyof Body]: Exclude<Body[Name], null> };

/** Fields that do not change the answer. */
const WITHOUT_EFFECT: readonly string[] = [
  'user',
  'safety_identifier',
  'metadata',
  'stream',
  'stream_options',
];

/**
 * The fields for the translation, in the maker's terms. Other supported fields are put on the wire, and so are unknown
 * fields, which are between the caller and the maker.
 * @throws UnsupportedField for a field that the maker does not support.
 */
export function fieldsFor<Body>(request: TranslationRequest, { read, known }: FieldsOfType): Given<Body> {
  const { rules, maker } = request;
  const fields: Record<string, unknown> = {};
  for (const [name, value] of Object.entries({ ...rules.defaults, ...given(request.body) })) {
    const refused = rules.refused?.[name];
    if (refused !== undefined) throw new UnsupportedField(name, `${maker} ${refused}`);
    const own = ownValue(request, name, value);
    const sent = rules.sent?.[name];
    if (sent !== undefined) putAs(request, sent, own);
    else if (read.includes(name)) fields[name] = own;
    else if (WITHOUT_EFFECT.includes(name)) continue;
    else if (known.includes(name)) throw new UnsupportedField(name, NOT_SUPPORTED);
    else request.passOn(name);
  }
  putAll(request, rules.unlessSaid);
  for (const [name, members] of Object.entries(rules.without ?? {}))
    if (request.body[name] === undefined || request.body[name] === null) putAll(request, members);
  return fields as Given<Body>;
}

/** Drops null fields, which count as not given. */
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
    throw new UnsupportedField(name, `${maker} supports only ${Object.keys(values).join(', ')}.`);
  return own;
}

function putAs(request: TranslationRequest, sent: SentAs, value: unknown): void {
  if (typeof sent === 'string') request.put(sent, value);
  else putAll(request, sent(value));
}

function putAll({ put }: TranslationRequest, members: Readonly<Record<string, unknown>> | undefined): void {
  for (const [name, value] of Object.entries(members ?? {})) put(name, value);
}
