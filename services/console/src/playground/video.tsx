// A video is a job: it is followed by its live events, and shown when it is there.
import { Badge, Group, NumberInput, Stack, Text, Textarea } from '@mantine/core';
import type { VideoObject } from '@switchyard/contracts';
import { useState } from 'react';
import { json, useGet } from '../api/client.ts';
import { Failure } from '../parts/state.tsx';
import { Cost, ModelChoice, TryIt, type TypeProps, useRun } from './try-it.tsx';

export default function FilmVideo({ models }: TypeProps) {
  const [model, setModel] = useState(models[0]?.id ?? '');
  const [prompt, setPrompt] = useState('a red boat on the sea');
  const [duration, setDuration] = useState<number | string>(1);
  const run = useRun<VideoObject>();
  const path = '/v1/videos/generations';
  const body = { model, prompt, duration: Number(duration) };
  return (
    <TryIt
      run={run}
      action="Film"
      onRun={() => run.start((signal) => json<VideoObject>(path, { body, signal }))}
      path={path}
      body={body}
      fields={
        <>
          <ModelChoice models={models} value={model} onChange={setModel} />
          <Textarea
            label="Prompt"
            value={prompt}
            onChange={(event) => setPrompt(event.currentTarget.value)}
            required
          />
          <NumberInput
            label="Seconds"
            value={duration}
            onChange={setDuration}
            min={1}
            max={60}
            allowDecimal={false}
          />
        </>
      }
    >
      {run.result && <Job id={run.result.id} />}
    </TryIt>
  );
}

function Job({ id }: { id: string }) {
  const { data, error } = useGet<VideoObject>(`/v1/videos/${id}`); // loaded again at its events
  if (error) return <Failure error={error} />;
  if (!data) return null;
  return (
    <Stack gap="xs">
      <Group>
        <Badge variant="light">{data.status}</Badge>
        <Cost of={data.usage?.cost} />
      </Group>
      {data.error && <Text size="sm">{data.error.message}</Text>}
      {data.videos?.map(({ url }) => (
        // biome-ignore lint/a11y/useMediaCaption: it has no speech
        <video
          key={url}
          controls
          src={new URL(url).pathname + new URL(url).search}
          style={{ maxWidth: '100%' }}
        />
      ))}
    </Stack>
  );
}
