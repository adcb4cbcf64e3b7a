// Finds request members that select or price the work (priced-groups.ts). A maker must not receive any of them beyond
// the fields that the price is computed from, neither in `provider_options` nor in further fields of the body.
// It is checked before anything is held or sent.
import {
  type CatalogModel,
  chatCompletionRequest,
  decisionsRequest,
  embeddingsRequest,
  imagesRequest,
  type ModelType,
  rerankRequest,
  ServiceError,
  speechRequest,
  transcriptionFields,
  videosRequest,
} from '@switchyard/contracts';
import { topLevelMembers } from '../json/json-members.ts';
import { CONTAINERS, PRICED_GROUPS, type PricedGroup } from './priced-groups.ts';

const CONTAINER_NAMES: ReadonlySet<string> = new Set(CONTAINERS.map(folded));
const CONTAINER_DEPTH_MAX = 4;
/** Characters of a name. Folding may make a name 18 times longer, and errors repeat it. */
const NAME_LENGTH_MAX = 256;
/** Characters of a longer name that its error shows. */
const NAME_LENGTH_SHOWN = 64;

/** The fields of each endpoint's schema: the price is computed from them, or does not depend on them. */
const OWN_FIELDS: Readonly<Record<ModelType, ReadonlySet<string>>> = {
  language: namesOf(chatCompletionRequest.shape),
  embedding: namesOf(embeddingsRequest.shape),
  // `quality` is OpenAI's own field of the endpoint, which callers may set (the interface passes it on).
  image: namesOf({ ...imagesRequest.shape, quality: null }),
  video: namesOf(videosRequest.shape),
  speech: namesOf(speechRequest.shape),
  transcription: namesOf(transcriptionFields.shape),
  decision: namesOf(decisionsRequest.shape),
  rerank: namesOf(rerankRequest.shape),
};

/** Type -> folded name -> its group. Built once: every call is searched. */
const GROUPS_BY_TYPE = Object.fromEntries(
  Object.keys(OWN_FIELDS).map((type): [string, ReadonlyMap<string, PricedGroup>] => {
    const groups = PRICED_GROUPS.filter(({ types }) => types?.includes(type as ModelType) ?? true);
    return [type, new Map(groups.flatMap((group) => group.names.map((name) => [folded(name), group])))];
  }),
) as Record<ModelType, ReadonlyMap<string, PricedGroup>>;

/** A member that selects or prices the work. */
interface PricedMember {
  /** Path of the member: `provider_options.generationConfig.candidateCount`. */
  param: string;
  group: PricedGroup;
}

/** The priced members of a body, found once and checked for each model that may serve it. */
export class PricedMembers {
  readonly #found: readonly PricedMember[];

  /**
   * @param body a JSON object
   * @throws ServiceError `invalid_request` for too long names, and for containers that are repeated or nested too deep
   */
  constructor(type: ModelType, body: Buffer) {
    const own = OWN_FIELDS[type];
    const search: Search = { byName: GROUPS_BY_TYPE[type], elements: 0 };
    this.#found = [...topLevelMembers(body)].flatMap(([name, { valueStart, valueEnd }]) => {
      const value = body.subarray(valueStart, valueEnd);
      if (name === 'provider_options') return membersIn(value, name, search, 0);
      if (own.has(name) || NOTHING.some((one) => value.equals(one))) return [];
      requireShort(name, '');
      return judged(name, value, name, search, 0);
    });
  }

  /** Why the model cannot serve the body at its price; null when it can. */
  refusalOf({ pricing }: CatalogModel): ServiceError | null {
    const found = this.#found.find(({ group }) => !group.perImageOnly || pricing.image !== undefined);
    if (!found) return null;
    const { param, group } = found;
    return refuse(param, `changes the price and cannot be set here. ${group.advice}`);
  }
}

const NULL = Buffer.from('null');
/** Values that ask for nothing. */
const NOTHING: readonly Buffer[] = [NULL, Buffer.from('false')];
/** Elements of container lists that are searched in one body. */
const CONTAINER_ELEMENTS_MAX = 1_000;

/** One search through a body. */
interface Search {
  readonly byName: ReadonlyMap<string, PricedGroup>;
  /** Elements of container lists that were searched. */
  elements: number;
}
const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;

function membersIn(object: Buffer, at: string, search: Search, depth: number): PricedMember[] {
  if (object[0] !== OPEN_BRACE) return [];
  return [...topLevelMembers(object)].flatMap(([name, { valueStart, valueEnd, repeated }]) => {
    requireShort(name, `${at}.`);
    const param = `${at}.${name}`;
    // A reader that takes the first of two keys would read members that were not checked.
    if (repeated && CONTAINER_NAMES.has(folded(name))) throw refuse(param, 'occurs twice. Send it once.');
    const value = object.subarray(valueStart, valueEnd);
    if (!repeated && NOTHING.some((one) => value.equals(one))) return [];
    return judged(name, value, param, search, depth);
  });
}

function judged(name: string, value: Buffer, param: string, search: Search, depth: number): PricedMember[] {
  const group = search.byName.get(folded(name));
  if (
    group &&
    isWithin(param, group) &&
    !group.allowed?.some((one) => value.equals(Buffer.from(JSON.stringify(one))))
  )
    return [{ param, group }];
  if (!CONTAINER_NAMES.has(folded(name))) return [];
  if (depth >= CONTAINER_DEPTH_MAX)
    throw refuse(param, `is nested deeper than ${CONTAINER_DEPTH_MAX} levels. Flatten it.`);
  if (value[0] !== OPEN_BRACKET) return membersIn(value, param, search, depth + 1);
  const elements = JSON.parse(value.toString('utf8')) as unknown[];
  search.elements += elements.length;
  if (search.elements > CONTAINER_ELEMENTS_MAX)
    throw refuse(param, `has too many elements. Send at most ${CONTAINER_ELEMENTS_MAX}.`);
  return elements.flatMap((one, index) =>
    membersIn(Buffer.from(JSON.stringify(one)), `${param}.${index}`, search, depth + 1),
  );
}

function isWithin(param: string, { within }: PricedGroup): boolean {
  return within === undefined || folded(param.split('.').at(-2) ?? '') === folded(within);
}

function requireShort(name: string, path: string): void {
  if (name.length > NAME_LENGTH_MAX)
    throw refuse(`${path}${name.slice(0, NAME_LENGTH_SHOWN)}…`, 'has too long a name. Shorten it.');
}

/** Makers read snake case or camel case, forms add `[]`, and some JSON readers ignore case and width. */
function folded(name: string): string {
  return name
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, '');
}

function namesOf(shape: object): ReadonlySet<string> {
  return new Set(Object.keys(shape));
}

function refuse(param: string, what: string): ServiceError {
  return new ServiceError('invalid_request', `${param} ${what}`, { param });
}
