// A real HTTP server that answers as Ollama and vLLM document, records requests, and can lose its models.
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import show from './ollama-show.json' with { type: 'json' };
import tags from './ollama-tags.json' with { type: 'json' };
import vllm from './vllm-models.json' with { type: 'json' };

export interface ModelServers {
  url: string;
  /** Method and path of each request, with the requested model. */
  asked: string[];
  /** Authorization header of the last request. */
  authorization(): string | undefined;
  /** Removes the model with this name. */
  remove(name: string): void;
  /** Changes the digest of this model, and answers 500, or this, for its card until it is repaired. */
  breakCard(name: string, answer?: Instead): void;
  repairCard(name: string): void;
  /** Sends this answer from now on; null restores the documented answers. */
  answerWith(answer: Instead | null): void;
  close(): Promise<void>;
}

interface Instead {
  status: number;
  body: string;
  location?: string;
}

export async function startModelServers(): Promise<ModelServers> {
  const asked: string[] = [];
  const removed = new Set<string>();
  const broken = new Map<string, Instead>();
  let instead: Instead | null = null;
  let authorization: string | undefined;
  const cards: Record<string, unknown> = show.answers;

  const answerTo = async (request: IncomingMessage): Promise<Instead> => {
    const name = request.method === 'POST' ? await modelIn(request) : '';
    asked.push(`${request.method} ${request.url}${name === '' ? '' : ` ${name}`}`);
    authorization = request.headers.authorization;
    const ok = (value: unknown) => ({ status: 200, body: JSON.stringify(value) });
    if (instead) return instead;
    if (request.url === '/api/tags')
      return ok({
        models: tags.answer.models
          .filter(({ name }) => !removed.has(name))
          .map((model) => (broken.has(model.name) ? { ...model, digest: 'another' } : model)),
      });
    const brokenCard = request.url === '/api/show' ? broken.get(name) : undefined;
    if (brokenCard) return brokenCard;
    if (request.url === '/api/show' && cards[name] && !removed.has(name)) return ok(cards[name]);
    if (request.url === '/v1/models') return ok(vllm.answer);
    if (request.url === '/v1/chat/completions') return ok(completionBy(name));
    return { status: 404, body: '{"error":"not found"}' };
  };
  const server = createServer(async (request, response) => {
    const { status, body, location } = await answerTo(request);
    const headers = { 'content-type': 'application/json', ...(location ? { location } : {}) };
    response.writeHead(status, headers).end(body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    authorization: () => authorization,
    remove: (name) => void removed.add(name),
    breakCard: (name, answer = { status: 500, body: '{"error":"corrupt"}' }) => void broken.set(name, answer),
    repairCard: (name) => void broken.delete(name),
    answerWith: (answer) => {
      instead = answer;
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** An answer of Ollama's OpenAI-compatible endpoint. */
function completionBy(model: string): object {
  return {
    id: 'chatcmpl-461',
    object: 'chat.completion',
    created: 1_727_000_000,
    model,
    system_fingerprint: 'fp_ollama',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hello!' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 26, completion_tokens: 10, total_tokens: 36 },
  };
}

async function modelIn(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return (JSON.parse(text) as { model: string }).model;
}
