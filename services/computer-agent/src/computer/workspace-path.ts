// Parses the path of a file in /workspace given by a caller. Text only, no I/O: links are checked when the path is
// walked (place-file.ts).
import { invalidParam, WORKSPACE } from '@switchyard/contracts';

/** The kernel's limit for one name. */
const NAME_BYTES_MAX = 255;
const DEPTH_MAX = 64;

export interface WorkspacePath {
  /** Names of the folders below /workspace. */
  readonly folders: readonly string[];
  readonly name: string;
  /** Absolute path in the computer. */
  readonly absolute: string;
}

/**
 * @param path as the caller gave it; null: the file's name in /workspace
 * @throws ServiceError `invalid_request`, param `path`
 */
export function workspacePath(path: string | null, filename: string): WorkspacePath {
  const fallback = filename.replaceAll('/', '_');
  if (path === null) return toPath([fallback]);
  const names = workspaceNames(path);
  return toPath(namesFolder(path) ? [...names, fallback] : names);
}

/**
 * Parses the full path of a file.
 * @throws ServiceError `invalid_request`, param `path`, also when the path can only be a folder
 */
export function workspaceFile(path: string): WorkspacePath {
  const names = workspaceNames(path);
  if (names.length === 0 || namesFolder(path))
    throw invalidParam('path', 'names a folder: the name of the file is missing');
  return toPath(names);
}

/**
 * Names from /workspace on; empty: /workspace itself.
 * @throws ServiceError `invalid_request`, param `path`
 */
export function workspaceNames(path: string): string[] {
  if (path.includes('\0')) throw invalidParam('path', 'holds a zero byte');
  const names = inside(path)
    .split('/')
    .filter((name) => name !== '' && name !== '.');
  if (names.includes('..')) throw invalidParam('path', `must stay inside ${WORKSPACE}: it has a ".."`);
  return checked(names);
}

/** Absolute path in the computer. */
export function absolutePath(names: readonly string[]): string {
  return [WORKSPACE, ...names].join('/');
}

function namesFolder(path: string): boolean {
  return /(^|\/)\.?$/.test(inside(path));
}

function inside(path: string): string {
  return path.startsWith('/') ? belowWorkspace(path) : path;
}

function belowWorkspace(path: string): string {
  if (path === WORKSPACE) return '';
  if (!path.startsWith(`${WORKSPACE}/`)) throw invalidParam('path', `must be inside ${WORKSPACE}`);
  return path.slice(WORKSPACE.length + 1);
}

function toPath(names: readonly string[]): WorkspacePath {
  checked(names);
  return {
    folders: names.slice(0, -1),
    name: names.at(-1) as string,
    absolute: absolutePath(names),
  };
}

function checked<T extends readonly string[]>(names: T): T {
  const long = names.find((one) => Buffer.byteLength(one) > NAME_BYTES_MAX);
  if (long !== undefined) throw invalidParam('path', `has a name of over ${NAME_BYTES_MAX} bytes`);
  if (names.length > DEPTH_MAX) throw invalidParam('path', `has over ${DEPTH_MAX} names`);
  return names;
}
