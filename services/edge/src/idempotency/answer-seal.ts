// Encrypts kept answers with a key derived from the Idempotency-Key, of which only a hash is stored. A copy of the
// store reveals neither the secrets of API keys nor model output without the Idempotency-Key.
import {
  type CipherGCM,
  createCipheriv,
  createDecipheriv,
  type DecipherGCM,
  hkdfSync,
  randomBytes,
} from 'node:crypto';

const ALGORITHM = 'aes-256-gcm';
const KEY_BYTES = 32;
const IV_BYTES = 12;
const PURPOSE = 'switchyard: kept answers';

interface Seal {
  /** Both in base64. */
  readonly iv: string;
  readonly tag: string;
}

export function sealingKey(org: string, idempotencyKey: string): Buffer {
  return Buffer.from(hkdfSync('sha256', idempotencyKey, org, PURPOSE, KEY_BYTES));
}

/** Encrypts one answer, piece by piece. */
export class Sealing {
  readonly #iv = randomBytes(IV_BYTES);
  readonly #cipher: CipherGCM;

  constructor(key: Buffer) {
    this.#cipher = createCipheriv(ALGORITHM, key, this.#iv);
  }

  add(piece: Buffer): Buffer {
    return this.#cipher.update(piece);
  }

  end(): Seal {
    this.#cipher.final(); // returns no bytes in this mode
    return { iv: this.#iv.toString('base64'), tag: this.#cipher.getAuthTag().toString('base64') };
  }
}

/** Throws at the end when the bytes are not those that were sealed. */
export async function* unsealed(
  key: Buffer,
  { iv, tag }: Seal,
  sealed: AsyncIterable<Uint8Array>,
): AsyncGenerator<Buffer> {
  const decipher: DecipherGCM = createDecipheriv(ALGORITHM, key, Buffer.from(iv, 'base64'));
  decipher.setAuthTag(Buffer.from(tag, 'base64'));
  for await (const piece of sealed) yield decipher.update(piece);
  decipher.final();
}
