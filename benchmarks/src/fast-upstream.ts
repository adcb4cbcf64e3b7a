// The cheapest OpenAI-compatible upstream, in a process of its own, so that only the gateway is measured. Sends its
// URL to its parent process.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const TEXT =
  'A gateway checks the key, picks a route, forwards the request, counts the tokens and hands back the answer.';
const WORDS = TEXT.split(' ');
const USAGE = { prompt_tokens: 19, completion_tokens: 20, total_tokens: 39 };

const whole = JSON.stringify({
  id: 'chatcmpl-benchmark',
  object: 'chat.completion',
  created: 1,
  model: 'fast',
  choices: [{ index: 0, message: { role: 'assistant', content: TEXT }, finish_reason: 'stop' }],
  usage: USAGE,
});
const head = { id: 'chatcmpl-benchmark', object: 'chat.completion.chunk', created: 1, model: 'fast' };
const chunks = [
  ...WORDS.map((word) => ({
    ...head,
    choices: [{ index: 0, delta: { content: `${word} ` }, finish_reason: null }],
    usage: null,
  })),
  { ...head, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage: null },
  { ...head, choices: [], usage: USAGE },
].map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`);

const server = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8').on('data', (text: string) => {
    body += text;
  });
  request.on('end', () => {
    if (request.method !== 'POST') {
      response.writeHead(404).end(); // LiteLLM asks for models when it starts
      return;
    }
    if (!(JSON.parse(body) as { stream?: boolean }).stream) {
      response.writeHead(200, {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(whole),
      });
      response.end(whole);
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const chunk of chunks) response.write(chunk);
    response.end('data: [DONE]\n\n');
  });
});
server.listen(0, '127.0.0.1', () =>
  process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`),
);
process.on('disconnect', () => process.exit(0));
