import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { estimateInputTokens, estimateJsonTokens, FILE_TOKENS } from './input-tokens.ts';

const tokensOf = (content: unknown) =>
  estimateInputTokens(Buffer.from(JSON.stringify({ messages: [{ role: 'user', content }] })));
const MIB = 1024 * 1024;
const picture = randomBytes(MIB).toString('base64');
const TEXT = [{ type: 'text', text: 'What is in it?' }];

describe('the estimated tokens of a request', () => {
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

  it('do not count base64 as text where a client has escaped its slashes', () => {
    const body = JSON.stringify({ url: `data:image/png;base64,${picture}` }).replaceAll('/', '\\/');
    expect(estimateInputTokens(Buffer.from(body))).toBeLessThan(FILE_TOKENS + 50);
  });

  it('add up over several files', () => {
    const part = { type: 'image_url', image_url: { url: `data:image/png;base64,${picture}` } };
    expect(Math.floor(tokensOf([part, part, part]) / FILE_TOKENS)).toBe(3);
  });

  it.each([4_095, 4_096, 4_097, 8_191, 8_192, 100_000])(
    'count a %s-byte run alike at any offset',
    (bytes) => {
      for (const before of [0, 1, 4_095, 4_096, 5_000]) {
        const tokens = estimateInputTokens(Buffer.from(`${' '.repeat(before)}${'A'.repeat(bytes)} `));
        const expected = bytes < 4_096 ? (before + bytes + 1) / 4 : FILE_TOKENS + (before + 1) / 4;
        expect(tokens).toBe(Math.ceil(expected));
      }
    },
  );

  it.each([
    ['text', 'It is a long text, as texts go. '.repeat(10_000)],
    ['parts', TEXT],
    ['an image', [...TEXT, { type: 'image_url', image_url: { url: `data:image/png;base64,${picture}` } }]],
    ['sound', [...TEXT, { type: 'input_audio', input_audio: { data: picture, format: 'wav' } }]],
    ['numbers and nothing', { score: 0.5, n: 12, none: null, yes: true, list: [] }],
  ])('are about the same of a parsed request as of its bytes: %s', (_, content) => {
    const request = { messages: [{ role: 'user', content }] };
    const ratio = estimateJsonTokens(request) / estimateInputTokens(Buffer.from(JSON.stringify(request)));
    expect(ratio).toBeGreaterThan(0.8);
    expect(ratio).toBeLessThan(1.2);
  });

  it('count a text without blanks that resembles a file in full', () => {
    for (const text of [picture, `data:image/png;base64,${picture}`])
      for (const content of [text, [{ type: 'text', text }]])
        expect(estimateJsonTokens({ messages: [{ role: 'user', content }] })).toBeGreaterThan(
          picture.length / 4,
        );
  });
});
