import { afterEach, expect, test, vi } from 'vitest';
import { CODE_KINDS } from './call-code.ts';
import { parseTools } from './parse-tools.ts';

const WEATHER = { type: 'function', function: { name: 'weather', parameters: { type: 'object' } } };

afterEach(() => void vi.unstubAllGlobals());

test('tools are a list of functions that have a name', () => {
  expect(parseTools(JSON.stringify([WEATHER]))).toEqual([WEATHER]);
  expect(parseTools('[]')).toEqual([]);
});

test.each(['', '[', '{}', 'null', '"weather"', '[null]', '[{"type":"function"}]', JSON.stringify(WEATHER)])(
  '%s is refused',
  (text) => {
    expect(parseTools(text)).toBeUndefined();
  },
);

test('a tool without description and parameters is shown as code of the AI SDK', () => {
  vi.stubGlobal('location', { origin: 'http://here' });
  const tools = parseTools('[{"type":"function","function":{"name":"get-weather"}}]');
  const body = { model: 'local/chat', messages: [], tools };
  const code = CODE_KINDS['AI SDK']({ type: 'language', path: '/v1/chat/completions', body });
  expect(code.replaceAll(/\s+/g, ' ')).toContain(
    '"get-weather": tool({ inputSchema: jsonSchema({ "type": "object", "properties": {} }) }),',
  );
});
