import { rerankRequest, rerankResult } from '@switchyard/contracts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { threadMs } from '../test-longest-turn.ts';
import { Turns } from '../turns.ts';
import { answerRerank } from './answer-rerank.ts';
import { rankDocuments } from './rank-documents.ts';

/** Questions with the one or two passages that answer them; every question is asked of all the passages. */
const LABELLED: { query: string; relevant: string[] }[] = [
  {
    query: 'How do vaccines work?',
    relevant: [
      'A vaccine trains the immune system to recognise a virus before an infection takes place.',
      'After vaccination the body makes antibodies that stop the germ at once when it comes.',
    ],
  },
  {
    query: 'capital of Australia',
    relevant: ['Canberra was chosen as the capital because Sydney and Melbourne could not agree.'],
  },
  {
    query: 'reset a forgotten password',
    relevant: [
      'If you forgot your password, choose "Reset" on the login page and follow the e-mail.',
      'Administrators may set a temporary password for users who cannot log in.',
    ],
  },
  {
    query: 'why is the sky blue',
    relevant: ['Air scatters the short waves of sunlight most, so the sky looks blue by day.'],
  },
  {
    query: 'best time to plant tomatoes',
    relevant: [
      'Tomato seedlings go into the garden after the last frost, when nights stay above ten degrees.',
      'Planting too early in cold soil holds tomatoes back for weeks.',
    ],
  },
  {
    query: 'refund for a cancelled flight',
    relevant: ['When an airline cancels your flight you may ask for a refund within seven days.'],
  },
  {
    query: 'who painted the Mona Lisa',
    relevant: ['Leonardo da Vinci began to paint the Mona Lisa in Florence about 1503.'],
  },
  {
    query: 'database index makes queries faster',
    relevant: [
      'An index lets the database find rows without reading the whole table, so a query is fast.',
      'Slow queries often want an index on the column they filter by.',
    ],
  },
  {
    query: 'symptoms of dehydration in dogs',
    relevant: ['A dehydrated dog has dry gums, sunken eyes and little energy.'],
  },
  {
    query: 'how are pearls formed inside oysters',
    relevant: ['An oyster coats a grain of sand with layers of nacre until a pearl has formed.'],
  },
];

/** Near misses, which share words with the questions. */
const DISTRACTORS = [
  'The blue whale is the largest animal that ever lived.',
  'Flight recorders are painted orange so that they are found.',
  'Dogs were the first animals to live with people.',
  'The best time to visit Lisbon is in spring.',
  'Australia exports wool, coal and wine.',
  'Work expands to fill the time that is there for it.',
  'Plants form sugar from light and air.',
  'The table in the kitchen seats seven.',
];

const PASSAGES = [...DISTRACTORS, ...LABELLED.flatMap(({ relevant }) => relevant)];

function turns(): Turns {
  return new Turns(new AbortController().signal);
}

/** Normalised discounted cumulative gain: 1 when the relevant ones come first. */
function ndcg(order: string[], relevant: string[]): number {
  const gain = (rank: number) => 1 / Math.log2(rank + 2);
  const got = order.reduce((sum, text, rank) => sum + (relevant.includes(text) ? gain(rank) : 0), 0);
  return got / relevant.reduce((sum, _, rank) => sum + gain(rank), 0);
}

async function meanNdcg(rank: (query: string) => Promise<string[]>): Promise<number> {
  const all = await Promise.all(
    LABELLED.map(async ({ query, relevant }) => ndcg(await rank(query), relevant)),
  );
  return all.reduce((sum, one) => sum + one, 0) / all.length;
}

async function orderOf(query: string, documents: string[]): Promise<string[]> {
  const ranked = await rankDocuments(query, documents, turns());
  return ranked.map(({ index }) => documents[index] as string);
}

/** Words of one length that differ in their last four letters. */
function lookAlike(index: number): string {
  const digits = index.toString(16).padStart(4, '0');
  return `abcdefghijkl${digits.replace(/./g, (digit) => 'ghjkmnpqrtuvwxyz'.charAt(Number.parseInt(digit, 16)))}`;
}

async function rerank(body: Record<string, unknown>) {
  const answer = await answerRerank({
    body: { model: 'local/rerank', ...body },
    stream: false,
    signal: new AbortController().signal,
    now: () => 0,
  });
  const parts: Uint8Array[] = [];
  for await (const part of answer.body) parts.push(part);
  return JSON.parse(Buffer.concat(parts).toString());
}

describe('local/rerank', () => {
  it('ranks a labelled set far better than the order it came in', async () => {
    const asSubmitted = await meanNdcg(async () => PASSAGES);
    const ranked = await meanNdcg((query) => orderOf(query, PASSAGES));
    expect(asSubmitted).toBeLessThan(0.4);
    expect(ranked).toBeGreaterThan(0.85);
  });

  it('puts a rare word above common ones, and the phrase above its scattered words', async () => {
    expect(
      await orderOf('the quokka report', ['the report on the report', 'a report of sales', 'quokka seen']),
    ).toEqual(['quokka seen', 'the report on the report', 'a report of sales']);
    expect(
      (await orderOf('machine learning', ['learning about a machine', 'about machine learning']))[0],
    ).toBe('about machine learning');
  });

  it('finds misspelt words, other forms, other accents and scripts without spaces', async () => {
    const documents = [
      'restaurants in Barcelona',
      'cafés in Málaga',
      '東京の天気は晴れです',
      'trains to Porto',
    ];
    expect((await orderOf('resturant barcalona', documents))[0]).toBe(documents[0]);
    expect((await orderOf('cafe malaga', documents))[0]).toBe(documents[1]);
    expect((await orderOf('天気', documents))[0]).toBe(documents[2]);
    expect((await orderOf('training', documents))[0]).toBe(documents[3]);
  });

  it('matches no number with another', async () => {
    const ranked = await rankDocuments('2024', ['2025', 'in 2024'], turns());
    expect(ranked.map(({ index }) => index)).toEqual([1, 0]);
    expect(ranked[1]?.score).toBe(0);
  });

  it('ranks a query of stop words by them', async () => {
    expect((await orderOf('who are you', ['a list of towns', 'you are who you are']))[0]).toBe(
      'you are who you are',
    );
  });

  it('scores from 0 to 1, falling, and orders equals as they came, whatever it is given', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(fc.lorem(), fc.string({ unit: 'grapheme', minLength: 1 })),
        fc.array(fc.oneof(fc.lorem(), fc.string({ unit: 'grapheme' })), { minLength: 1, maxLength: 20 }),
        async (query, documents) => {
          const ranked = await rankDocuments(query, documents, turns());
          expect(ranked.map(({ index }) => index).sort((a, b) => a - b)).toEqual([...documents.keys()]);
          for (const [place, { index, score }] of ranked.entries()) {
            expect(score).toBeGreaterThanOrEqual(0);
            expect(score).toBeLessThanOrEqual(1);
            const next = ranked[place + 1];
            if (next) expect(score > next.score || (score === next.score && index < next.index)).toBe(true);
          }
        },
      ),
      { numRuns: 50 },
    );
  });

  it('answers in the shape of Cohere and Jina, with the documents when they are asked for', async () => {
    const documents = ['red apples', { text: 'green pears', sku: 7 }, 'blue plums'];
    const answer = await rerank({ query: 'pears', documents, top_n: 2, return_documents: true });
    const result = rerankResult.parse({ ...answer, usage: { ...answer.usage, cost: 0.001 } });
    expect(result.results).toHaveLength(2);
    expect(result.results[0]).toMatchObject({ index: 1, document: { text: 'green pears', sku: 7 } });
    expect(result.results[1]).toMatchObject({
      index: 0,
      relevance_score: 0,
      document: { text: 'red apples' },
    });
    expect(result.usage).toMatchObject({ searches: 1, input_tokens: 12 });
    expect(answer.meta.billed_units.search_units).toBe(1);
    const bare = await rerank({ query: 'pears', documents });
    expect(bare.results).toHaveLength(3);
    expect(bare.results[0]).not.toHaveProperty('document');
  });

  it('reads max_tokens_per_doc tokens of each document', async () => {
    const answer = await rerank({ query: 'pears', documents: ['one two pears'], max_tokens_per_doc: 2 });
    expect(answer.results[0].relevance_score).toBe(0);
    expect(answer.usage.input_tokens).toBe(2 + 2);
  });

  it('lets others have their turn while it ranks a thousand documents', async () => {
    const documents = Array.from({ length: 1_000 }, (_, index) => `w${index} plain words `.repeat(100));
    let turnsTaken = 0;
    const interval = setInterval(() => {
      turnsTaken += 1;
    }, 1);
    const { results } = await rerank({ query: 'w500 words', documents });
    clearInterval(interval);
    expect(results[0].index).toBe(500);
    expect(turnsTaken).toBeGreaterThan(3);
  });

  it('limits the work when every word of the documents is similar to every query word', async () => {
    const words = Array.from({ length: 20_256 }, (_, index) => lookAlike(index));
    const documents = Array.from({ length: 8 }, (_, part) =>
      words.slice(256 + part * 2_500, 2_756 + part * 2_500).join(' '),
    );
    const query = words.slice(0, 256).join(' ');
    const startedAt = threadMs();
    await rerank({ query, documents: [...documents, 'another subject'] });
    // 100 ms; comparing each pair of words takes 7 s.
    expect(threadMs() - startedAt).toBeLessThan(2_000);
  });

  it('stops when the caller goes away', async () => {
    const gone = new AbortController();
    gone.abort(new Error('gone'));
    const body = { model: 'm', query: 'x', documents: Array(1_000).fill('many words '.repeat(2_000)) };
    expect(rerankRequest.safeParse(body).success).toBe(true);
    await expect(answerRerank({ body, stream: false, signal: gone.signal, now: () => 0 })).rejects.toThrow(
      'gone',
    );
  });
});
