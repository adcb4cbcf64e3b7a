import { describe, expect, it } from 'vitest';
import { embedFeatures } from './embed-features.ts';
import { textFeatures } from './text-features.ts';

const TOPICS = {
  weather: [
    'It will rain in the afternoon with a cold wind from the north.',
    'Heavy rain and strong winds are expected this weekend.',
    'The forecast promises sunshine and a mild wind tomorrow.',
    'Snow fell all night and the wind was icy.',
    'Is it going to rain tomorrow afternoon?',
  ],
  cooking: [
    'Chop the onions and fry them in butter until golden.',
    'Add salt, pepper and butter to the boiling pasta.',
    'Bake the bread in a hot oven for forty minutes.',
    'Fry the garlic and onions before you add the tomatoes.',
    'How long should bread bake in the oven?',
  ],
  football: [
    'The striker scored two goals in the final match.',
    'The match ended in a draw after a late goal.',
    'Fans cheered as the team won the league match.',
    'The goalkeeper saved a penalty and the team won.',
    'Which team scored the winning goal?',
  ],
  computing: [
    'The server crashed because the process ran out of memory.',
    'Restart the server to free the memory of a leaking process.',
    'The database index makes queries on the server faster.',
    'A slow query blocked the database for a minute.',
    'Why does my database query take so much memory?',
  ],
  travel: [
    'Our flight to Lisbon was delayed at the airport.',
    'Book a hotel near the airport for one night.',
    'The train to Porto leaves from platform four.',
    'We missed the train and took a flight instead.',
    'Where can I book a cheap hotel and flight?',
  ],
};

const SENTENCES = Object.entries(TOPICS).flatMap(([topic, texts]) => texts.map((text) => ({ topic, text })));

function embed(text: string, dimensions = 256): Float32Array {
  return embedFeatures(textFeatures(text), dimensions);
}

function cosine(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0);
}

/** Share of sentences whose nearest other sentence is of their own topic; chance is 4 of 24. */
function accuracy(dimensions: number): number {
  const embedded = SENTENCES.map(({ topic, text }) => ({ topic, vector: embed(text, dimensions) }));
  const right = embedded.filter((one) => {
    const others = embedded.filter((other) => other !== one);
    const nearest = others.reduce((a, b) =>
      cosine(one.vector, b.vector) > cosine(one.vector, a.vector) ? b : a,
    );
    return nearest.topic === one.topic;
  });
  return right.length / embedded.length;
}

describe('local embeddings', () => {
  it('put a sentence next to one of its own topic, far above chance', () => {
    expect(accuracy(256)).toBeGreaterThanOrEqual(0.8);
    expect(accuracy(1_024)).toBeGreaterThanOrEqual(0.8);
  });

  it('bring misspellings and other forms of a word near it', () => {
    const near = cosine(embed('restaurants in Barcelona'), embed('resturant Barcelona'));
    expect(near).toBeGreaterThan(0.4);
    expect(near).toBeGreaterThan(cosine(embed('restaurants in Barcelona'), embed('hotels in Lisbon')) + 0.2);
  });

  it('are the same for the same text, and of norm 1', () => {
    expect(embed('one text')).toEqual(embed('one text'));
    for (const text of ['a', ' ', '😀', 'the of and', 'word '.repeat(5_000)])
      expect(cosine(embed(text), embed(text)), text.slice(0, 20)).toBeCloseTo(1, 5);
  });
});
