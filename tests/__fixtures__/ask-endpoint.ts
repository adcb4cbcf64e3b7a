// The endpoints of an OpenAPI document as requests: each with a body and parameters that it accepts.
import { once } from 'node:events';
import { request } from 'node:http';
import { type Kind, kindOfMember, kindOfParameter } from './endpoints.ts';

/** A place in a request that names an org's resource. */
export interface Slot {
  readonly where: 'path' | 'query' | 'body';
  readonly name: string;
  readonly kind: Kind;
}

export interface Endpoint {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  /** Permissions joined by a space; `any` or `public`. */
  readonly who: string;
  readonly slots: readonly Slot[];
  /** Parameters and members that the table of endpoints does not know. */
  readonly unknown: readonly string[];
  readonly body: { readonly type: string; readonly example: unknown } | null;
  /** Accepts WebSockets, also or only. */
  readonly upgrades: boolean;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

interface Schema {
  $ref?: string;
  examples?: unknown[];
  properties?: Record<string, unknown>;
}
interface Operation {
  operationId: string;
  security: { key: string[] }[];
  parameters: { name: string; in: 'path' | 'query' | 'header' }[];
  requestBody?: { content: Record<string, { schema?: Schema }> };
  responses: object;
}
interface OpenApi {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

/** Values of parameters that name nothing of an org. */
const VALUES: Readonly<Record<string, string>> = {
  ...{ path: 'own.txt', port: '8000', maker: 'local', name: 'chat', model: 'local%2Fchat', token: 'x.y' },
};
const UPGRADE = {
  ...{ connection: 'Upgrade', upgrade: 'websocket' },
  ...{ 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==', 'sec-websocket-version': '13' },
};
/** The document has the paths of the API only. */
const MCP: Endpoint = {
  ...{ name: 'mcp', method: 'POST', path: '/mcp', who: 'any', slots: [], unknown: [], upgrades: false },
  body: { type: 'application/json', example: { jsonrpc: '2.0', id: 1, method: 'tools/list' } },
};

/** All endpoints of a document, and /mcp. */
export function endpointsOf({ paths, components }: OpenApi): Endpoint[] {
  const resolve = (schema: Schema): Schema =>
    components.schemas[schema.$ref?.split('/').at(-1) ?? ''] ?? schema;
  const described = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const [type, media] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
      const schema = resolve(media?.schema ?? {});
      return toEndpoint({ method: method.toUpperCase(), path, operation, type, schema });
    }),
  );
  return [...described, MCP];
}

function toEndpoint(found: {
  method: string;
  path: string;
  operation: Operation;
  type: string | undefined;
  schema: Schema;
}): Endpoint {
  const { method, path, operation, type, schema } = found;
  const name = operation.operationId;
  const places = [
    ...operation.parameters.map((one) => ({
      where: one.in,
      name: one.name,
      kind: one.in === 'header' ? null : kindOfParameter(path, one.name),
    })),
    ...Object.keys(schema.properties ?? {}).map((member) => ({
      where: 'body' as const,
      name: member,
      kind: kindOfMember(name, member),
    })),
  ];
  const permissions = operation.security[0]?.key;
  return {
    ...{ name, method, path },
    who: permissions === undefined ? 'public' : permissions.join(' ') || 'any',
    slots: places.filter((place): place is Slot => typeof place.kind === 'string'),
    unknown: places.filter(({ kind }) => kind === undefined).map((place) => place.name),
    body: type === undefined ? null : { type, example: schema.examples?.[0] },
    upgrades: '101' in operation.responses || (method === 'GET' && path.endsWith('/{path}')),
  };
}

export interface Asked {
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The value of a place that names an org's resource, or of a path parameter. */
  readonly value?: (place: Pick<Slot, 'where' | 'name'>) => string | undefined;
  readonly upgrade?: boolean;
  readonly method?: string;
}

/** Sends an endpoint's request with the given values; reads only the head of a stream. */
export async function ask(endpoint: Endpoint, asked: Asked): Promise<Answer> {
  const { url, headers = {}, value = () => undefined, upgrade, method = endpoint.method } = asked;
  const query = new URLSearchParams();
  if (/\/files$/.test(endpoint.path) && endpoint.path.includes('{id}')) query.set('path', 'own.txt');
  for (const { where, name } of endpoint.slots) {
    const given = where === 'query' ? value({ where, name }) : undefined;
    if (given !== undefined) query.set(name, given);
  }
  const path = endpoint.path.replaceAll(
    /\{(\w+)\}/g,
    (_, name) => value({ where: 'path', name }) ?? VALUES[name] ?? 'x',
  );
  const target = `${url}${path}${query.size > 0 ? `?${query}` : ''}`;
  if (upgrade) return askToUpgrade(target, headers);
  const body = endpoint.body && bodyOf(endpoint.body, endpoint.slots, value);
  const answer = await fetch(target, {
    method,
    headers: { ...headers, ...(body ? { 'content-type': body.type } : {}) },
    redirect: 'manual',
    ...(body && method !== 'HEAD' ? { body: body.text } : {}),
  });
  const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream') === true;
  if (isStream && endpoint.name !== 'mcp') await answer.body?.cancel();
  const text = isStream && endpoint.name !== 'mcp' ? '' : await answer.text();
  return { status: answer.status, headers: Object.fromEntries(answer.headers), text };
}

function bodyOf(
  { type, example }: NonNullable<Endpoint['body']>,
  slots: readonly Slot[],
  value: NonNullable<Asked['value']>,
): { type: string; text: string } {
  if (type === 'multipart/form-data') return { type: `${type}; boundary=x`, text: '--x--\r\n' };
  if (type === '*/*') return { type: 'text/plain', text: 'of another' };
  const own = slots
    .filter(({ where }) => where === 'body')
    .flatMap(({ where, name }) => {
      const given = value({ where, name });
      return given === undefined ? [] : [[name, given]];
    });
  const members: Record<string, unknown> = { ...(example as object), ...Object.fromEntries(own) };
  if (members.event !== undefined) delete members.request_id; // a refund names one of them
  return { type, text: JSON.stringify(members) };
}

async function askToUpgrade(target: string, headers: Readonly<Record<string, string>>): Promise<Answer> {
  const sent = request(target, { headers: { ...headers, ...UPGRADE } });
  sent.end();
  const [answer, socket] = await Promise.race([once(sent, 'response'), once(sent, 'upgrade')]);
  if (answer.statusCode === 101) socket.destroy();
  const text = answer.statusCode === 101 ? '' : (await answer.setEncoding('utf8').toArray()).join('');
  return { status: answer.statusCode, headers: answer.headers, text };
}

/** `<status> <code>` of a refusal; the status alone of another answer. */
export function codeOf({ status, text }: Answer): string {
  if (status < 400) return String(status);
  return `${status} ${(JSON.parse(text) as { error: { code: string } }).error.code}`;
}
