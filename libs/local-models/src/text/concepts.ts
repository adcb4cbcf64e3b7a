// Words that indicate a concept which a question names differently: "I want my money back, this is outrageous" for "is
// the customer angry?". A small lexicon, not world knowledge.
import { stem } from './words.ts';

/** Names of the concept -> words that indicate it. Negation cancels a mood, but not a topic. */
const MOODS: readonly (readonly [string, string])[] = [
  [
    'angry anger upset furious annoyed frustrated negative dissatisfied unhappy complaint complain',
    'angry furious upset annoyed frustrated outrageous unacceptable terrible awful horrible worst hate disgusting ' +
      'ridiculous disappointed disappointing useless broken complaint rude bad poor never again waste unhappy',
  ],
  [
    'happy positive satisfied pleased glad delighted praise',
    'great excellent love loved wonderful amazing perfect fantastic happy pleased thanks thank good best awesome ' +
      'delighted recommend brilliant nice superb enjoyed satisfied glad',
  ],
  [
    'urgent urgency critical emergency immediate priority',
    'urgent urgently immediately asap emergency critical now deadline hurry quickly outage down blocked today severe',
  ],
];

const TOPICS: readonly (readonly [string, string])[] = [
  [
    'spam scam phishing fraud suspicious',
    'prize winner lottery click free offer claim congratulations viagra bitcoin password wire guaranteed inheritance',
  ],
  [
    'refund refunded reimbursement',
    'refund refunded reimburse reimbursement money-back return returned chargeback',
  ],
  [
    'billing payment invoice charge',
    'invoice billing bill charged charge payment card refund subscription price overcharged receipt paid fee',
  ],
  [
    'technical bug error technology software',
    'error crash crashes crashed bug login password install server timeout broken loading app website code fails failed',
  ],
  [
    'shipping delivery logistics',
    'delivery delivered package parcel shipping shipped courier tracking arrive arrived late lost',
  ],
  ['greeting hello', 'hello hi hey morning greetings'],
  [
    'danger dangerous unsafe risk risky harmful',
    'danger fire smoke weapon explosion toxic leak injured unsafe threat',
  ],
];

export interface Shown {
  /** Stems. */
  words: ReadonlySet<string>;
  canBeDenied: boolean;
}

const SHOWN_BY_NAME: ReadonlyMap<string, Shown> = new Map([
  ...entries(TOPICS, false),
  ...entries(MOODS, true),
]);

const NOTHING: Shown = { words: new Set(), canBeDenied: false };

/** The words that indicate the concept named by one of these stems. */
export function shownBy(stems: readonly string[]): Shown {
  const found = stems.map((one) => SHOWN_BY_NAME.get(one)).filter((shown) => shown !== undefined);
  if (found.length <= 1) return found[0] ?? NOTHING;
  return {
    words: new Set(found.flatMap(({ words }) => [...words])),
    canBeDenied: found.some(({ canBeDenied }) => canBeDenied),
  };
}

function entries(concepts: readonly (readonly [string, string])[], canBeDenied: boolean): [string, Shown][] {
  return concepts.flatMap(([names, shown]) => {
    const words = new Set(shown.split(' ').map(stem));
    return names.split(' ').map((name): [string, Shown] => [stem(name), { words, canBeDenied }]);
  });
}
