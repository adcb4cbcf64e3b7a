// Stored files: the HTTP shapes, the records, and what crosses the bus beside a file's bytes.
import { z } from 'zod';
import { idOf } from './ids.ts';
import { LIST_LIMIT_DEFAULT, LIST_LIMIT_MAX, listOf } from './lists.ts';

export const FILE_BYTES_MAX = 512 * 1024 * 1024;
export const FILENAME_BYTES_MAX = 255;
export const MEDIA_TYPE_DEFAULT = 'application/octet-stream';

/** A media type without parameters: nothing that could end or extend a header. */
export const MEDIA_TYPE_PATTERN = /^[A-Za-z0-9][\w.+-]{0,63}\/[A-Za-z0-9][\w.+-]{0,126}$/;
const SHA256_PATTERN = /^[0-9a-f]{64}$/;

export const fileObject = z.object({
  id: idOf('file').describe('Id of the file'),
  object: z.literal('file').describe('Always file'),
  filename: z.string().describe('Its name, as it was uploaded, without folders'),
  media_type: z
    .string()
    .describe(
      'What the upload said it is; text/plain where it said nothing, application/octet-stream where it said nonsense',
    ),
  bytes: z.int().nonnegative().describe('Its length'),
  sha256: z.string().regex(SHA256_PATTERN).describe('SHA-256 of its content, in hex'),
  created_at: z.iso.datetime().describe('When it was stored'),
});
export type FileObject = z.infer<typeof fileObject>;

/**
 * KV bucket `files`, key `<org>.<id>`; the content is the object of the same name in the object store `files`. Created
 * when the content is complete. `deleting_at`: the file is being deleted and is hidden.
 */
export const fileRecord = fileObject.omit({ object: true }).extend({
  org: idOf('org'),
  deleting_at: z.iso.datetime().optional(),
});
export type FileRecord = z.infer<typeof fileRecord>;

const moving = z.record(z.string(), z.object({ bytes: z.int().nonnegative(), at: z.iso.datetime() }));

/** KV bucket `file-usage`, key: the org. What counts against its quota, changed by compare-and-set only. */
export const fileUsage = z.object({
  /** Bytes of all its files, those that are leaving included. */
  bytes: z.int().nonnegative(),
  /** Uploads that are on: file id -> what is set apart for it, and when that was last said. */
  arriving: moving,
  /** Deletions that are on: file id -> its length, which `bytes` counts until the content is gone. */
  leaving: moving,
});
export type FileUsage = z.infer<typeof fileUsage>;

/** The form of an upload, for the OpenAPI document: it is read off the socket and never held. */
export const uploadForm = z
  .object({
    file: z
      .string()
      .meta({ contentMediaType: 'application/octet-stream' })
      .describe('The file, with its name and type; at most 512 MB'),
    purpose: z.string().optional().describe('What clients of OpenAI send; it has no meaning here'),
  })
  .meta({ examples: [{ file: 'city,inhabitants\nUlm,126000\n', purpose: 'user_data' }] });

/** What clients of OpenAI may ask for; a page has `LIST_LIMIT_MAX` of them at most all the same. */
const OPENAI_LIST_LIMIT_MAX = 10_000;

export const filesQuery = z.strictObject({
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(OPENAI_LIST_LIMIT_MAX)
    .optional()
    .meta({
      description: `Files at most; over ${LIST_LIMIT_MAX} counts as that`,
      default: LIST_LIMIT_DEFAULT,
    }),
  cursor: z.string().max(200).optional().describe('`next_cursor` of the page before'),
  after: z.string().max(200).optional().describe('The same, under the name that clients of OpenAI use'),
  order: z.enum(['asc', 'desc']).optional().meta({ description: 'By the time of storing', default: 'desc' }),
  purpose: z.string().max(100).optional().describe('What clients of OpenAI send; it has no meaning here'),
});

export const fileList = listOf(fileObject);

export const deletedFile = z.object({
  id: z.string().describe('Id of the file that is gone'),
  object: z.literal('file').describe('Always file'),
  deleted: z.literal(true).describe('Always true'),
});

export function toFileObject({ org: _org, deleting_at: _at, id, ...rest }: FileRecord): FileObject {
  return { id, object: 'file', ...rest };
}

/** Name of a file's record and of its content. */
export function fileKey(org: string, id: string): string {
  return `${org}.${id}`;
}

// Two operations of control carry a file's bytes and so are calls with a stream; their heads:

/** Its body is the content, its answer a `fileObject` as the end's meta. */
export const FILE_STORE_SUBJECT = 'control.v1.files.create';
export const fileStoreHead = z.object({
  request_id: z.string(),
  org: z.string(),
  key_id: z.string(),
  filename: z.string(),
  media_type: z.string(),
  /** The content has at least so many bytes: so much of the quota is set apart at once. */
  bytes_min: z.int().nonnegative(),
});
export type FileStoreHead = z.infer<typeof fileStoreHead>;

/** Its answer's head is a `fileObject`, its body the content, or the part of it that was asked for. */
export const FILE_CONTENT_SUBJECT = 'control.v1.files.content';
export const fileContentHead = z.object({
  request_id: z.string(),
  org: z.string(),
  key_id: z.string(),
  id: z.string(),
  /** From `start` up to, and not including, `end`. */
  range: z.object({ start: z.int().nonnegative(), end: z.int().nonnegative() }).optional(),
});
export type FileContentHead = z.infer<typeof fileContentHead>;
