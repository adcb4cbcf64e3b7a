// Embeddings compared: how alike each pair of texts is.
import { Stack, Textarea } from '@mantine/core';
import { useState } from 'react';
import { call } from '../api/client.ts';
import { DataTable } from '../parts/show.tsx';
import { Cost, costOf, ModelChoice, ModelTrial, type TypeProps, useRun } from './model-trial.tsx';

interface Compared {
  readonly texts: readonly string[];
  readonly vectors: readonly number[][];
  readonly cost: string | null;
}

export default function Embedding({ models }: TypeProps) {
  const [model, setModel] = useState(models[0]?.id ?? '');
  const [text, setText] = useState('heavy rain\na strong wind\nrenting a computer');
  const run = useRun<Compared>();
  const path = '/v1/embeddings';
  const input = text.split('\n').filter((line) => line.trim() !== '');
  const body = { model, input };
  const compare = () =>
    run.start(async (signal) => {
      const answer = await call(path, { body, signal });
      const { data } = (await answer.json()) as { data: { embedding: number[] }[] };
      return { texts: input, vectors: data.map(({ embedding }) => embedding), cost: costOf(answer) };
    });
  return (
    <ModelTrial
      run={run}
      action="Compare"
      onRun={compare}
      type="embedding"
      path={path}
      body={body}
      disabled={input.length === 0}
      fields={
        <>
          <ModelChoice models={models} value={model} onChange={setModel} />
          <Textarea
            label="Texts, one a line"
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            autosize
            minRows={3}
          />
        </>
      }
    >
      {run.result && <Similarities {...run.result} />}
    </ModelTrial>
  );
}

function Similarities({ texts, vectors, cost }: Compared) {
  return (
    <Stack gap="xs">
      <DataTable
        label="Similarity of each pair of texts"
        rows={texts.map((text, at) => ({ text, at }))}
        idOf={({ at }) => String(at)}
        columns={[
          { title: 'Text', show: ({ text }) => text },
          ...texts.map((other, column) => ({
            title: `${column + 1}. ${other.slice(0, 24)}`,
            number: true as const,
            show: ({ at }: { at: number }) => cosine(vectors[at] ?? [], vectors[column] ?? []).toFixed(3),
          })),
        ]}
      />
      <Cost of={cost} />
    </Stack>
  );
}

function cosine(one: readonly number[], other: readonly number[]): number {
  const dot = (a: readonly number[], b: readonly number[]) =>
    a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0);
  return dot(one, other) / Math.sqrt(dot(one, one) * dot(other, other));
}
