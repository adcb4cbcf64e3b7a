// The registry of an image, reached through the agent's own egress: each request, redirect and token server is resolved
// once, checked, and connected to at that address. Everything fetched is verified against its digest.
import { createHash } from 'node:crypto';
import { boundedList, type ServiceError } from '@switchyard/contracts';
import type { Egress, EgressResponse } from '@switchyard/egress';
import { z } from 'zod';
import type { ImageReference } from './image-reference.ts';

/** Why an image cannot be pulled: `details.reason` of `image_unavailable`. */
export type ImageFailureReason =
  | 'private_registry'
  | 'not_found'
  | 'unauthorized'
  | 'rate_limited'
  | 'wrong_platform'
  | 'too_large'
  | 'no_room'
  | 'stalled'
  | 'too_slow'
  | 'failed';

export class ImageFailure extends Error {
  readonly reason: ImageFailureReason;

  constructor(reason: ImageFailureReason, why: string, cause?: unknown) {
    super(why, { cause });
    this.reason = reason;
  }
}

const BYTES_PER_MIB = 1024 * 1024;
const MANIFEST_BYTES_MAX = 4 * BYTES_PER_MIB;
const CONFIG_BYTES_MAX = 8 * BYTES_PER_MIB;
const TOKEN_BYTES_MAX = 64 * 1024;
/** The engine's own limit (overlay2). */
const LAYERS_MAX = 127;
/** Manifests in an index: one per platform. */
const MANIFESTS_MAX = 1_000;
/** Environment variables that an image sets, and characters of each. */
const VARIABLES_MAX = 200;
const VARIABLE_CHARS_MAX = 4_096;
const VARIANT_CHARS_MAX = 64;
/** Characters of a `www-authenticate` header; the rest is ignored. */
const CHALLENGE_CHARS_MAX = 4_096;
/** Attempts to fetch one blob; each resumes where the previous one was cut off. */
const ATTEMPTS_MAX = 3;
/** Longer than a whole pull may take: the pull ends its requests itself. */
const REQUEST_TIMEOUT_MS = 3_600_000;
const PARAM = 'its registry';

const MANIFEST_TYPES = [
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
];
const INDEX_TYPES = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
];

const digest = z.string().regex(/^sha256:[a-f0-9]{64}$/);
const descriptor = z.object({
  digest,
  size: z.number().int().min(0),
});
export type Descriptor = z.infer<typeof descriptor>;

const platform = z.object({ os: z.string(), architecture: z.string() });
const index = z.object({
  manifests: boundedList(descriptor.extend({ platform: platform.optional() }), { max: MANIFESTS_MAX }),
});
const manifest = z.object({
  config: descriptor,
  layers: boundedList(descriptor, { min: 1, max: LAYERS_MAX }),
});
const imageConfig = platform.extend({
  variant: z.string().max(VARIANT_CHARS_MAX).optional(),
  rootfs: z.object({ diff_ids: boundedList(digest, { max: LAYERS_MAX }) }),
  config: z
    .object({ Env: boundedList(z.string().max(VARIABLE_CHARS_MAX), { max: VARIABLES_MAX }).nullish() })
    .nullish(),
});
const tokenAnswer = z.object({ token: z.string().optional(), access_token: z.string().optional() });

/** An image of one platform, from its manifest. */
export interface RemoteImage {
  /** Digest of its manifest. */
  readonly digest: string;
  readonly config: Descriptor;
  /** The lowest first. */
  readonly layers: readonly Descriptor[];
}

/** Configuration of an image, which the engine needs beside the layers. */
export interface RemoteConfig {
  /**
   * Only what a computer uses: platform, layers and environment. The engine would mount a volume over our own mounts and
   * fill it before its size is bounded, and would keep labels for each container.
   */
  readonly bytes: Buffer;
  /** Digests of the unpacked layers, the lowest first. */
  readonly diffIds: readonly string[];
}

interface RegistryDeps {
  readonly egress: Egress;
  readonly reference: ImageReference;
  /** Architecture of this host's engine, as Go names it. */
  readonly architecture: () => Promise<string>;
  readonly signal: AbortSignal;
}

/** One image's registry. Every method throws ImageFailure, and what the egress throws. */
export class ImageRegistry {
  readonly #deps: RegistryDeps;
  #token: string | undefined;

  constructor(deps: RegistryDeps) {
    this.#deps = deps;
  }

  /** The image that the name stands for. @throws ImageFailure `wrong_platform` */
  async lookUp(): Promise<RemoteImage> {
    let found = await this.#manifest(this.#deps.reference.wanted);
    const list = index.safeParse(found.content);
    if (list.success) {
      const images = list.data.manifests.flatMap(({ digest, platform }) =>
        platform ? [{ ...platform, digest }] : [],
      );
      found = await this.#manifest((await this.#runnable(images)).digest);
    }
    const image = manifest.safeParse(found.content);
    if (!image.success)
      throw new ImageFailure('failed', 'the format of its manifest is not supported', image.error);
    return { digest: found.digest, ...image.data };
  }

  /** @throws ImageFailure `wrong_platform` */
  async config({ config, layers }: RemoteImage): Promise<RemoteConfig> {
    if (config.size > CONFIG_BYTES_MAX) throw new ImageFailure('failed', 'its configuration is too large');
    const bytes = Buffer.concat(await Array.fromAsync(this.layer(config)));
    const parsed = imageConfig.safeParse(parseJson(bytes));
    if (!parsed.success || parsed.data.rootfs.diff_ids.length !== layers.length)
      throw new ImageFailure(
        'failed',
        'its configuration is not valid, or does not match its layers',
        parsed.error,
      );
    await this.#runnable([parsed.data]);
    const { rootfs, config: defaults, ...platformOfImage } = parsed.data;
    const kept = {
      ...platformOfImage,
      rootfs: { type: 'layers', ...rootfs },
      config: { Env: defaults?.Env ?? [] },
    };
    return { bytes: Buffer.from(JSON.stringify(kept)), diffIds: rootfs.diff_ids };
  }

  /** The bytes of a layer or configuration. Throws after the last byte if they do not match the digest. */
  async *layer({ digest, size }: Descriptor): AsyncGenerator<Buffer> {
    const hash = createHash('sha256');
    let done = 0;
    for (let attempt = 1; done < size || attempt === 1; attempt += 1) {
      try {
        const answer = await this.#get(`blobs/${digest}`, size, done > 0 ? { range: `bytes=${done}-` } : {});
        if (done > 0 && answer.status !== 206) {
          answer.close();
          throw new ImageFailure('failed', 'a layer was cut off, and its registry cannot resume it');
        }
        for await (const bytes of answer.body) {
          done += bytes.length;
          hash.update(bytes);
          yield bytes;
        }
        if (done < size) throw new Error('the blob is shorter than announced');
      } catch (error) {
        this.#deps.signal.throwIfAborted();
        const isFinal = error instanceof ImageFailure || (error as ServiceError).code === 'url_not_allowed';
        if (isFinal || attempt === ATTEMPTS_MAX) throw error;
      }
    }
    if (done !== size || `sha256:${hash.digest('hex')}` !== digest)
      throw new ImageFailure('failed', 'data of its registry does not match the digest in its manifest');
  }

  /** A manifest or an index. */
  async #manifest(name: string): Promise<{ digest: string; content: unknown }> {
    const accept = [...MANIFEST_TYPES, ...INDEX_TYPES].join(', ');
    const answer = await this.#get(`manifests/${name}`, MANIFEST_BYTES_MAX, { accept });
    const bytes = await answer.bytes();
    const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
    if (name.startsWith('sha256:') && name !== digest)
      throw new ImageFailure('failed', 'its manifest does not match its digest');
    return { digest, content: parseJson(bytes) };
  }

  /** @returns the first that runs on this host's engine */
  async #runnable<T extends z.infer<typeof platform>>(images: readonly T[]): Promise<T> {
    const own = await this.#deps.architecture();
    const found = images.find(({ os, architecture }) => os === 'linux' && architecture === own);
    if (found) return found;
    const names = images.map(({ os, architecture }) => `${os}/${architecture}`).join(', ');
    const why = `it is for ${names || 'no platform'}, and its host runs linux/${own}`;
    throw new ImageFailure('wrong_platform', why);
  }

  /** Fetches with a token if the registry asks for one. */
  async #get(
    path: string,
    bytesMax: number,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<EgressResponse> {
    const { egress, signal } = this.#deps;
    let answer = await this.#fetch(path, bytesMax, headers);
    if (answer.status === 401) {
      answer.close();
      this.#token = await fetchToken(egress, answer, signal);
      answer = await this.#fetch(path, bytesMax, headers);
    }
    if (answer.status === 200 || answer.status === 206) return answer;
    answer.close();
    throw refusalOf(answer.status);
  }

  #fetch(path: string, bytesMax: number, headers: Readonly<Record<string, string>>): Promise<EgressResponse> {
    const { egress, reference, signal } = this.#deps;
    const authorization = this.#token === undefined ? {} : { authorization: `Bearer ${this.#token}` };
    return egress.fetch(`${reference.origin}/v2/${reference.path}/${path}`, {
      param: PARAM,
      headers: { ...headers, ...authorization },
      bytesMax,
      timeoutMs: REQUEST_TIMEOUT_MS,
      signal,
    });
  }
}

/** An anonymous token from the server that the registry names. */
async function fetchToken(egress: Egress, refused: EgressResponse, signal: AbortSignal): Promise<string> {
  const challenge = (refused.headers['www-authenticate'] ?? '').slice(0, CHALLENGE_CHARS_MAX);
  const { realm = '', ...query } = Object.fromEntries(
    [...challenge.matchAll(/\b(\w{1,32})="([^"]*)"/g)].map(([, name = '', value = '']) => [
      name.toLowerCase(),
      value,
    ]),
  );
  if (!/^bearer /i.test(challenge) || !URL.canParse(realm)) throw refusalOf(401);
  const url = new URL(realm);
  for (const name of ['service', 'scope'])
    if (query[name] !== undefined) url.searchParams.set(name, query[name]);
  const answer = await egress.fetch(url.href, {
    param: PARAM,
    bytesMax: TOKEN_BYTES_MAX,
    timeoutMs: REQUEST_TIMEOUT_MS,
    signal,
  });
  if (answer.status !== 200) {
    answer.close();
    throw refusalOf(answer.status);
  }
  const given = tokenAnswer.safeParse(parseJson(await answer.bytes()));
  const token = given.data?.token ?? given.data?.access_token;
  if (token === undefined) throw refusalOf(401);
  return token;
}

/** Reason and explanation for each status of a registry's answer. */
const REFUSALS: Readonly<Record<number, readonly [ImageFailureReason, string]>> = {
  401: ['unauthorized', 'its registry requires a login; use a public image'],
  403: ['unauthorized', 'its registry denies access; use a public image'],
  404: ['not_found', 'its registry has no such image; check the name and tag'],
  429: ['rate_limited', 'its registry limits the requests of this host; try again later'],
};

function refusalOf(status: number): ImageFailure {
  const [reason, why] = REFUSALS[status] ?? ['failed', `its registry answered with status ${status}`];
  return new ImageFailure(reason, why);
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return undefined;
  }
}
