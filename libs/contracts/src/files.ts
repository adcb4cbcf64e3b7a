// Stored files: the HTTP shapes, the records, and what crosses the bus beside a file's bytes.
import { z } from 'zod';
import { contentPart } from './byte-range.ts';
import { idOf } from './ids.ts';
import { listOf, listQuery } from './lists.ts';

export const FILE_BYTES_MAX = 512 * 1024 * 1024;
/** All orgs share the memory for the records of files. */
export const FILES_PER_ORG_MAX = 20_000;
export const FILENAME_BYTES_MAX = 255;
export const MEDIA_TYPE_DEFAULT = 'application/octet-stream';

/** A media type without parameters: nothing that could end or extend a header. */
export const MEDIA_TYPE_PATTERN = /^[A-Za-z0-9][\w.+-]{0,63}\/[A-Za-z0-9][\w.+-]{0,126}$/;
const SHA256_PATTERN = /^[0-9a-f]{64}$/;

/** Purposes of OpenAI's clients; here they are only a filter for lists. */
const FILE_PURPOSES = ['assistants', 'batch', 'evals', 'fine-tune', 'user_data', 'vision'] as const;
const filePurpose = z.enum(FILE_PURPOSES);
const FILE_EXPIRY_SECONDS_MIN = 3_600;
/** 30 days. */
const FILE_EXPIRY_SECONDS_MAX = 2_592_000;

const unixSeconds = z.int().nonnegative();

/** OpenAI's File object, with our own members after its own. */
export const fileObject = z.object({
  id: idOf('file').describe('Id of the file'),
  object: z.literal('file').describe('Always file'),
  filename: z.string().describe('Name of the uploaded file, without folders'),
  purpose: filePurpose.describe('Purpose of its upload; user_data if the upload named none'),
  bytes: z.int().nonnegative().describe('Its length'),
  created_at: unixSeconds.describe('When it was stored, in seconds since 1970'),
  expires_at: unixSeconds
    .optional()
    .describe('When it expires, in seconds since 1970; absent: it is kept until deleted'),
  status: z.literal('processed').describe('Always processed: a file is stored whole, or not at all'),
  media_type: z
    .string()
    .describe('As the upload declared it; text/plain if undeclared, application/octet-stream if invalid'),
  sha256: z.string().regex(SHA256_PATTERN).describe('SHA-256 of its content, in hex'),
  created_at_iso: z.iso.datetime().describe('`created_at` in ISO 8601, to the millisecond'),
  expires_at_iso: z.iso.datetime().optional().describe('`expires_at` in ISO 8601'),
});
export type FileObject = z.infer<typeof fileObject>;

/**
 * KV bucket `files`, key `<org>.<id>`; the content is the object of the same name in the object store `files`. Created
 * when the content is complete. `deleting_at`: the file is being deleted and is hidden.
 */
export const fileRecord = fileObject
  .pick({ id: true, filename: true, purpose: true, media_type: true, bytes: true, sha256: true })
  .extend({
    org: idOf('org'),
    created_at: z.iso.datetime(),
    expires_at: z.iso.datetime().optional(),
    deleting_at: z.iso.datetime().optional(),
  });
export type FileRecord = z.infer<typeof fileRecord>;

const moving = z.record(z.string(), z.object({ bytes: z.int().nonnegative(), at: z.iso.datetime() }));

/** KV bucket `file-usage`, key: the org. What counts against its quota, changed by compare-and-set only. */
export const fileUsage = z.object({
  /** Bytes of all its files, including those being deleted. */
  bytes: z.int().nonnegative(),
  /** How many files these are. */
  files: z.int().nonnegative(),
  /** Running uploads: file id -> bytes reserved for it, and when they were last renewed. */
  arriving: moving,
  /** Running deletions: file id -> its length, which `bytes` counts until the content is gone. */
  leaving: moving,
});
export type FileUsage = z.infer<typeof fileUsage>;

/** Fields of an upload's form, before or after its file. */
export const uploadFields = z.strictObject({
  purpose: filePurpose
    .default('user_data')
    .describe('OpenAI’s clients send it; here it is only a filter for lists'),
  'expires_after[anchor]': z.literal('created_at').optional().describe('From when the seconds count'),
  'expires_after[seconds]': z.coerce
    .number()
    .int()
    .min(FILE_EXPIRY_SECONDS_MIN)
    .max(FILE_EXPIRY_SECONDS_MAX)
    .optional()
    .describe('Seconds after which the file is deleted; default: it is kept until deleted'),
});

/** The form of an upload, for the OpenAPI document: it is streamed, never held in memory. */
export const uploadForm = uploadFields
  .extend({
    file: z
      .string()
      .meta({ contentMediaType: 'application/octet-stream' })
      .describe('The file, with its name and type; at most 512 MB'),
  })
  .meta({ examples: [{ file: 'city,inhabitants\nUlm,126000\n', purpose: 'user_data' }] });

export const filesQuery = listQuery.extend({
  order: z.enum(['asc', 'desc']).optional().meta({ description: 'By the time of storing', default: 'desc' }),
  purpose: filePurpose.optional().describe('Only files with this purpose'),
});

export const fileStorage = z.object({
  bytes: z.int().nonnegative().describe('Bytes stored, including unfinished uploads and deletions'),
  bytes_max: z.int().nonnegative().describe('Bytes that the org may store'),
  files: z.int().nonnegative().describe('Files stored, including unfinished uploads and deletions'),
  files_max: z.int().nonnegative().describe('Files that the org may store'),
});
export type FileStorage = z.infer<typeof fileStorage>;

export const fileList = listOf(fileObject).extend({
  storage: fileStorage.describe('What your org stores, and may store; filters do not change it'),
});

export const deletedFile = z.object({
  id: z.string().describe('Id of the deleted file'),
  object: z.literal('file').describe('Always file'),
  deleted: z.literal(true).describe('Always true'),
});

export function toFileObject(record: FileRecord): FileObject {
  const { id, filename, purpose, bytes, media_type, sha256, created_at, expires_at } = record;
  return {
    id,
    object: 'file',
    filename,
    purpose,
    bytes,
    created_at: toUnixSeconds(created_at),
    ...(expires_at === undefined ? {} : { expires_at: toUnixSeconds(expires_at) }),
    status: 'processed',
    media_type,
    sha256,
    created_at_iso: created_at,
    ...(expires_at === undefined ? {} : { expires_at_iso: expires_at }),
  };
}

function toUnixSeconds(iso: string): number {
  return Math.floor(Date.parse(iso) / 1000);
}

/** Name of a file's record and of its content. */
export function fileKey(org: string, id: string): string {
  return `${org}.${id}`;
}

// Two operations of control carry a file's bytes and so are calls with a stream; their heads:

/** Its body is the content and then a `fileStoreTrailer`, its answer a `fileObject` as the end's meta. */
export const FILE_STORE_SUBJECT = 'control.v1.files.create';
export const fileStoreHead = z.object({
  request_id: z.string(),
  org: z.string(),
  key_id: z.string(),
  filename: z.string(),
  media_type: z.string(),
  /** Minimum bytes of the content: this much of the quota is reserved at once. */
  bytes_min: z.int().nonnegative(),
});
export type FileStoreHead = z.infer<typeof fileStoreHead>;

/** What is known when the whole form has arrived: fields may follow the file. */
export const fileStoreTrailer = z.object({
  purpose: filePurpose,
  expires_after_seconds: z.int().nullable(),
});
export type FileStoreTrailer = z.infer<typeof fileStoreTrailer>;
/** Length of the trailer: JSON, filled up with blanks. */
export const FILE_STORE_TRAILER_BYTES = 256;

export function encodeFileStoreTrailer(trailer: FileStoreTrailer): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(trailer).padEnd(FILE_STORE_TRAILER_BYTES));
}

/** Its answer's head is a `fileObject`, its body the content, or the part of it that was asked for. */
export const FILE_CONTENT_SUBJECT = 'control.v1.files.content';
export const fileContentHead = z.object({
  request_id: z.string(),
  org: z.string(),
  key_id: z.string(),
  id: z.string(),
  range: contentPart.optional(),
});
export type FileContentHead = z.infer<typeof fileContentHead>;
