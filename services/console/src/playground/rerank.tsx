import { Stack, Textarea, TextInput } from '@mantine/core';
import { useState } from 'react';
import { call } from '../api/client.ts';
import { DataTable } from '../parts/show.tsx';
import { Cost, costOf, ModelChoice, ModelTrial, type TypeProps, useRun } from './model-trial.tsx';

interface Ranked {
  readonly results: readonly { index: number; relevance_score: number }[];
  readonly documents: readonly string[];
  readonly cost: string | null;
}

export default function Rerank({ models }: TypeProps) {
  const [model, setModel] = useState(models[0]?.id ?? '');
  const [query, setQuery] = useState('renting a computer');
  const [text, setText] = useState(
    'Bread is baked from flour.\nComputers are rented by the minute.\nIt rains.',
  );
  const run = useRun<Ranked>();
  const path = '/v1/rerank';
  const documents = text.split('\n').filter((line) => line.trim() !== '');
  const body = { model, query, documents };
  const rank = () =>
    run.start(async (signal) => {
      const answer = await call(path, { body, signal });
      const { results } = (await answer.json()) as Pick<Ranked, 'results'>;
      return { results, documents, cost: costOf(answer) };
    });
  return (
    <ModelTrial
      run={run}
      action="Rank"
      onRun={rank}
      type="rerank"
      path={path}
      body={body}
      disabled={documents.length === 0}
      fields={
        <>
          <ModelChoice models={models} value={model} onChange={setModel} />
          <TextInput
            label="Query"
            value={query}
            onChange={(event) => setQuery(event.currentTarget.value)}
            required
          />
          <Textarea
            label="Documents, one a line"
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            autosize
            minRows={3}
          />
        </>
      }
    >
      {run.result && (
        <Stack gap="xs">
          <DataTable
            label="Documents, best first"
            rows={run.result.results}
            idOf={({ index }) => String(index)}
            columns={[
              { title: 'Document', show: ({ index }) => run.result?.documents[index] },
              { title: 'Relevance', number: true, show: (row) => row.relevance_score.toFixed(4) },
            ]}
          />
          <Cost of={run.result.cost} />
        </Stack>
      )}
    </ModelTrial>
  );
}
