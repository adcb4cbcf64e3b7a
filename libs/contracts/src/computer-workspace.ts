// Files of a computer's /workspace, read and written directly, or copied from a stored file: the HTTP shapes, and the heads
// of requests to a host.
import { z } from 'zod';
import { askedRange, contentPart } from './byte-range.ts';

/** The folder for a computer's files, which is kept when it stops. */
export const WORKSPACE = '/workspace';
export const UPLOAD_PATH_BYTES_MAX = 4_096;
/** Maximum entries listed of a folder. */
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
        'Target in /workspace: absolute or relative; with a slash at its end, the folder. Folders are created as needed. Default: the file’s name in /workspace',
      ),
  })
  .meta({ examples: [{ file: 'file_abc', path: 'data/cities.csv' }] });

export const uploadResult = z.object({
  path: z.string().describe('Its absolute path in the computer'),
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
    .describe('In /workspace: absolute or relative. Links are not followed. Default: /workspace itself'),
});

export const workspaceWriteQuery = z.strictObject({
  path: z
    .string()
    .min(1)
    .max(UPLOAD_PATH_BYTES_MAX)
    .describe(
      'The file in /workspace: absolute or relative. Folders are created as needed; links are not followed',
    ),
});

export const workspaceDeleteQuery = z.strictObject({
  path: z
    .string()
    .min(1)
    .max(UPLOAD_PATH_BYTES_MAX)
    .describe('In /workspace: absolute or relative. A link is removed itself, never its target'),
  recursive: z
    .enum(['true', 'false'])
    .optional()
    .describe('true: removes a folder with its contents; else only an empty one'),
});

export const workspaceEntry = z.object({
  name: z.string().describe('Its name in the folder'),
  type: z.enum(['file', 'folder', 'link', 'other']).describe('other: a pipe, a socket, a device'),
  bytes: z.int().nonnegative().describe('Its length'),
  modified_at: z.iso.datetime().describe('When it was last changed'),
});
export type WorkspaceEntry = z.infer<typeof workspaceEntry>;

export const workspaceFolder = z.object({
  object: z.literal('folder').describe('Always folder'),
  path: z.string().describe('Its absolute path in the computer'),
  entries: z.array(workspaceEntry).describe('What is in it, by name'),
  has_more: z.boolean().describe(`Whether it has over ${FOLDER_ENTRIES_MAX} entries, not all listed here`),
});
export type WorkspaceFolder = z.infer<typeof workspaceFolder>;

export const workspaceWritten = uploadResult.extend({
  sha256: z.string().describe('Digest of what was written, in hex'),
});
export type WorkspaceWritten = z.infer<typeof workspaceWritten>;

export const workspaceDeleted = z.object({
  path: z.string().describe('Absolute path of what was deleted'),
  deleted: z.literal(true).describe('Always true'),
});

/** Head of `computer-agent.v1.<hostId>.file-read`; the answer's body: the bytes, or a `workspaceFolder` as JSON. */
export const hostFileReadHead = z.object({
  request_id: z.string(),
  org: z.string(),
  id: z.string(),
  path: z.string(),
  range: askedRange.nullable(),
  /** The range applies only if the file has this tag. */
  if_range: z.string().nullable(),
});
export type HostFileReadHead = z.infer<typeof hostFileReadHead>;

export const hostFileReadReply = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('file'),
    name: z.string(),
    bytes: z.int().nonnegative(),
    modified_at: z.iso.datetime(),
    /** Changes with the file. */
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
  /** Null: unknown. */
  bytes: z.int().nonnegative().nullable(),
  /** Lists of tags, as in the headers: the replaced file must have one of the first, none of the second. */
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
