// Files in a computer's /workspace.
import type { Api } from './computers.ts';
import { answerOf, dataOf } from './errors.ts';
import type { components } from './openapi.ts';

/** Where a file was written, its length and its digest. */
export type WrittenFile = components['schemas']['WorkspaceWritten'];

export interface FolderEntry {
  name: string;
  type: 'file' | 'folder' | 'link' | 'other';
  bytes: number;
  modified_at: string;
}

interface Folder {
  entries: FolderEntry[];
  has_more: boolean;
}

export type FileContent = string | Uint8Array<ArrayBuffer> | Blob | ReadableStream<Uint8Array>;

/** Paths are absolute, or relative to /workspace. The computer must be running. */
export class ComputerFiles {
  readonly #api: Api;
  readonly #id: string;

  constructor(api: Api, id: string) {
    this.#api = api;
    this.#id = id;
  }

  /** Returns a file as text, as bytes, or as a stream. */
  read(path: string, options?: { format: 'text' }): Promise<string>;
  read(path: string, options: { format: 'bytes' }): Promise<Uint8Array>;
  read(path: string, options: { format: 'stream' }): Promise<ReadableStream<Uint8Array>>;
  async read(
    path: string,
    { format = 'text' }: { format?: 'text' | 'bytes' | 'stream' } = {},
  ): Promise<unknown> {
    const response = await this.#get(path);
    if (isFolder(response)) {
      await response.body?.cancel();
      throw Object.assign(new Error(`${path} is a folder. Use files.list.`), { code: 'EISDIR' });
    }
    if (format === 'stream') return response.body;
    const bytes = await response.arrayBuffer();
    // `response.text()` would drop a byte order mark, and writing the text back would change the file.
    return format === 'bytes'
      ? new Uint8Array(bytes)
      : new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
  }

  /** Writes a file whole, or not at all; folders are made as needed. */
  write(path: string, content: FileContent): Promise<WrittenFile> {
    return dataOf(
      this.#api.PUT('/v1/computers/{id}/files', {
        params: { path: { id: this.#id }, query: { path } },
        body: content as string,
        bodySerializer: () => content,
        headers: { 'content-type': 'application/octet-stream' },
        ...(content instanceof ReadableStream ? { duplex: 'half' } : {}),
      }),
    );
  }

  /**
   * Returns the entries of a folder, sorted by name.
   * @throws Error for a folder of over 10,000 entries: list them with a command
   */
  async list(path = ''): Promise<FolderEntry[]> {
    const response = await this.#get(path);
    if (!isFolder(response)) {
      await response.body?.cancel();
      throw new Error(`${path} is a file. Use files.read.`);
    }
    const { entries, has_more: hasMore } = (await response.json()) as Folder;
    if (hasMore) throw new Error(`${path} has over ${entries.length} entries. List them with a command.`);
    return entries;
  }

  /** Deletes a file or folder; a folder that is not empty needs `recursive`. */
  async remove(path: string, { recursive = false }: { recursive?: boolean } = {}): Promise<void> {
    const query = { path, recursive: recursive ? ('true' as const) : ('false' as const) };
    await dataOf(this.#api.DELETE('/v1/computers/{id}/files', { params: { path: { id: this.#id }, query } }));
  }

  async #get(path: string): Promise<Response> {
    const { data, response } = await answerOf(
      this.#api.GET('/v1/computers/{id}/files', {
        params: { path: { id: this.#id }, query: { path } },
        parseAs: 'stream',
      }),
    );
    // An answer of no bytes has no `data`.
    return new Response(data ?? new Blob([]).stream(), { headers: response.headers });
  }
}

/** A file is always sent as an attachment. */
function isFolder({ headers }: Response): boolean {
  return !headers.has('content-disposition');
}
