// Files of /workspace: browse, edit, upload (also by drag and drop), download, delete.
import { Anchor, Breadcrumbs, Button, FileButton, Group, Paper, Stack, Text, Textarea } from '@mantine/core';
import { useInputState } from '@mantine/hooks';
import type { WorkspaceEntry, WorkspaceFolder } from '@switchyard/contracts';
import { type DragEvent, useState } from 'react';
import { ApiError, call, refresh, useGet } from '../api/client.ts';
import type { TabProps } from '../pages/computer.tsx';
import { Confirm, useWork } from '../parts/action.tsx';
import { Download } from '../parts/download.tsx';
import { bytes, DataTable, When } from '../parts/show.tsx';
import { Empty, Failure, Loaded } from '../parts/state.tsx';
import { decodeText, type EditedText, encodeText } from './edited-text.ts';

const EDITABLE_BYTES_MAX = 256 * 1024;
/** A browser gives a folder as a file that cannot be read. */
const NO_FOLDERS = 'Folders cannot be dropped here. Drop their files, or one archive of them.';
const filesOf = (id: string, path: string) => `/v1/computers/${id}/files?path=${encodeURIComponent(path)}`;
const join = (folder: string, name: string) => (folder === '' ? name : `${folder}/${name}`);

interface Edited extends EditedText {
  readonly path: string;
  /** Of the file when it was opened: saving replaces only that version. */
  readonly etag: string;
}

export default function Workspace({ id, shown }: TabProps & { readonly shown: boolean }) {
  const [path, setPath] = useState('');
  const [editing, setEditing] = useState<Edited | null>(null);
  const [dragging, setDragging] = useState(false);
  const folder = useGet<WorkspaceFolder>(shown ? filesOf(id, path) : null);
  const work = useWork();
  const changed = () => refresh(`/v1/computers/${id}/files`);
  const send = (files: readonly File[]) =>
    void work.run(async () => {
      try {
        for (const file of files)
          await call(filesOf(id, join(path, file.name)), { method: 'PUT', body: file });
      } finally {
        await changed();
      }
    });
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setDragging(false);
    const { items, files } = event.dataTransfer;
    const hasFolder = [...items].some((item) => item.webkitGetAsEntry()?.isDirectory);
    if (hasFolder) void work.run(() => Promise.reject(new Error(NO_FOLDERS)));
    else send([...files]);
  };
  const edit = (file: string) =>
    void work.run(async () => {
      const answer = await call(filesOf(id, file));
      const etag = answer.headers.get('etag') as string;
      setEditing({ path: file, etag, ...decodeText(await answer.arrayBuffer()) });
    });
  if (editing) return <Editor id={id} {...editing} onChanged={changed} onClose={() => setEditing(null)} />;
  return (
    <Stack
      gap="sm"
      className="drop"
      data-dragging={dragging || undefined}
      onDragOver={(event) => {
        event.preventDefault();
        setDragging(true);
      }}
      onDragLeave={() => setDragging(false)}
      onDrop={drop}
    >
      <Group justify="space-between">
        <Path path={path} onChange={setPath} />
        <FileButton onChange={send} multiple>
          {(props) => (
            <Button {...props} size="compact-md" loading={work.busy}>
              Upload here
            </Button>
          )}
        </FileButton>
      </Group>
      {work.error && <Failure error={work.error} />}
      <Loaded of={folder}>
        {({ entries, has_more }) =>
          entries.length === 0 ? (
            <Empty title="This folder is empty">Drop files here, or upload some.</Empty>
          ) : (
            <>
              <Entries
                id={id}
                folder={path}
                entries={entries}
                onOpen={setPath}
                onEdit={edit}
                onChanged={changed}
              />
              <Text size="xs" c="dimmed">
                Drop files here to upload them into this folder.
              </Text>
              {has_more && <Text size="sm">Some entries are not shown.</Text>}
            </>
          )
        }
      </Loaded>
    </Stack>
  );
}

function Path({ path, onChange }: { path: string; onChange: (path: string) => void }) {
  const parts = path === '' ? [] : path.split('/');
  return (
    <Breadcrumbs>
      {['/workspace', ...parts].map((name, at) => (
        <Anchor
          key={parts.slice(0, at).join('/')}
          component="button"
          size="sm"
          underline="always"
          onClick={() => onChange(parts.slice(0, at).join('/'))}
        >
          {name}
        </Anchor>
      ))}
    </Breadcrumbs>
  );
}

interface EntriesProps extends TabProps {
  readonly folder: string;
  readonly entries: readonly WorkspaceEntry[];
  readonly onOpen: (path: string) => void;
  readonly onEdit: (path: string) => void;
  readonly onChanged: () => Promise<void>;
}

function Entries({ id, folder, entries, onOpen, onEdit, onChanged }: EntriesProps) {
  return (
    <DataTable
      label="Files"
      rows={entries}
      idOf={({ name }) => name}
      columns={[
        {
          title: 'Name',
          show: ({ name, type }) =>
            type === 'folder' ? (
              <Anchor
                component="button"
                size="sm"
                underline="always"
                onClick={() => onOpen(join(folder, name))}
              >
                {name}/
              </Anchor>
            ) : (
              name
            ),
        },
        {
          title: 'Size',
          number: true,
          show: (entry) => (entry.type === 'file' ? bytes(entry.bytes) : entry.type),
        },
        { title: 'Changed', show: ({ modified_at }) => <When at={modified_at} /> },
        {
          title: 'Actions',
          show: (entry) => (
            <Group gap="xs" wrap="nowrap">
              {entry.type === 'file' && entry.bytes <= EDITABLE_BYTES_MAX && (
                <Button size="compact-sm" variant="default" onClick={() => onEdit(join(folder, entry.name))}>
                  Edit
                </Button>
              )}
              {entry.type === 'file' && (
                <Download path={filesOf(id, join(folder, entry.name))} name={entry.name}>
                  Download
                </Download>
              )}
              <Confirm
                label="Delete"
                question={`${entry.name} is deleted${entry.type === 'folder' ? ' with its contents' : ''}.`}
                work={async () => {
                  await call(`${filesOf(id, join(folder, entry.name))}&recursive=true`, { method: 'DELETE' });
                  await onChanged();
                }}
              />
            </Group>
          ),
        },
      ]}
    />
  );
}

interface EditorProps extends TabProps, Edited {
  readonly onChanged: () => Promise<void>;
  readonly onClose: () => void;
}

function Editor({ id, path, etag, text, lineEnd, onChanged, onClose }: EditorProps) {
  const [content, setContent] = useInputState(text);
  const work = useWork();
  const save = async () => {
    const body = new Blob([encodeText({ text: content, lineEnd })]);
    const isSaved = await work.run(async () => {
      await call(filesOf(id, path), { method: 'PUT', body, headers: { 'if-match': etag } }).catch(toConflict);
      await onChanged();
    });
    if (isSaved) onClose();
  };
  return (
    <Paper withBorder p="md">
      <Stack gap="sm">
        <Textarea
          label={`/workspace/${path}`}
          value={content}
          onChange={setContent}
          autosize
          minRows={8}
          maxRows={30}
          styles={{ input: { fontFamily: 'monospace' } }}
        />
        {work.error && <Failure error={work.error} />}
        <Group>
          <Button loading={work.busy} onClick={() => void save()}>
            Save
          </Button>
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
        </Group>
      </Stack>
    </Paper>
  );
}

function toConflict(error: unknown): never {
  if (!(error instanceof ApiError) || error.code !== 'precondition_failed') throw error;
  throw new Error('The file has changed since you opened it. Copy your text, and open the file again.', {
    cause: error,
  });
}
