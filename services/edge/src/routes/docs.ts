import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { ServiceError } from '@switchyard/contracts';
import { pageHeaders } from '../http/page-headers.ts';
import { pageRoute, type Route } from '../http/route.ts';
import { asyncApiDocument } from '../openapi/async-document.ts';
import { openApiDocument } from '../openapi/document.ts';

// Swagger UI is maintained, self-contained (no CDN), and supports OpenAPI 3.1.
const UI_FOLDER = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
const UI_FILES: Record<string, string> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'favicon-32x32.png': 'image/png',
};
/** Read once: a request must not hold a copy. */
const CONTENTS = new Map(Object.keys(UI_FILES).map((file) => [file, readFileSync(join(UI_FOLDER, file))]));
const DAY_S = 86_400;
const NONCE_BYTES = 16;

/** Only scripts with the nonce run: ports of computers serve scripts at this origin too, so `'self'` is not enough. */
const page = (nonce: string) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Switchyard API</title>
<link rel="stylesheet" href="/docs/swagger-ui.css"><link rel="icon" href="/docs/favicon-32x32.png">
</head>
<body><div id="ui"></div>
<script nonce="${nonce}" src="/docs/swagger-ui-bundle.js"></script>
<script nonce="${nonce}">SwaggerUIBundle({ url: '/v1/openapi.json', dom_id: '#ui', docExpansion: 'none', defaultModelsExpandDepth: 0, deepLinking: true, displayRequestDuration: true, validatorUrl: null });</script>
</body></html>
`;

/** Results of try-out requests load from `blob:` addresses, the page’s icons from `data:` ones. */
const sources = (nonce: string) =>
  `script-src 'nonce-${nonce}'; style-src 'self'; img-src 'self' data: blob:; media-src blob:; connect-src 'self'`;

/**
 * Serves the OpenAPI document of `routes`, the AsyncAPI document of the events, and the reference page. A document is
 * built for its first reader: it takes 0.1 s, which a restarting edge does not have.
 */
export function docsRoutes(routes: readonly Route[]): Route[] {
  return [
    documentRoute('/v1/openapi.json', () => openApiDocument(routes)),
    documentRoute('/v1/asyncapi.json', asyncApiDocument),
    pageRoute('/docs', (_request, reply) => {
      const nonce = randomBytes(NONCE_BYTES).toString('base64');
      reply.headers(pageHeaders(sources(nonce))).send(page(nonce));
    }),
    pageRoute('/docs/{file}', (request, reply) => {
      const { file } = request.params as { file: string };
      const type = Object.hasOwn(UI_FILES, file) ? UI_FILES[file] : undefined;
      if (type === undefined)
        throw new ServiceError('route_not_found', `Path not found: /docs/${file}. See /docs.`);
      reply
        .header('content-type', type)
        .header('x-content-type-options', 'nosniff')
        .header('cache-control', `public, max-age=${DAY_S}`)
        .send(CONTENTS.get(file));
    }),
  ];
}

function documentRoute(path: string, build: () => object): Route {
  let json: string | undefined;
  return pageRoute(path, (_request, reply) => {
    json ??= JSON.stringify(build());
    reply.header('content-type', 'application/json; charset=utf-8').send(json);
  });
}
