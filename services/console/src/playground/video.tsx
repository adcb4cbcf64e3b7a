// A video is a job: it is shown when it is ready.
import { Badge, Group, NumberInput, Stack, Text, Textarea } from '@mantine/core';
import { useInputState } from '@mantine/hooks';
import type { VideoObject } from '@switchyard/contracts';
import { useState } from 'react';
import { json, useGet } from '../api/client.ts';
import { Failure } from '../parts/state.tsx';
import { Cost, ModelTrial, type TypeProps, useRun } from './model-trial.tsx';

const PENDING_MS = 3_000;

export default function FilmVideo({ model }: TypeProps) {
  const [prompt, setPrompt] = useInputState('a red boat on the sea');
  const [duration, setDuration] = useState<number | string>(1);
  const run = useRun<VideoObject>();
  const path = '/v1/videos/generations';
  const body = { model, prompt, duration: Number(duration) };
  return (
    <ModelTrial
      run={run}
      action="Film"
      onRun={() => run.start((signal) => json<VideoObject>(path, { body, signal }))}
      type="video"
      path={path}
      body={body}
      fields={
        <>
          <Textarea label="Prompt" value={prompt} onChange={setPrompt} required />
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
    </ModelTrial>
  );
}

function Job({ id }: { id: string }) {
  // Its events reach only keys that may read usage.
  const { data, error } = useGet<VideoObject>(`/v1/videos/${id}`, {
    repeatMs: (video) => video?.status === 'pending' && PENDING_MS,
  });
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
