// A streamed chat answer in another dialect: chat prices it and decides when to pass it on; the translator formats it.
import type { ModelReplyHead, ServiceError } from '@switchyard/contracts';
import { dataOf, EVENT_END } from '../answers/sse-events.ts';
import type { StreamEnd, StreamedAnswer } from '../answers/streamed-answer.ts';
import type { ChatChunk } from './chat-shapes.ts';
import type { StreamTranslator } from './dialect.ts';
import { flattenContent } from './flat-content.ts';

export class TranslatedStream implements StreamedAnswer {
  readonly #chat: StreamedAnswer;
  readonly #translator: StreamTranslator;

  /** @param chat returns whole events, as `SseAnswer` does */
  constructor(chat: StreamedAnswer, translator: StreamTranslator) {
    this.#chat = chat;
    this.#translator = translator;
  }

  get forwarded(): boolean {
    return this.#chat.forwarded;
  }

  get ended(): boolean {
    return this.#chat.ended;
  }

  takes(contentType: string): boolean {
    return this.#chat.takes(contentType);
  }

  head(contentType: string): ModelReplyHead {
    return this.#chat.head(contentType);
  }

  push(bytes: Buffer): Buffer | null {
    const chunks = this.#chat.push(bytes);
    const events = chunks === null ? '' : this.#translate(chunks);
    return events === '' ? null : Buffer.from(events);
  }

  finish(): StreamEnd {
    const end = this.#chat.finish();
    return { ...end, last: Buffer.from(this.#translate(end.last) + this.#translator.end()) };
  }

  produced(): Pick<StreamEnd, 'price' | 'basis'> {
    return this.#chat.produced();
  }

  lastWords(error: ServiceError, requestId: string): Buffer {
    return Buffer.from(this.#translator.fail(error, requestId));
  }

  #translate(chunks: Buffer): string {
    let events = '';
    for (const event of chunks.toString('utf8').split(EVENT_END)) {
      if (event.trim() === '') continue;
      const data = dataOf(event);
      if (data === null)
        events += `${event}\n\n`; // a comment keeps the connection alive
      else if (data.trim() !== '[DONE]') {
        const chunk = JSON.parse(data) as ChatChunk;
        flattenContent(chunk);
        events += this.#translator.push(chunk);
      }
    }
    return events;
  }
}
