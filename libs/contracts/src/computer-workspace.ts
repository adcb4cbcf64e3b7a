// Files of a computer's /workspace, read and written directly, or copied from a stored file: the HTTP shapes, and the heads
// by which a host is asked.
import { z } from 'zod';
import { askedRange, contentPart } from './byte-range.ts';

/** Where files of a computer go: the folder that outlives its stops. */
export const WORKSPACE = '/workspace';
export const UPLOAD_PATH_BYTES_MAX = 4_096;
/** Entries of a folder that are listed at most. */
export const FOLDER_ENTRIES_MAX = 10_000;

export const uploadRequest = z
  .strictObject({
    file: z.string().min(1).max(200).describe('Id of the stored file'),
    path: z
      .string()
      .min(1)
      .max(UPLOAD_PATH_BYTES_MAX)
      .optional()
      .describe(
        'Where to, in /workspace: absolute, or from there; with a slash at its end, the folder. Folders are made as needed. Default: the file’s name in /workspace',
      ),
  })
  .meta({ examples: [{ file: 'file_abc', path: 'data/cities.csv' }] });

export const uploadResult = z.object({
  path: z.string().describe('Where it is now, from the root of the computer'),
  bytes: z.int().nonnegative().describe('Its length'),
});

/** Head of `computer-agent.v1.<hostId>.upload`; its body is the content, its answer an `uploadResult` as the end's meta. */
export const hostUploadHead = z.object({
  request_id: z.string().nullable(),
  org: z.string(),
  id: z.string(),
  /** As the caller gave it; null: `filename` in /workspace. */
  path: z.string().nullable(),
  filename: z.string(),
  bytes: z.int().nonnegative(),
  sha256: z.string(),
});
export type HostUploadHead = z.infer<typeof hostUploadHead>;

export const workspaceQuery = z.strictObject({
  path: z
    .string()
    .max(UPLOAD_PATH_BYTES_MAX)
    .default('')
    .describe('In /workspace: absolute, or from there. Links are not followed. Default: /workspace itself'),
});

export const workspaceWriteQuery = z.strictObject({
  path: z
    .string()
    .min(1)
    .max(UPLOAD_PATH_BYTES_MAX)
    .describe(
      'The file, in /workspace: absolute, or from there. Folders are made as needed; links are not followed',
    ),
});

export const workspaceDeleteQuery = z.strictObject({
  path: z
    .string()
    .min(1)
    .max(UPLOAD_PATH_BYTES_MAX)
    .describe('In /workspace: absolute, or from there. A link is removed itself, never what it points to'),
  recursive: z
    .enum(['true', 'false'])
    .optional()
    .describe('true: a folder goes with all that is in it; else only an empty one does'),
});

export const workspaceEntry = z.object({
  name: z.string().describe('Its name in the folder'),
  type: z.enum(['file', 'folder', 'link', 'other']).describe('other: a pipe, a socket, a device'),
  bytes: z.int().nonnegative().describe('Its length'),
  modified_at: z.iso.datetime().describe('When it was changed last'),
});
export type WorkspaceEntry = z.infer<typeof workspaceEntry>;

export const workspaceFolder = z.object({
  object: z.literal('folder').describe('Always folder'),
  path: z.string().describe('Where it is, from the root of the computer'),
  entries: z.array(workspaceEntry).describe('What is in it, by name'),
  has_more: z
    .boolean()
    .describe(`Whether it has over ${FOLDER_ENTRIES_MAX} entries, of which these are some`),
});
export type WorkspaceFolder = z.infer<typeof workspaceFolder>;

export const workspaceWritten = uploadResult.extend({
  sha256: z.string().describe('Digest of what was written, in hex'),
});
export type WorkspaceWritten = z.infer<typeof workspaceWritten>;

export const workspaceDeleted = z.object({
  path: z.string().describe('What is gone, from the root of the computer'),
  deleted: z.literal(true).describe('Always true'),
});

/** Head of `computer-agent.v1.<hostId>.file-read`; the answer's body: the bytes, or a `workspaceFolder` as JSON. */
export const hostFileReadHead = z.object({
  request_id: z.string(),
  org: z.string(),
  id: z.string(),
  path: z.string(),
  range: askedRange.nullable(),
  /** The range counts only while the file has this tag. */
  if_range: z.string().nullable(),
});
export type HostFileReadHead = z.infer<typeof hostFileReadHead>;

export const hostFileReadReply = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('file'),
    name: z.string(),
    bytes: z.int().nonnegative(),
    modified_at: z.iso.datetime(),
    /** Another one when the file has changed. */
    etag: z.string(),
    /** The part that follows; null: all. */
    part: contentPart.nullable(),
  }),
  z.object({ kind: z.literal('folder') }),
]);
export type HostFileReadReply = z.infer<typeof hostFileReadReply>;

/** Head of `computer-agent.v1.<hostId>.file-write`; its body is the content, its answer a `workspaceWritten` as the end's meta. */
export const hostFileWriteHead = z.object({
  request_id: z.string(),
  org: z.string(),
  id: z.string(),
  path: z.string(),
  /** Null: not known before. */
  bytes: z.int().nonnegative().nullable(),
  /** Tags of which the file that is replaced must have one, and must have none; lists as in the headers. */
  if_match: z.string().nullable(),
  if_none_match: z.string().nullable(),
});
export type HostFileWriteHead = z.infer<typeof hostFileWriteHead>;
export type WriteCondition = Pick<HostFileWriteHead, 'if_match' | 'if_none_match'>;

/** Whether the list of tags, as in `If-Match`, names this one; `*` names all. @param tag null: there is no file */
export function namesTag(list: string, tag: string | null): boolean {
  const named = list.split(',').map((one) => one.trim());
  return tag !== null && named.some((one) => one === '*' || one.replace(/^W\//, '') === tag);
}
