import { Image, SimpleGrid, Stack, TextInput } from '@mantine/core';
import { useState } from 'react';
import { call } from '../api/client.ts';
import { Cost, costOf, ModelTrial, type TypeProps, useRun } from './model-trial.tsx';
import { PromptFields, usePrompted } from './prompt-fields.tsx';

interface Drawn {
  readonly images: readonly string[];
  readonly cost: string | null;
}

export default function DrawImage({ models }: TypeProps) {
  const [prompted, setPrompted] = usePrompted(models, 'two red boats on the sea');
  const [size, setSize] = useState('512x512');
  const run = useRun<Drawn>();
  const path = '/v1/images/generations';
  const body = { ...prompted, ...(size === '' ? {} : { size }) };
  const draw = () =>
    run.start(async (signal) => {
      const answer = await call(path, { body, signal });
      const { data } = (await answer.json()) as { data: { b64_json: string }[] };
      return { images: data.map((one) => one.b64_json), cost: costOf(answer) };
    });
  return (
    <ModelTrial
      run={run}
      action="Draw"
      onRun={draw}
      type="image"
      path={path}
      body={body}
      fields={
        <>
          <PromptFields models={models} value={prompted} onChange={setPrompted} />
          <TextInput
            label="Size"
            value={size}
            onChange={(event) => setSize(event.currentTarget.value)}
            description="Width x height; empty: the model chooses"
          />
        </>
      }
    >
      {run.result && (
        <Stack gap="xs">
          <SimpleGrid cols={{ base: 1, sm: 2 }}>
            {run.result.images.map((image, at) => (
              <Image
                key={image.slice(0, 64)}
                src={`data:${mediaTypeOf(image)};base64,${image}`}
                alt={`${prompted.prompt}, ${at + 1}`}
                radius="md"
              />
            ))}
          </SimpleGrid>
          <Cost of={run.result.cost} />
        </Stack>
      )}
    </ModelTrial>
  );
}

/** By the first bytes, in base64. */
function mediaTypeOf(image: string): string {
  if (image.startsWith('/9j/')) return 'image/jpeg';
  if (image.startsWith('UklGR')) return 'image/webp';
  return image.startsWith('PHN2Zy') || image.startsWith('PD94') ? 'image/svg+xml' : 'image/png';
}
