// Copying a stored file into a computer: the HTTP shapes, and the head of the call by which control sends its bytes to
// the computer's host.
import { z } from 'zod';

/** Where files of a computer go: the folder that outlives its stops. */
export const WORKSPACE = '/workspace';
export const UPLOAD_PATH_BYTES_MAX = 4_096;

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
