import { Image, SimpleGrid, Stack, Textarea, TextInput } from '@mantine/core';
import { useState } from 'react';
import { call } from '../api/client.ts';
import { Cost, costOf, ModelChoice, TryIt, type TypeProps, useRun } from './try-it.tsx';

interface Drawn {
  readonly images: readonly string[];
  readonly cost: string | null;
}

export default function DrawImage({ models }: TypeProps) {
  const [model, setModel] = useState(models[0]?.id ?? '');
  const [prompt, setPrompt] = useState('two red boats on the sea');
  const [size, setSize] = useState('512x512');
  const run = useRun<Drawn>();
  const path = '/v1/images/generations';
  const body = { model, prompt, ...(size === '' ? {} : { size }) };
  const draw = () =>
    run.start(async (signal) => {
      const answer = await call(path, { body, signal });
      const { data } = (await answer.json()) as { data: { b64_json: string }[] };
      return { images: data.map((one) => one.b64_json), cost: costOf(answer) };
    });
  return (
    <TryIt
      run={run}
      action="Draw"
      onRun={draw}
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
          <TextInput
            label="Size"
            value={size}
            onChange={(event) => setSize(event.currentTarget.value)}
            description="Width x height; empty: as the model likes it"
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
                alt={`${prompt}, ${at + 1}`}
                radius="md"
              />
            ))}
          </SimpleGrid>
          <Cost of={run.result.cost} />
        </Stack>
      )}
    </TryIt>
  );
}

/** By the first bytes, in base64. */
function mediaTypeOf(image: string): string {
  if (image.startsWith('/9j/')) return 'image/jpeg';
  if (image.startsWith('UklGR')) return 'image/webp';
  return image.startsWith('PHN2Zy') || image.startsWith('PD94') ? 'image/svg+xml' : 'image/png';
}
