import { decisionsResult } from '@switchyard/contracts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createLocalModels } from '../local-models.ts';
import { longestTurn, threadMs } from '../test-longest-turn.ts';
import { comparisonIn, numbersIn } from './numbers.ts';

interface DecisionAnswer {
  type: string;
  probability: number;
  choice: string;
  score: number;
  probabilities: Record<string, number>;
}

const bodyOf = (state: unknown, questions: unknown) =>
  Buffer.from(JSON.stringify({ model: 'local/decide', state, questions }));

const decide = (state: unknown, questions: unknown) => answerTo(bodyOf(state, questions));

async function answerTo(body: Buffer) {
  const answer = await createLocalModels({ now: () => 0 }).answer({
    type: 'decision',
    model: 'decide',
    body,
    stream: false,
    signal: new AbortController().signal,
  });
  const parts: Uint8Array[] = [];
  for await (const part of answer.body) parts.push(part);
  return { status: answer.status, ...JSON.parse(Buffer.concat(parts).toString()) };
}

async function ask(state: unknown, question: Record<string, unknown>): Promise<DecisionAnswer> {
  const { answers, error } = await decide(state, { q: question });
  expect(error).toBeUndefined();
  return answers.q;
}

async function isTrue(state: unknown, instructions: string, more: object = {}): Promise<number> {
  return (await ask(state, { type: 'boolean', instructions, ...more })).probability;
}

const ORDER = {
  order: { amount: 120, currency: 'EUR', items: 3, status: 'shipped', gift: false, isPaid: true },
};

it('reads the beginning of a long description, and does not keep other calls waiting', async () => {
  const items = Array.from({ length: 1_000 }, (_, index) => `a${index}`);
  const description = Array.from({ length: 60_000 }, (_, index) => `word${index}`).join(' ');
  const options = [
    { name: 'short', description: 'items' },
    { name: 'long', description: `items ${description}` },
  ];
  const question = { type: 'choice', instructions: 'What is it?', options };
  expect(await longestTurn(() => ask({ items }, question))).toBeLessThan(1_000);
});

it('compares many options with many numbers without blocking other calls', async () => {
  const state = Array(1_600).fill('1 2 3 4 5 6 7 8 9 10 11 12.').join('\n');
  const options = Array.from({ length: 30 }, (_, option) => {
    const words = Array.from({ length: 300 }, (_, word) => `w${option}x${word}`).join(' ');
    return { name: `over 12 ${words}`, description: `over 12 ${words}` };
  });
  const instructions = Array.from({ length: 300 }, (_, word) => `q${word}`).join(' ');
  expect(await longestTurn(() => ask(state, { type: 'choice', instructions, options }))).toBeLessThan(250);
});

it('reads the first of 500,000 values without blocking other calls for long', async () => {
  const state = Object.fromEntries(Array.from({ length: 500_000 }, (_, n) => [`amount ${n}`, n]));
  const body = bodyOf(state, { q: { type: 'boolean', instructions: 'Is amount 4 over 3?' } });
  let answer: Awaited<ReturnType<typeof answerTo>> | undefined;
  const turn = await longestTurn(async () => {
    answer = await answerTo(body);
  });
  expect(answer?.answers.q.probability).toBeGreaterThan(0.9);
  expect(turn).toBeLessThan(1_200); // JSON.parse alone takes a third of it
});

it('reads the beginning of long keys without blocking other calls', async () => {
  const key = Array.from({ length: 10_000 }, (_, word) => `w${word}`).join(' ');
  const state = { [`amount ${key}`]: { [key]: Array(1_900).fill('a word'), amount: 120 } };
  const question = { type: 'boolean', instructions: 'Is the amount over 100?' };
  let probability = 0;
  const turn = await longestTurn(async () => {
    ({ probability } = await ask(state, question));
  });
  expect(turn).toBeLessThan(250);
  expect(probability).toBeGreaterThan(0.9);
});

describe('a boolean question', () => {
  it.each([
    [ORDER, 'Is the amount over 100?', true],
    [ORDER, 'Is the amount over 200?', false],
    [ORDER, 'Is the amount at least 120?', true],
    [ORDER, 'Is the amount not over 100?', false],
    [ORDER, 'Is the amount no more than 120?', true],
    [ORDER, 'Does the order have fewer than 5 items?', true],
    [ORDER, 'Is the amount between 100 and 150?', true],
    [ORDER, 'Is the order paid?', true],
    [ORDER, 'Is it a gift?', false],
    [ORDER, 'Is it not a gift?', true],
    [ORDER, 'Is the status shipped?', true],
    [ORDER, 'Is the status cancelled?', false],
    ['The invoice total is $2,500.', 'Is the total above 1k?', true],
    ['The customer is 17 years old.', 'Is the customer at least 18?', false],
    ['The printer does not work. I tried everything.', 'Does the printer work?', false],
    ['The printer works again.', 'Does the printer work?', true],
    ['I am furious. This is the worst service ever.', 'Is the customer angry?', true],
    ['Thank you, great service!', 'Is the customer happy?', true],
    ['The food was not good.', 'Is the customer happy?', false],
    ['status: open\npriority: high', 'Is the priority high?', true],
    ['Our office is in Oslo.', 'Does the text mention a refund?', false],
  ])('of %j: %s %s', async (state, instructions, expected) => {
    const probability = await isTrue(state, instructions);
    if (expected) expect(probability).toBeGreaterThan(0.6);
    else expect(probability).toBeLessThan(0.4);
  });

  it('is surer of a number or a field than of words', async () => {
    expect(await isTrue(ORDER, 'Is the amount over 100?')).toBeGreaterThan(0.95);
    expect(await isTrue('The printer works again.', 'Does the printer work?')).toBeLessThan(0.95);
  });

  it('goes by its criteria where it has them', async () => {
    const criteria = { true: 'The message asks for a refund', false: 'The message asks for a delivery date' };
    const about = 'Is this for the finance team?';
    expect(await isTrue('I want a refund for my order', about, { criteria })).toBeGreaterThan(0.6);
    expect(await isTrue('Please tell me the delivery date', about, { criteria })).toBeLessThan(0.4);
  });
});

describe('a choice', () => {
  const criteria = {
    billing: 'Invoices, payments and refunds',
    technical: 'Errors, crashes and login problems',
    shipping: 'Delivery and tracking of parcels',
  };

  it.each([
    ['I was charged twice on my last invoice.', 'billing'],
    ['The app crashes with an error at login.', 'technical'],
    ['My parcel has not arrived, the tracking says delivered.', 'shipping'],
  ])('sorts %j as %s', async (state, expected) => {
    const answer = await ask(state, { type: 'choice', instructions: 'Which team?', criteria });
    expect(answer.choice).toBe(expected);
    expect(answer.probability).toBe(answer.probabilities[expected]);
    expect(answer.probability).toBeGreaterThan(0.5);
  });

  it('takes a list of choices, of names or of objects', async () => {
    const question = { type: 'choice', instructions: 'What is the sentiment?' };
    const names = ['positive', 'negative'];
    expect((await ask('I love it', { ...question, choices: names })).choice).toBe('positive');
    const objects = names.map((name) => ({ name, description: `a ${name} message` }));
    expect((await ask('I hate it', { ...question, criteria: objects })).choice).toBe('negative');
    expect(
      (await ask({ color: 'blue' }, { ...question, instructions: 'Which color?', choices: ['red', 'blue'] }))
        .choice,
    ).toBe('blue');
  });

  it('picks the range that the number is in', async () => {
    const bands = {
      small: 'amount under 100',
      medium: 'amount between 100 and 500',
      large: 'amount over 500',
    };
    const choose = async (amount: number) =>
      (
        await ask(
          { amount },
          { type: 'choice', instructions: 'Which band is the amount in?', criteria: bands },
        )
      ).choice;
    expect([await choose(20), await choose(300), await choose(900)]).toEqual(['small', 'medium', 'large']);
  });

  it('is undecided between options without evidence', async () => {
    const answer = await ask('Hello there', {
      type: 'choice',
      instructions: 'Which?',
      choices: ['xylophone', 'zeppelin'],
    });
    expect(answer.probability).toBe(0.5);
  });
});

describe('a score', () => {
  const criteria = ['calm and polite', 'slightly annoyed', 'very angry and furious'];

  it('is the expected level of those it is given, low to high', async () => {
    const question = { type: 'score', instructions: 'How angry is the customer?', criteria };
    const calm = await ask('A calm and polite request for information.', question);
    const angry = await ask('I am furious and very angry about this outrageous bill!', question);
    expect(calm.score).toBeLessThan(0.8);
    expect(angry.score).toBeGreaterThan(1.5);
    const expected = Object.entries(angry.probabilities).reduce(
      (sum, [level, p]) => sum + Number(level) * p,
      0,
    );
    expect(angry.score).toBeCloseTo(expected, 4);
    expect(angry.probability).toBe(Math.max(...Object.values(angry.probabilities)));
  });

  it('rises along a scale whose levels say nothing, given or not', async () => {
    for (const more of [{ criteria: ['1', '2', '3', '4', '5'] }, {}]) {
      const question = { type: 'score', instructions: 'How urgent is it?', ...more };
      const low = await ask('No problem at all, whenever you have time.', question);
      const high = await ask('URGENT: outage, the shop is down, fix it immediately!', question);
      expect(Object.keys(high.probabilities)).toEqual(['0', '1', '2', '3', '4']);
      expect(high.score).toBeGreaterThan(low.score + 1);
    }
  });
});

describe('local/decide', () => {
  it('refuses what cannot be decided, and answers the rest', async () => {
    const { answers } = await decide('The sky is blue.', {
      empty: { type: 'choice', instructions: 'Which one?' },
      wordless: { type: 'boolean', instructions: '???' },
      sky: { type: 'boolean', instructions: 'Is the sky blue?' },
    });
    expect(answers.empty).toEqual({ type: 'refusal', probability: 0 });
    expect(answers.wordless).toEqual({ type: 'refusal', probability: 0 });
    expect(answers.sky.probability).toBeGreaterThan(0.8);
    expect((await ask({}, { type: 'boolean', instructions: 'Is it raining?' })).type).toBe('refusal');
  });

  it('answers 300 questions about a long state at once, each of them', async () => {
    const state = { letter: 'The parcel arrived late. The box was damaged. '.repeat(200), amount: 50 };
    const questions = Object.fromEntries(
      Array.from({ length: 300 }, (_, index) => [
        `q${index}`,
        { type: 'boolean', instructions: `Is the amount over ${index}?` },
      ]),
    );
    const startedAt = threadMs();
    const answer = await decide(state, questions);
    expect(threadMs() - startedAt).toBeLessThan(15_000);
    expect(Object.keys(answer.answers)).toEqual(Object.keys(questions));
    for (const [index, { probability }] of (Object.values(answer.answers) as DecisionAnswer[]).entries())
      expect(probability > 0.5).toBe(50 > index);
  });

  it('answers in the shape of the contract, with tokens counted, whatever the state', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(fc.string(), fc.lorem(), fc.dictionary(fc.string(), fc.jsonValue())),
        async (state) => {
          const answer = await decide(state, {
            a: { type: 'boolean', instructions: 'Is the total over 10?' },
            b: { type: 'choice', instructions: 'Which?', choices: ['lorem', 'ipsum', '7'] },
            c: { type: 'score', instructions: 'How urgent?', criteria: ['low', 'high'] },
          });
          const { answers } = decisionsResult.parse({ ...answer, usage: { ...answer.usage, cost: 0 } });
          expect(Object.keys(answers)).toEqual(['a', 'b', 'c']);
          expect(answer.usage.inputTokens).toBeGreaterThan(0);
          expect(answer.usage.outputTokens).toBeGreaterThan(0);
        },
      ),
      { numRuns: 100 },
    );
  });

  it('names the question that it cannot read', async () => {
    const { status, error } = await decide('x', { q: { type: 'choice', instructions: 'x', choices: 7 } });
    expect(status).toBe(400);
    expect(error.param).toMatch(/^questions\.q/);
  });
});

describe('a state that is made to be slow to read', () => {
  /** The square of such a run's length takes half a minute. */
  const MS_MAX = 10_000;
  const RUN = ' '.repeat(50_000);

  it.each([
    ['text', `${RUN}x`],
    ['tabs', `x${'\t'.repeat(49_000)}x`],
    ['a value of JSON', { note: `${RUN}x` }],
    ['many values of JSON', { notes: Array.from({ length: 20 }, () => `x${RUN}x`) }],
    ['a name in JSON', { [`x${RUN}x`]: 1 }],
  ])('is read in linear time: blanks in %s', async (_, state) => {
    const startedAt = threadMs();
    const { status } = await decide(state, { q: { type: 'boolean', instructions: 'Is it done?' } });
    expect(status).toBe(200);
    expect(threadMs() - startedAt).toBeLessThan(MS_MAX);
  });
});

describe('numbers', () => {
  it('are read with separators, signs and words', () => {
    expect(numbersIn('$1,250.50 and -3, 2k or 5 million; v2 is none')).toEqual([
      1250.5, -3, 2_000, 5_000_000,
    ]);
  });

  it.each([
    ['more than 5', [6], [5]],
    ['at least 5', [5], [4]],
    ['<= 5', [5], [6]],
    ['exactly 5', [5], [6]],
    ['from 5 to 7', [5, 7], [4, 8]],
  ])('are compared: %s', (text, holding, failing) => {
    const comparison = comparisonIn(text);
    for (const value of holding) expect(comparison?.holds(value)).toBe(true);
    for (const value of failing) expect(comparison?.holds(value)).toBe(false);
  });
});
