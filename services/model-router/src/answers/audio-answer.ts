// Speech: passes the maker's bytes on as they arrive. The text alone determines the price, so it is known in advance.
import { type CatalogModel, type ModelReplyHead, spokenCharacters } from '@switchyard/contracts';
import { UnusableAnswer } from '../makers/unusable-answer.ts';
import { type Price, priceUnits } from '../spending/pricing.ts';
import type { StreamEnd, StreamedAnswer } from './streamed-answer.ts';

const SOUND = /^(audio\/|application\/(octet-stream|ogg))/;

export class AudioAnswer implements StreamedAnswer {
  readonly ended = false;
  readonly #price: Price;
  #forwarded = false;

  constructor(model: CatalogModel, input: string) {
    this.#price = priceUnits(model, { characters: spokenCharacters(input) });
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

  /** A maker charges for the whole text once it starts to speak. */
  produced(): Pick<StreamEnd, 'price' | 'basis'> {
    return { price: this.#price, basis: 'upstream' };
  }

  lastWords(): null {
    return null;
  }
}
