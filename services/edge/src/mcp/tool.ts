// The declaration of a tool, and the limits of all tools.
import { HOST_CREATE_TIMEOUT_MS, type Permission } from '@switchyard/contracts';
import type { z } from 'zod';
import type { OwnApi } from './own-api.ts';

/** Bytes of a message from a client. */
export const MESSAGE_BYTES_MAX = 1024 * 1024;
/** Objects, lists and members of objects in a message: it is checked at once, several times. */
export const MESSAGE_NODES_MAX = 10_000;
/** Characters of one text in a result; the rest is cut. */
export const TEXT_CHARACTERS_MAX = 64 * 1024;
/** Bytes of an image or a sound in a result; a larger one becomes a stored file, if it can be stored. */
export const MEDIA_BYTES_MAX = 1024 * 1024;
/** Bytes of media that are returned anyway when they cannot be stored. */
export const UNSTORED_MEDIA_BYTES_MAX = 8 * 1024 * 1024;
/** Seconds that results are kept as stored files. */
export const STORED_SECONDS = 86_400;
/** Time of one tool call: longer than a creation, whose image may have to be pulled. */
export const TOOL_MS_MAX = HOST_CREATE_TIMEOUT_MS + 60_000;
/** Seconds of a command: by default within the minute that most clients wait for a tool, and at most. */
export const COMMAND_S_DEFAULT = 50;
export const COMMAND_S_MAX = 240;

export interface Media {
  readonly bytes: Buffer;
  readonly mediaType: string;
}

export interface ToolResult {
  /** Goes into `structuredContent`. */
  readonly result: object;
  /** Text for the language model; default: `result` as JSON. */
  readonly text?: string;
  /** An image or a sound, shown beside the text. */
  readonly media?: Media | null;
}

export interface Tool {
  readonly name: string;
  readonly description: string;
  /** Keys without it do not see the tool; the API checks it again. */
  readonly permission: Permission | 'any';
  readonly input: z.ZodObject;
  /** It changes nothing. */
  readonly readOnly?: true;
  /** It deletes something. */
  readonly destructive?: true;
  run(input: never, api: OwnApi): Promise<ToolResult>;
}

/** Declares a tool; its schema types the input of `run`. */
export function tool<S extends z.ZodObject>(
  row: Omit<Tool, 'input' | 'run'> & {
    input: S;
    run(input: z.infer<S>, api: OwnApi): Promise<ToolResult>;
  },
): Tool {
  return row;
}
