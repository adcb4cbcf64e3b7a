// Stored files: upload with progress, download, delete.
import { Button, FileButton, Group, Progress, Text } from '@mantine/core';
import { FILE_BYTES_MAX, type FileObject } from '@switchyard/contracts';
import { useState } from 'react';
import { call, refresh, upload, useGet } from '../api/client.ts';
import { useMay } from '../api/session.ts';
import { Confirm, useWork } from '../parts/action.tsx';
import { saveAs } from '../parts/save-as.ts';
import { bytes, DataTable, When } from '../parts/show.tsx';
import { Empty, Failure, Loaded, Page } from '../parts/state.tsx';

export default function Files() {
  const files = useGet<{ data: FileObject[] }>('/v1/files?limit=1000');
  const mayWrite = useMay('storage:write');
  return (
    <Page title="Files">
      {mayWrite && <Upload />}
      <Loaded of={files}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title="No file is stored">
              Upload one, of at most {bytes(FILE_BYTES_MAX)}. Models and computers can use it by its id.
            </Empty>
          ) : (
            <FileTable rows={data} mayWrite={mayWrite} />
          )
        }
      </Loaded>
    </Page>
  );
}

function Upload() {
  const [share, setShare] = useState(0);
  const work = useWork();
  const send = (file: File | null) => {
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
        <FileButton onChange={send}>
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
  return (
    <DataTable
      label="Stored files"
      rows={rows}
      idOf={({ id }) => id}
      columns={[
        { title: 'Name', show: ({ filename }) => filename },
        {
          title: 'Id',
          show: ({ id }) => (
            <Text size="xs" ff="monospace">
              {id}
            </Text>
          ),
        },
        { title: 'Size', number: true, show: (file) => bytes(file.bytes) },
        { title: 'Type', show: ({ media_type }) => media_type },
        { title: 'Stored', show: ({ created_at }) => <When at={created_at} /> },
        {
          title: 'Actions',
          show: ({ id, filename }) => (
            <Group gap="xs" wrap="nowrap">
              <Button
                size="compact-sm"
                variant="default"
                onClick={async () => saveAs(await (await call(`/v1/files/${id}/content`)).blob(), filename)}
              >
                Download
              </Button>
              {mayWrite && (
                <Confirm
                  label="Delete"
                  question={`${filename} is deleted for everyone in the org.`}
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
