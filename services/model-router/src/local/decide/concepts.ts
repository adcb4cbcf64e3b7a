// Words that stand for a notion which questions ask about without naming it: "is the customer angry?" of "I want my
// money back, this is outrageous". A small lexicon, not knowledge of the world.
import { stem } from '../text/words.ts';

/** Names of the notion -> words that show it. A mood is gone where it is denied; a topic is not. */
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

/** What shows the notion that one of these stems names. */
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
