// The Messages API of Anthropic itself.
import type { MessagesRequest, ModelCallHead } from '@switchyard/contracts';
import { parseExactly } from '../../../json/exact-integers.ts';
import { parseMember, topLevelMembers } from '../../../json/json-members.ts';
import { withMembers } from '../../../json/splice.ts';
import type { NativeDialect } from '../../native-dialect.ts';
import { isOurs, OURS } from '../thoughts.ts';
import { finishMessage } from './answer.ts';
import { AnthropicStream } from './stream.ts';

export const nativeMessages: NativeDialect = {
  lengths: ['max_tokens'],
  outputTokensMin: 1,
  serves: () => true,
  headers: betaHeader,
  body: (given) => withShownThoughts(withoutOthersThoughts(given)),
  finish: finishMessage,
  stream: (model, request, inputTokens) => new AnthropicStream(model, inputTokens, request.length),
};

/** Claude Code asks to omit thoughts, but hidden ones cannot be counted when a caller leaves early. */
function withShownThoughts(given: Buffer): Buffer {
  const members = topLevelMembers(given);
  const member = members.get('thinking');
  const thinking = member && (parseMember(given, member) as MessagesRequest['thinking']);
  if (!thinking || thinking.type === 'disabled' || thinking.display !== 'omitted') return given;
  const shown = JSON.stringify({ ...thinking, display: 'summarized' });
  return withMembers(given, members, [['thinking', shown]]);
}

/**
 * Anthropic refuses thoughts of another maker, which an earlier answer of this conversation may have, and a message
 * without content.
 */
function withoutOthersThoughts(given: Buffer): Buffer {
  if (!given.includes(OURS)) return given;
  const request = parseExactly(given.toString('utf8')) as MessagesRequest;
  const messages = request.messages.flatMap((message) => {
    if (message.role !== 'assistant' || typeof message.content === 'string') return [message];
    const content = message.content.filter(
      (block) =>
        !(block.type === 'thinking' && isOurs(block.signature)) &&
        !(block.type === 'redacted_thinking' && isOurs(block.data)),
    );
    return content.length > 0 ? [{ ...message, content }] : [];
  });
  return Buffer.from(JSON.stringify({ ...request, messages }));
}

/**
 * Betas of Anthropic, without their dates, that change neither the price of a token nor who runs a tool. Others are left
 * out: `context-1m` and `fast-mode` cost more, `code-execution` and `mcp-client` run tools at the maker.
 */
const FREE_BETAS: ReadonlySet<string> = new Set([
  ...[
    'adaptive-thinking',
    'advanced-tool-use',
    'claude-code',
    'computer-use',
    'context-management',
    'effort',
  ],
  ...['extended-cache-ttl', 'fine-grained-tool-streaming', 'interleaved-thinking', 'output-128k', 'pdfs'],
  ...[
    'prompt-caching',
    'prompt-caching-scope',
    'redact-thinking',
    'structured-outputs',
    'token-efficient-tools',
  ],
  'tool-examples',
]);
const BETA_DATE = /-\d{4}-?\d{2}-?\d{2}$/;

function betaHeader({ anthropic_beta: given = '' }: ModelCallHead): Record<string, string> {
  const betas = given.split(',').map((beta) => beta.trim());
  const sent = betas.filter((beta) => FREE_BETAS.has(beta.replace(BETA_DATE, '')));
  return sent.length === 0 ? {} : { 'anthropic-beta': sent.join(',') };
}
