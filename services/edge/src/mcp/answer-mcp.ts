// Answers one message of an MCP client. Stateless: each message gets a server of its own, so any edge answers it.

import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import {
  CallToolRequestSchema,
  type CallToolResult,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
  type Tool as ToolDescription,
} from '@modelcontextprotocol/sdk/types.js';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv';
import { allows, type KeyRecord, type Permission, ServiceError, toErrorBody } from '@switchyard/contracts';
import type { Logger } from '@switchyard/service';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { check } from '../http/read-body.ts';
import { toServiceError } from '../http/send-error.ts';
import { COMPUTER_TOOLS } from './computer-tools.ts';
import { cut, cutTexts } from './cut-texts.ts';
import { MODEL_TOOLS } from './model-tools.ts';
import { OwnApi, RefusedCall } from './own-api.ts';
import { TOOL_MS_MAX, type Tool, type ToolResult } from './tool.ts';

const INFO = { name: 'switchyard', title: 'Switchyard', version: '1' };
const INSTRUCTIONS =
  'Rents Linux computers by the minute and calls AI models. Every result has its cost in US dollars; a running computer is charged until stopped or deleted.';
const TOOLS: readonly Tool[] = [...COMPUTER_TOOLS, ...MODEL_TOOLS];
const DESCRIPTIONS = TOOLS.map((tool) => ({ permission: tool.permission, description: describeTool(tool) }));
/** Shared, since each new one compiles the meta-schema; no tool asks the client for input. */
const jsonSchemaValidator = new AjvJsonSchemaValidator();

interface McpCall {
  readonly key: KeyRecord;
  readonly request: FastifyRequest;
  readonly message: unknown;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
  readonly logger: Logger;
}

export async function answerMcp(call: McpCall): Promise<Response> {
  const { key, request, message, signal } = call;
  const server = new Server(INFO, {
    capabilities: { tools: {} },
    instructions: INSTRUCTIONS,
    jsonSchemaValidator,
  });
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: toolsOf(key.permissions) }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }) => callTool(call, params));
  const transport = new WebStandardStreamableHTTPServerTransport();
  await server.connect(transport);
  signal.addEventListener('abort', () => void server.close(), { once: true });
  const headers = new Headers();
  for (const name of ['accept', 'content-type', 'mcp-protocol-version'])
    if (request.headers[name] !== undefined) headers.set(name, String(request.headers[name]));
  const received = new Request(`http://${request.host}${request.url}`, { method: 'POST', headers });
  return transport.handleRequest(received, { parsedBody: message });
}

function toolsOf(held: readonly Permission[]): ToolDescription[] {
  return DESCRIPTIONS.filter(({ permission }) => permission === 'any' || allows(held, permission)).map(
    ({ description }) => description,
  );
}

function describeTool({ name, description, input, readOnly, destructive }: Tool): ToolDescription {
  const { $schema: _, ...inputSchema } = z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' });
  return {
    name,
    description,
    inputSchema: inputSchema as ToolDescription['inputSchema'],
    annotations: { readOnlyHint: readOnly ?? false, destructiveHint: destructive ?? false },
  };
}

async function callTool(
  { request, signal, logger }: McpCall,
  { name, arguments: input = {} }: { name: string; arguments?: Record<string, unknown> | undefined },
): Promise<CallToolResult> {
  const tool = TOOLS.find((one) => one.name === name);
  if (!tool) throw new McpError(ErrorCode.InvalidParams, `Unknown tool: ${name}`);
  const late = AbortSignal.timeout(TOOL_MS_MAX);
  const api = new OwnApi(request, AbortSignal.any([signal, late]));
  try {
    return renderResult(await tool.run(check(tool.input, input) as never, api), api);
  } catch (thrown) {
    return renderError(late.aborted ? tookTooLong() : thrown, api, request, logger);
  }
}

function renderResult({ result, text, media }: ToolResult, api: OwnApi): CallToolResult {
  const { receipt } = api;
  const content: CallToolResult['content'] = [{ type: 'text', text: cut(text ?? JSON.stringify(result)) }];
  if (media) {
    const { bytes, mediaType } = media;
    const kind = mediaType.startsWith('audio/') ? 'audio' : 'image';
    content.push({ type: kind, data: bytes.toString('base64'), mimeType: mediaType });
  }
  content.push({ type: 'text', text: `Cost: ${receipt.cost} US dollars. Request: ${receipt.request_id}` });
  return { content, structuredContent: { ...receipt, result: cutTexts(result) } };
}

/** The code comes first, since models and people read the text. */
function renderError(thrown: unknown, api: OwnApi, request: FastifyRequest, logger: Logger): CallToolResult {
  const error = thrown instanceof RefusedCall ? thrown.error : ownError(thrown, request, logger);
  const { code, message, details } = error;
  const text = `${code}: ${message}${details ? `\n${JSON.stringify(details)}` : ''}`;
  return {
    isError: true,
    content: [{ type: 'text', text: cut(text) }],
    structuredContent: { ...api.receipt, error: cutTexts(error) },
  };
}

function ownError(thrown: unknown, request: FastifyRequest, logger: Logger) {
  const error = toServiceError(thrown);
  if (error.code === 'internal_error')
    logger.error({ err: thrown, request: request.id }, 'a tool failed with an unexpected error');
  return toErrorBody(error, request.id).error;
}

function tookTooLong(): ServiceError {
  return new ServiceError(
    'upstream_timeout',
    `The tool took over ${TOOL_MS_MAX / 1_000} s and was stopped. Use the HTTP API for long work.`,
  );
}
