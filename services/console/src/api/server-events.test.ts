// How events are read, however their lines end and their bytes arrive.
import { expect, test } from 'vitest';
import { serverEvents } from './server-events.ts';

test.each([
  ['LF', 'id: 1\n\nevent: error\ndata: a\ndata: b\n\n'],
  ['CRLF', 'id: 1\r\n\r\nevent: error\r\ndata: a\r\ndata: b\r\n\r\n'],
])('events whose lines end in %s are read, byte by byte too', async (_name, text) => {
  const bytes = new TextEncoder().encode(text);
  for (const chunks of [[bytes], [...bytes].map((byte) => Uint8Array.of(byte))]) {
    const body = new ReadableStream({
      start(controller) {
        for (const chunk of chunks) controller.enqueue(chunk);
        controller.close();
      },
    });
    expect(await Array.fromAsync(serverEvents(new Response(body)))).toEqual([
      { id: '1', event: null, data: '' },
      { id: null, event: 'error', data: 'a\nb' },
    ]);
  }
});
