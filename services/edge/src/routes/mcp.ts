// /mcp: the API as tools for language models, by the Model Context Protocol (streamable HTTP, stateless).
import { ServiceError } from '@switchyard/contracts';
import type { Logger } from '@switchyard/service';
import { z } from 'zod';
import { hashOfKey } from '../auth/authenticate.ts';
import { sendBytes } from '../http/pass-bytes.ts';
import { parseJson } from '../http/read-body.ts';
import { clientGone } from '../http/request-over.ts';
import { type Route, rawRoute } from '../http/route.ts';
import { MESSAGE_BYTES_MAX, MESSAGE_NODES_MAX } from '../mcp/tool.ts';

interface McpRoutesDeps {
  readonly logger: Logger;
}

export function mcpRoutes({ logger }: McpRoutesDeps): Route[] {
  return [
    rawRoute(
      {
        method: 'POST',
        path: '/mcp',
        permission: 'any',
        tag: 'MCP',
        summary: 'Messages of MCP clients',
        bodyBytesMax: MESSAGE_BYTES_MAX,
        request: { body: z.unknown() },
        repeatable: false,
        response: { status: 200, description: 'The reply', contentType: 'text/event-stream' },
      },
      async (request, reply, key) => {
        hashOfKey(request.headers.authorization); // tools pass the key on, so a session of the console is not enough
        const message = parseJson(request.body, MESSAGE_NODES_MAX);
        if (Array.isArray(message)) throw new ServiceError('invalid_request', 'Send one message at a time.');
        await request.idempotent?.beginStream();
        const signal = clientGone(request, reply);
        // The SDK takes 10 MB and a tenth of a second to load: most edges never need it.
        const { answerMcp } = await import('../mcp/answer-mcp.ts');
        const { status, headers: sent, body } = await answerMcp({ key, request, message, signal, logger });
        sent.delete('connection'); // left to Node: a draining edge closes it
        const headers = { ...Object.fromEntries(sent), 'x-request-id': request.id };
        await sendBytes(reply, { status, headers }, body && bytesOf(body));
      },
    ),
  ];
}

async function* bytesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Buffer> {
  for await (const piece of body) yield Buffer.from(piece);
}
