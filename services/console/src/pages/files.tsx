// Stored files: upload with progress, download, delete, copy to a computer.
import { Button, FileButton, Group, NativeSelect, Progress, Text, TextInput } from '@mantine/core';
import { useInputState } from '@mantine/hooks';
import {
  type ComputerObject,
  FILE_BYTES_MAX,
  type FileObject,
  type FileStorage,
  LIST_LIMIT_MAX,
  WORKSPACE,
} from '@switchyard/contracts';
import { useState } from 'react';
import { call, type Post, refresh, upload, useGet } from '../api/client.ts';
import { useMay } from '../api/session.ts';
import { Confirm, Dialog, useWork, WorkForm } from '../parts/action.tsx';
import { Download } from '../parts/download.tsx';
import { bytes, DataTable, Named, When } from '../parts/show.tsx';
import { Empty, Failure, Loaded, Page } from '../parts/state.tsx';

export default function Files() {
  const files = useGet<{ data: FileObject[]; has_more: boolean; storage: FileStorage }>(
    `/v1/files?limit=${LIST_LIMIT_MAX}`,
  );
  const mayWrite = useMay('storage:write');
  return (
    <Page title="Files">
      {mayWrite && <Upload />}
      <Loaded of={files}>
        {({ data, has_more, storage }) => (
          <>
            <Text size="sm" data-testid="storage">
              {bytes(storage.bytes)} of {bytes(storage.bytes_max)} stored, {storage.files.toLocaleString()} of{' '}
              {storage.files_max.toLocaleString()} files
            </Text>
            {data.length === 0 ? (
              <Empty title="No files yet">
                Upload a file of at most {bytes(FILE_BYTES_MAX)}. Models and computers refer to files by id.
              </Empty>
            ) : (
              <FileTable rows={data} mayWrite={mayWrite} />
            )}
            {has_more && <Text size="sm">The API lists more files than this page shows.</Text>}
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Upload() {
  const [share, setShare] = useState(0);
  const work = useWork();
  const uploadFile = (file: File | null) => {
    if (!file) return;
    const form = new FormData();
    form.set('file', file);
    setShare(0);
    void work.run(async () => {
      await upload('/v1/files', form, setShare);
      await refresh('/v1/files');
    });
  };
  return (
    <>
      <Group>
        <FileButton onChange={uploadFile}>
          {(props) => (
            <Button {...props} loading={work.busy}>
              Upload a file
            </Button>
          )}
        </FileButton>
      </Group>
      {work.busy && <Progress value={share * 100} aria-label="Upload" />}
      {work.error && <Failure error={work.error} />}
    </>
  );
}

function FileTable({ rows, mayWrite }: { rows: readonly FileObject[]; mayWrite: boolean }) {
  const mayCopy = useMay('computers:write');
  return (
    <DataTable
      label="Stored files"
      rows={rows}
      idOf={({ id }) => id}
      columns={[
        {
          title: 'Name',
          wraps: true,
          show: ({ filename, id }) => <Named name={filename} id={id} />,
        },
        { title: 'Size', number: true, show: (file) => bytes(file.bytes) },
        { title: 'Type', show: ({ media_type }) => media_type },
        { title: 'Stored', show: ({ created_at_iso }) => <When at={created_at_iso} /> },
        {
          title: 'Actions',
          show: ({ id, filename }) => (
            <Group gap="xs" wrap="nowrap">
              <Download path={`/v1/files/${id}/content`} name={filename}>
                Download
              </Download>
              {mayCopy && (
                <Dialog
                  label="Copy to a computer"
                  title={`Copy ${filename} to a computer`}
                  size="compact-sm"
                  variant="default"
                >
                  {(close) => <CopyToComputer file={id} filename={filename} onClose={close} />}
                </Dialog>
              )}
              {mayWrite && (
                <Confirm
                  label="Delete"
                  question={`Delete ${filename}? Everyone in the org loses access to it.`}
                  work={async () => {
                    await call(`/v1/files/${id}`, { method: 'DELETE' });
                    await refresh('/v1/files');
                  }}
                />
              )}
            </Group>
          ),
        },
      ]}
    />
  );
}

interface CopyToComputerProps {
  readonly file: string;
  readonly filename: string;
  readonly onClose: () => void;
}

function CopyToComputer({ file, filename, onClose }: CopyToComputerProps) {
  const computers = useGet<{ data: ComputerObject[] }>('/v1/computers');
  return (
    <Loaded of={computers}>
      {({ data }) => {
        const running = data.filter(({ status }) => status === 'running');
        if (running.length === 0)
          return (
            <Empty title="No computer is running">Create or start a computer on the Computers page.</Empty>
          );
        return <CopyForm computers={running} file={file} filename={filename} onClose={onClose} />;
      }}
    </Loaded>
  );
}

function CopyForm({
  computers,
  file,
  filename,
  onClose,
}: CopyToComputerProps & { computers: readonly ComputerObject[] }) {
  const [computer, setComputer] = useInputState(computers[0]?.id ?? '');
  const [path, setPath] = useInputState(filename);
  const copy = async (post: Post) => {
    await post(`/v1/computers/${computer}/upload`, { file, path });
    onClose();
  };
  return (
    <WorkForm action="Copy" work={copy}>
      <NativeSelect
        label="Computer"
        data={computers.map(({ id, name }) => ({ value: id, label: name }))}
        value={computer}
        onChange={setComputer}
      />
      <TextInput
        label={`Path in ${WORKSPACE}`}
        description="A folder ends with a slash. Folders are created as needed."
        value={path}
        onChange={setPath}
        required
      />
    </WorkForm>
  );
}
