// Where in /workspace a file is to go, from what its caller wrote. Only words here, no file system: links are met when the
// path is walked (place-file.ts).
import { ServiceError, WORKSPACE } from '@switchyard/contracts';

/** The kernel's own limit for one name. */
const NAME_BYTES_MAX = 255;
const DEPTH_MAX = 64;

export interface WorkspacePath {
  /** Names of the folders below /workspace. */
  readonly folders: readonly string[];
  readonly name: string;
  /** From the root of the computer. */
  readonly absolute: string;
}

/**
 * @param path as the caller gave it; null: the file's name in /workspace
 * @throws ServiceError `invalid_request`, param `path`.
 */
export function workspacePath(path: string | null, filename: string): WorkspacePath {
  const fallback = filename.replaceAll('/', '_');
  if (path === null) return toPath([fallback]);
  if (path.includes('\0')) throw refuse('holds a zero byte');
  const inside = path.startsWith('/') ? belowWorkspace(path) : path;
  const names = inside.split('/').filter((name) => name !== '' && name !== '.');
  if (names.includes('..')) throw refuse(`must stay inside ${WORKSPACE}: it has a ".."`);
  const isFolder = /(^|\/)\.?$/.test(inside);
  return toPath(isFolder ? [...names, fallback] : names);
}

function belowWorkspace(path: string): string {
  if (path === WORKSPACE) return '';
  if (!path.startsWith(`${WORKSPACE}/`)) throw refuse(`must be inside ${WORKSPACE}`);
  return path.slice(WORKSPACE.length + 1);
}

function toPath(names: readonly string[]): WorkspacePath {
  const long = names.find((one) => Buffer.byteLength(one) > NAME_BYTES_MAX);
  if (long !== undefined) throw refuse(`has a name of over ${NAME_BYTES_MAX} bytes`);
  if (names.length > DEPTH_MAX) throw refuse(`has over ${DEPTH_MAX} names`);
  return {
    folders: names.slice(0, -1),
    name: names.at(-1) as string,
    absolute: `${WORKSPACE}/${names.join('/')}`,
  };
}

function refuse(what: string): ServiceError {
  return new ServiceError('invalid_request', `path: ${what}`, { param: 'path' });
}
