// Encrypts makers' API keys for the bucket `provider-keys`: AES-256-GCM with a key derived from the installation's
// SWITCHYARD_PROVIDERS_SECRET. Control seals them; the services that call makers open them.
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { PROVIDERS_SECRET_LENGTH_MIN, type ProviderKeyRecord } from '@switchyard/contracts';
import { z } from 'zod';

const ALGORITHM = 'aes-256-gcm';
const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const PURPOSE = 'switchyard: keys of providers';

/** The setting of the services that seal or open. */
export const providersConfig = {
  SWITCHYARD_PROVIDERS_SECRET: z
    .string()
    .min(PROVIDERS_SECRET_LENGTH_MIN, `${PROVIDERS_SECRET_LENGTH_MIN} characters or more`)
    .optional(),
} as const;

/** Thrown when a key cannot be sealed or opened; the message names the reason and no secret. */
export class KeyLocked extends Error {}

type Sealed = ProviderKeyRecord['sealed'];

export class ProviderSeal {
  readonly #key: Buffer | null;

  /** @param secret undefined: nothing can be sealed or opened */
  constructor(secret: string | undefined) {
    this.#key = secret === undefined ? null : Buffer.from(hkdfSync('sha256', secret, '', PURPOSE, KEY_BYTES));
  }

  /** @param variable environment variable that the key replaces; a key sealed for one cannot be opened for another */
  seal(variable: string, apiKey: string): Sealed {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv(ALGORITHM, this.#secretKey(), iv).setAAD(Buffer.from(variable));
    const data = Buffer.concat([cipher.update(apiKey, 'utf8'), cipher.final()]);
    return { iv: base64(iv), tag: base64(cipher.getAuthTag()), data: base64(data) };
  }

  /** @throws KeyLocked for another secret, and for an entry that was changed or moved */
  open(variable: string, { iv, tag, data }: Sealed): string {
    const key = this.#secretKey();
    try {
      const options = { authTagLength: TAG_BYTES };
      const decipher = createDecipheriv(ALGORITHM, key, Buffer.from(iv, 'base64'), options)
        .setAAD(Buffer.from(variable))
        .setAuthTag(Buffer.from(tag, 'base64'));
      return Buffer.concat([decipher.update(data, 'base64'), decipher.final()]).toString('utf8');
    } catch (cause) {
      throw new KeyLocked(
        'the stored key was encrypted with another SWITCHYARD_PROVIDERS_SECRET: restore it, or delete the key',
        { cause },
      );
    }
  }

  #secretKey(): Buffer {
    if (this.#key === null)
      throw new KeyLocked(
        'SWITCHYARD_PROVIDERS_SECRET is not set: set it on control, model-router and video-worker',
      );
    return this.#key;
  }
}

function base64(bytes: Buffer): string {
  return bytes.toString('base64');
}
