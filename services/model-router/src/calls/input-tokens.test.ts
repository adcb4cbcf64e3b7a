import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { estimateInputTokens, FILE_TOKENS } from './input-tokens.ts';

const tokensOf = (content: unknown) =>
  estimateInputTokens(Buffer.from(JSON.stringify({ messages: [{ role: 'user', content }] })));
const MIB = 1024 * 1024;
const picture = randomBytes(MIB).toString('base64');
const TEXT = [{ type: 'text', text: 'What is in it?' }];

describe('the tokens of a request that nobody counted', () => {
  it('are a quarter of the bytes of its text', () => {
    expect(estimateInputTokens(Buffer.from('x'.repeat(400)))).toBe(100);
    const text = 'It is a long text, as texts go. '.repeat(10_000);
    expect(tokensOf(text)).toBeCloseTo(text.length / 4, -2);
  });

  it.each([
    ['an image', { type: 'image_url', image_url: { url: `data:image/png;base64,${picture}` } }],
    ['sound', { type: 'input_audio', input_audio: { data: picture, format: 'wav' } }],
    ['a document', { type: 'file', file: { file_data: `data:application/pdf;base64,${picture}` } }],
  ])('are not the length of %s in base64', (_, part) => {
    const tokens = tokensOf([...TEXT, part]) - tokensOf(TEXT);
    expect(tokens).toBeGreaterThan(FILE_TOKENS);
    expect(tokens).toBeLessThan(FILE_TOKENS + 50);
  });

  it('are not that either where a client has escaped its slashes', () => {
    const body = JSON.stringify({ url: `data:image/png;base64,${picture}` }).replaceAll('/', '\\/');
    expect(estimateInputTokens(Buffer.from(body))).toBeLessThan(FILE_TOKENS + 50);
  });

  it('are those of each of several files', () => {
    const part = { type: 'image_url', image_url: { url: `data:image/png;base64,${picture}` } };
    expect(Math.floor(tokensOf([part, part, part]) / FILE_TOKENS)).toBe(3);
  });
});
