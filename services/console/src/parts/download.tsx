// A button that saves an answer of the API as a file.
import { Button, Stack } from '@mantine/core';
import { call } from '../api/client.ts';
import { useWork } from './action.tsx';
import { Failure } from './state.tsx';

/** The browser reads the file after the click. */
const KEPT_MS = 60_000;

interface DownloadProps {
  /** Of a GET. */
  readonly path: string;
  /** Name of the file. */
  readonly name: string;
  /** Label of the button. */
  readonly children: string;
}

export function Download({ path, name, children }: DownloadProps) {
  const { run, busy, error } = useWork();
  return (
    <Stack gap="xs">
      <Button
        size="compact-sm"
        variant="default"
        loading={busy}
        onClick={() => void run(() => save(path, name))}
      >
        {children}
      </Button>
      {error && <Failure error={error} />}
    </Stack>
  );
}

async function save(path: string, name: string): Promise<void> {
  const url = URL.createObjectURL(await (await call(path)).blob());
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), KEPT_MS);
}
