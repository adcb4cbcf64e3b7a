// A stream of chat chunks as the typed events of a response. An item of text or reasoning ends where the next item
// begins; calls of functions end with the stream, since their pieces may be interleaved.
import {
  addDetails,
  type ChatReasoningDetail,
  namedEvent,
  type ResponsesRequest,
  responsesError,
  type ServiceError,
} from '@switchyard/contracts';
import {
  type ChatChunk,
  type ChatMessage,
  type ChatToolCallPiece,
  type ChatUsage,
  reasoningOf,
} from '../chat-shapes.ts';
import type { DialectCall, StreamTranslator } from '../dialect.ts';
import {
  callItem,
  messageItem,
  type OutputItem,
  type OutputPart,
  type OutputStatus,
  reasoningItem,
  summaryPart,
  textPart,
  toAnnotation,
} from './output-items.ts';
import {
  endOf,
  failedState,
  idSuffix,
  type ResponseState,
  responseObject,
  toResponsesUsage,
} from './response-object.ts';
import { type ToolNames, toolNames } from './tools.ts';

type Fields = Readonly<Record<string, unknown>>;

/** An item whose end has not been sent. */
interface OpenItem {
  readonly index: number;
  readonly id: string;
}

interface OpenReasoning extends OpenItem {
  readonly type: 'reasoning';
  text: string;
  readonly details: ChatReasoningDetail[];
}

interface OpenMessage extends OpenItem {
  readonly type: 'message';
  /** The last part is open. */
  readonly parts: OutputPart[];
}

interface OpenCall extends OpenItem {
  /** The upstream's; it may be empty. */
  readonly callId: string;
  name: string;
  arguments: string;
  extra: ChatToolCallPiece['extra_content'];
}

export class ResponseStream implements StreamTranslator {
  readonly #request: ResponsesRequest;
  readonly #call: DialectCall;
  readonly #names: ToolNames;
  /** Events of the current push. */
  #events = '';
  #sequence = 0;
  #model = '';
  /** Whole items by their index; an open item has none yet. */
  readonly #output: OutputItem[] = [];
  #items = 0;
  #open: OpenReasoning | OpenMessage | null = null;
  /** By the index in chat. */
  readonly #calls = new Map<number, OpenCall>();
  #finishReason: string | null = null;
  #usage: ChatUsage | null = null;

  constructor(request: ResponsesRequest, call: DialectCall) {
    this.#request = request;
    this.#call = call;
    this.#names = toolNames(request.tools);
  }

  push({ model, choices, usage }: ChatChunk): string {
    if (model) this.#model = model;
    if (this.#sequence === 0) this.#begin();
    const choice = choices?.[0];
    if (choice?.delta) this.#add(choice.delta);
    if (choice?.finish_reason) this.#finishReason = choice.finish_reason;
    if (usage) this.#usage = usage;
    return this.#takeEvents();
  }

  end(): string {
    const end = endOf(this.#finishReason);
    const status = end.status === 'completed' ? 'completed' : 'incomplete';
    this.#endItem(status);
    for (const call of this.#calls.values()) this.#endCall(call, status);
    const usage = this.#usage && toResponsesUsage(this.#usage);
    this.#emitResponse(`response.${end.status}`, { ...end, usage });
    return this.#takeEvents();
  }

  /** OpenAI's clients throw at `error`; others read `response.failed`. */
  fail(error: ServiceError, requestId: string): string {
    const failure = namedEvent(responsesError(error, requestId, this.#sequence++));
    this.#emitResponse('response.failed', failedState(error));
    return failure + this.#takeEvents();
  }

  #begin(): void {
    for (const type of ['response.created', 'response.in_progress'])
      this.#emitResponse(type, { status: 'in_progress', usage: null });
  }

  #add(delta: ChatMessage<ChatToolCallPiece>): void {
    const thought = reasoningOf(delta);
    if (thought !== '' || delta.reasoning_details?.length)
      this.#think(thought, delta.reasoning_details ?? []);
    if (delta.content) this.#write('output_text', delta.content);
    if (delta.refusal) this.#write('refusal', delta.refusal);
    for (const annotation of delta.annotations ?? []) this.#annotate(toAnnotation(annotation));
    for (const piece of delta.tool_calls ?? []) this.#callFunction(piece);
  }

  #think(text: string, details: readonly ChatReasoningDetail[]): void {
    const item = this.#open?.type === 'reasoning' ? this.#open : this.#beginReasoning();
    addDetails(item.details, details);
    if (text === '') return;
    const at = { item_id: item.id, output_index: item.index, summary_index: 0 };
    if (item.text === '')
      this.#emit('response.reasoning_summary_part.added', { ...at, part: summaryPart('') });
    item.text += text;
    this.#emit('response.reasoning_summary_text.delta', { ...at, delta: text });
  }

  #beginReasoning(): OpenReasoning {
    this.#endItem('completed');
    const item: OpenReasoning = { type: 'reasoning', ...this.#place('rs'), text: '', details: [] };
    this.#emit('response.output_item.added', {
      output_index: item.index,
      item: reasoningItem(item.id, '', []),
    });
    this.#open = item;
    return item;
  }

  #write(type: OutputPart['type'], delta: string): void {
    const item = this.#partOf(type);
    const part = item.parts.at(-1) as OutputPart;
    if (part.type === 'refusal') part.refusal += delta;
    else part.text += delta;
    this.#emit(`response.${type}.delta`, {
      ...this.#contentAt(item),
      delta,
      ...(type === 'output_text' ? { logprobs: [] } : {}),
    });
  }

  #annotate(annotation: object): void {
    const item = this.#partOf('output_text');
    const { annotations } = item.parts.at(-1) as Extract<OutputPart, { type: 'output_text' }>;
    const at = { ...this.#contentAt(item), annotation_index: annotations.length };
    annotations.push(annotation);
    this.#emit('response.output_text.annotation.added', { ...at, annotation });
  }

  /** The open message, whose last part is of this type. */
  #partOf(type: OutputPart['type']): OpenMessage {
    const item = this.#open?.type === 'message' ? this.#open : this.#beginMessage();
    if (item.parts.at(-1)?.type === type) return item;
    this.#endPart(item);
    const empty: OutputPart = type === 'refusal' ? { type, refusal: '' } : textPart('');
    item.parts.push(empty);
    this.#emit('response.content_part.added', { ...this.#contentAt(item), part: empty });
    return item;
  }

  #beginMessage(): OpenMessage {
    this.#endItem('completed');
    const item: OpenMessage = { type: 'message', ...this.#place('msg'), parts: [] };
    this.#emit('response.output_item.added', {
      output_index: item.index,
      item: messageItem(item.id, [], 'in_progress'),
    });
    this.#open = item;
    return item;
  }

  #callFunction(piece: ChatToolCallPiece): void {
    const { index = 0, id, function: called, extra_content: extra } = piece;
    const call = this.#calls.get(index) ?? this.#beginCall(index, id, called?.name ?? '');
    call.extra = extra ?? call.extra;
    const delta = called?.arguments ?? '';
    if (delta === '') return;
    call.arguments += delta;
    const at = { item_id: call.id, output_index: call.index };
    this.#emit('response.function_call_arguments.delta', { ...at, delta });
  }

  #beginCall(index: number, id: string | undefined, name: string): OpenCall {
    this.#endItem('completed');
    const place = this.#place('fc');
    const call: OpenCall = { ...place, callId: id ?? '', name, arguments: '', extra: null };
    this.#calls.set(index, call);
    this.#emit('response.output_item.added', {
      output_index: call.index,
      item: this.#itemOf(call, 'in_progress'),
    });
    return call;
  }

  #endCall(call: OpenCall, status: OutputStatus): void {
    const { id: item_id, index: output_index, name } = call;
    const done = { item_id, output_index, name, arguments: call.arguments };
    this.#emit('response.function_call_arguments.done', done);
    this.#itemDone(call, this.#itemOf(call, status));
  }

  #itemOf({ id, callId, name, arguments: given, extra }: OpenCall, status: OutputStatus): OutputItem {
    const call = { id: callId, function: { name, arguments: given }, extra_content: extra ?? null };
    return callItem(id, call, status, this.#names);
  }

  /** Ends the open item of text or reasoning, if there is one. */
  #endItem(status: OutputStatus): void {
    const item = this.#open;
    this.#open = null;
    if (item?.type === 'message') {
      this.#endPart(item);
      this.#itemDone(item, messageItem(item.id, item.parts, status));
    } else if (item?.type === 'reasoning') this.#endReasoning(item);
  }

  #endReasoning(item: OpenReasoning): void {
    const { id, index, text, details } = item;
    if (text !== '') {
      const at = { item_id: id, output_index: index, summary_index: 0 };
      this.#emit('response.reasoning_summary_text.done', { ...at, text });
      this.#emit('response.reasoning_summary_part.done', { ...at, part: summaryPart(text) });
    }
    this.#itemDone(item, reasoningItem(id, text, details));
  }

  #endPart(item: OpenMessage): void {
    const part = item.parts.at(-1);
    if (!part) return;
    const at = this.#contentAt(item);
    if (part.type === 'refusal') this.#emit('response.refusal.done', { ...at, refusal: part.refusal });
    else this.#emit('response.output_text.done', { ...at, text: part.text, logprobs: [] });
    this.#emit('response.content_part.done', { ...at, part });
  }

  #contentAt({ id, index, parts }: OpenMessage): Fields {
    return { item_id: id, output_index: index, content_index: parts.length - 1 };
  }

  #itemDone({ index }: OpenItem, item: OutputItem): void {
    this.#output[index] = item;
    this.#emit('response.output_item.done', { output_index: index, item });
  }

  #place(prefix: string): OpenItem {
    const index = this.#items++;
    return { index, id: `${prefix}_${idSuffix(this.#call)}_${index}` };
  }

  #emitResponse(type: string, state: Omit<ResponseState, 'model' | 'output'>): void {
    const output = this.#output.filter((item) => item !== undefined);
    const response = responseObject(this.#request, this.#call, { ...state, model: this.#model, output });
    this.#emit(type, { response });
  }

  #emit(type: string, fields: Fields): void {
    this.#events += namedEvent({ type, sequence_number: this.#sequence++, ...fields });
  }

  #takeEvents(): string {
    const events = this.#events;
    this.#events = '';
    return events;
  }
}
