import { expect, test } from 'vitest';
import { toModelMessages } from './model-messages.ts';

test.each([
  ['{"city": "Ulm"}', { city: 'Ulm' }],
  ['', {}],
  ['{"city": "U', '{"city": "U'],
])('a tool call with the arguments %j is shown as code', (written, input) => {
  const call = {
    id: 'call_1',
    type: 'function',
    function: { name: 'get_weather', arguments: written },
  } as const;
  const [message] = toModelMessages([{ role: 'assistant', content: '', tool_calls: [call] }]);
  expect(message).toMatchObject({ content: [{ toolName: 'get_weather', input }] });
});
