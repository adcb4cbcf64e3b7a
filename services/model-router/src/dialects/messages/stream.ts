// Converts the chunks of a chat stream to the events of the Messages API, in Anthropic's order: message_start, ping, each
// content block with its start, deltas and stop, then message_delta with the usage, and message_stop.
import { ANTHROPIC_ERRORS, addDetails, type ChatReasoningDetail } from '@switchyard/contracts';
import { UnusableAnswer } from '../../makers/unusable-answer.ts';
import {
  type ChatChunk,
  type ChatMessage,
  type ChatToolCallPiece,
  type ChatUsage,
  reasoningOf,
} from '../chat-shapes.ts';
import type { StreamTranslator } from '../dialect.ts';
import { type AnswerFrame, toolUseId } from './answer.ts';
import { type ChatEnd, toStopReason } from './stop-reason.ts';
import { sign } from './thoughts.ts';
import { toUsage } from './usage.ts';

type ChatDelta = ChatMessage<ChatToolCallPiece>;

type OpenBlock =
  | { type: 'text' }
  | { type: 'thinking'; thoughts: string; details: ChatReasoningDetail[] }
  | { type: 'tool_use'; call: number };

/** A tool call whose pieces arrive while the block of another call is open. */
interface WaitingCall {
  id: string;
  name: string;
  json: string;
}

/** Most characters of waiting tool calls. */
const WAITING_CHARS_MAX = 4 * 1024 * 1024;

export class MessageStream implements StreamTranslator {
  readonly fail = ANTHROPIC_ERRORS.streamEnd;
  readonly #frame: AnswerFrame;
  #started = false;
  #open: OpenBlock | null = null;
  /** Index of the open block, or of the next one. */
  #index = 0;
  /** Indexes of the tool calls that have begun. */
  readonly #calls = new Set<number>();
  /** Calls that get their block when the open one ends, by index. */
  readonly #waiting = new Map<number, WaitingCall>();
  #waitingChars = 0;
  #refused = false;
  #stopped: ChatEnd = {};
  #usage: ChatUsage | null = null;

  constructor(frame: AnswerFrame) {
    this.#frame = frame;
  }

  /** @throws UnusableAnswer for a tool call that goes on after its block, or too long waiting calls */
  push({ model, choices, usage }: ChatChunk): string {
    if (usage) this.#usage = usage;
    let out = '';
    // A chunk without choices before the first, as Azure's, does not name the model.
    for (const { delta, finish_reason, stop_reason } of choices ?? []) {
      if (!this.#started) out += this.#start(model ?? '');
      if (delta) out += this.#read(delta);
      if (finish_reason) this.#stopped = { finish_reason, stop_reason };
    }
    return out;
  }

  /** The events after the last chunk. */
  end(): string {
    const stopped = toStopReason(this.#stopped, this.#frame.stopSequences, {
      calledTools: this.#calls.size > 0,
      refused: this.#refused,
    });
    const usage = this.#usage && toUsage(this.#usage);
    return this.#close() + event('message_delta', { delta: stopped, usage }) + event('message_stop', {});
  }

  #start(model: string): string {
    this.#started = true;
    // Makers count at the end of a stream; message_delta has all the counts.
    const usage = {
      input_tokens: 0,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      output_tokens: 0,
    };
    const message = {
      ...{ id: this.#frame.id, type: 'message', role: 'assistant', model, content: [] },
      ...{ stop_reason: null, stop_sequence: null, usage },
    };
    return event('message_start', { message }) + event('ping', {});
  }

  #read(delta: ChatDelta): string {
    const { content, refusal, tool_calls: calls } = delta;
    let out = this.#frame.showsThinking ? this.#think(delta) : '';
    if (refusal) this.#refused = true;
    for (const text of [content, refusal])
      if (typeof text === 'string' && text !== '')
        out += this.#opened('text') + this.#delta({ type: 'text_delta', text });
    for (const call of calls ?? []) out += this.#call(call);
    return out;
  }

  #think(delta: ChatDelta): string {
    const { reasoning_details: details } = delta;
    const text = reasoningOf(delta);
    if (text === '' && !details?.length) return '';
    if (text === '' && this.#open?.type !== 'thinking') return this.#redacted(details ?? []);
    const before = this.#open?.type === 'thinking' ? '' : this.#opened('thinking');
    const block = this.#open as Extract<OpenBlock, { type: 'thinking' }>;
    block.thoughts += text;
    addDetails(block.details, details ?? []);
    if (text !== '') return before + this.#delta({ type: 'thinking_delta', thinking: text });
    // Details without a text sign the block, and end it.
    return this.#close();
  }

  #redacted(details: readonly ChatReasoningDetail[]): string {
    const before = this.#close();
    const started = this.#startBlock({ type: 'redacted_thinking', data: sign('', details) });
    return before + started + this.#stopBlock();
  }

  /** The call whose block is open streams. Others wait, since the pieces of parallel calls may alternate. */
  #call(piece: ChatToolCallPiece): string {
    const { index: call = 0, id = '', function: called } = piece;
    const { name = '', arguments: json = '' } = called ?? {};
    const open = this.#open?.type === 'tool_use' ? this.#open.call : null;
    if (open === call)
      return json === '' ? '' : this.#delta({ type: 'input_json_delta', partial_json: json });
    if (!this.#calls.has(call))
      return open === null
        ? this.#close() + this.#startCall(call, { id, name, json })
        : this.#wait(call, { id, name, json });
    if (json !== '') throw new UnusableAnswer('a tool call goes on after its block');
    return '';
  }

  #startCall(call: number, { id, name, json }: WaitingCall): string {
    this.#calls.add(call);
    this.#open = { type: 'tool_use', call };
    const ownId = toolUseId(id, call, this.#frame);
    const start = this.#startBlock({ type: 'tool_use', id: ownId, name, input: {} });
    return json === '' ? start : start + this.#delta({ type: 'input_json_delta', partial_json: json });
  }

  #wait(call: number, piece: WaitingCall): '' {
    const waiting = this.#waiting.get(call);
    if (waiting) waiting.json += piece.json;
    else this.#waiting.set(call, piece);
    this.#waitingChars += piece.json.length;
    if (this.#waitingChars > WAITING_CHARS_MAX) throw new UnusableAnswer('parallel tool calls are too long');
    return '';
  }

  /** Opens a block of this type, unless one is open. */
  #opened(type: 'text' | 'thinking'): string {
    if (this.#open?.type === type) return '';
    const before = this.#close();
    if (type === 'text') {
      this.#open = { type };
      return before + this.#startBlock({ type, text: '' });
    }
    this.#open = { type, thoughts: '', details: [] };
    return before + this.#startBlock({ type, thinking: '', signature: '' });
  }

  #close(): string {
    const block = this.#open;
    if (block === null) return '';
    this.#open = null;
    if (block.type === 'text') return this.#stopBlock();
    if (block.type === 'tool_use') return this.#stopBlock() + this.#endWaiting();
    const signature = sign(block.thoughts, block.details);
    return this.#delta({ type: 'signature_delta', signature }) + this.#stopBlock();
  }

  #endWaiting(): string {
    const calls = [...this.#waiting];
    this.#waiting.clear();
    return calls.map(([number, call]) => this.#startCall(number, call) + this.#close()).join('');
  }

  #startBlock(block: object): string {
    return event('content_block_start', { index: this.#index, content_block: block });
  }

  #delta(delta: object): string {
    return event('content_block_delta', { index: this.#index, delta });
  }

  #stopBlock(): string {
    const stop = event('content_block_stop', { index: this.#index });
    this.#index += 1;
    return stop;
  }
}

function event(type: string, members: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;
}
