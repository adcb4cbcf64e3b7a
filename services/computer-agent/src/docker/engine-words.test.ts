import { expect, test } from 'vitest';
import { wordsToShow } from './engine-words.ts';

const IMAGE = 'registry.example:5000/a:1';
const ELSEWHERE = /^its registry sent the engine elsewhere/;

test.each([
  [
    'Get "https://registry.example:5000/v2/": dial tcp 93.184.216.34:5000: connect: connection refused',
    'Get "https://registry.example:5000/v2/": connect: connection refused',
  ],
  [
    'Get "https://registry.example:5000/v2/": dial tcp: lookup registry.example on 10.0.0.2:53: no such host',
    'Get "https://registry.example:5000/v2/": lookup registry.example: no such host',
  ],
  [
    'received unexpected HTTP status: 500 Internal Server Error',
    'received unexpected HTTP status: 500 Internal Server Error',
  ],
])('of the registry itself what happened is told, not by which addresses of the host', (words, shown) => {
  expect(wordsToShow(words, IMAGE)).toBe(shown);
});

test.each([
  'Get "http://169.254.169.254/latest/meta-data/": dial tcp 169.254.169.254:80: i/o timeout',
  'Get "http://10.0.0.7:27017/": dial tcp 10.0.0.7:27017: connect: connection refused',
  'Get "https://registry.example:5000/v2/": Get "http://[fd00::1]:8080/x": EOF',
  'Get "http://registry.example.evil/x": EOF',
])('of where else it was sent, nothing: %s', (words) => {
  expect(wordsToShow(words, IMAGE)).toMatch(ELSEWHERE);
});

test('what was answered is never told, and words have an end', () => {
  const words = `error parsing HTTP 404 response body: invalid character '<': "<html>secret\nof the host</html>"`;
  expect(wordsToShow(words, IMAGE)).toBe('error parsing HTTP 404 response body that is none of a registry');
  expect(wordsToShow('x'.repeat(10_000), IMAGE).length).toBeLessThan(1_000);
  expect(wordsToShow('Get "https://registry-1.docker.io/v2/": EOF', 'alpine')).toContain(
    'registry-1.docker.io',
  );
  expect(wordsToShow('Get "https://docker.io.evil/v2/": EOF', 'alpine')).toMatch(ELSEWHERE);
});
