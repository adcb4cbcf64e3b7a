// Speech: the maker's bytes as they come. Its price is known before the first of them, from the text alone.
import { type CatalogModel, type ModelReplyHead, spokenCharacters } from '@switchyard/contracts';
import { type Price, priceCharacters } from '../calls/pricing.ts';
import type { StreamEnd, StreamedAnswer } from './streamed-answer.ts';
import { UnusableAnswer } from './unusable-answer.ts';

const SOUND = /^(audio\/|application\/(octet-stream|ogg))/;

export class AudioAnswer implements StreamedAnswer {
  readonly #price: Price;
  #forwarded = false;

  constructor(model: CatalogModel, input: string) {
    this.#price = priceCharacters(model, spokenCharacters(input));
  }

  get forwarded(): boolean {
    return this.#forwarded;
  }

  takes(contentType: string): boolean {
    return SOUND.test(contentType);
  }

  head(contentType: string): ModelReplyHead {
    return { status: 200, content_type: contentType, cost: this.#price.cost };
  }

  push(bytes: Buffer): Buffer | null {
    if (bytes.length === 0) return null;
    this.#forwarded = true;
    return bytes;
  }

  finish(): StreamEnd {
    if (!this.#forwarded) throw new UnusableAnswer('the answer has no sound in it');
    return { last: Buffer.alloc(0), ...this.produced() };
  }

  /** A maker charges for all of the text once it has begun to speak. */
  produced(): Pick<StreamEnd, 'price' | 'basis'> {
    return { price: this.#price, basis: 'upstream' };
  }

  lastWords(): null {
    return null;
  }
}
