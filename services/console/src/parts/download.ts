import { call } from '../api/client.ts';

/** Saves what the API answers to a GET as a file of the browser's downloads. */
export async function download(path: string, name: string): Promise<void> {
  const url = URL.createObjectURL(await (await call(path)).blob());
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
