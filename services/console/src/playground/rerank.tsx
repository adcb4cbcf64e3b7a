import { Textarea, TextInput } from '@mantine/core';
import { useInputState } from '@mantine/hooks';
import type { rerankResult } from '@switchyard/contracts';
import { DataTable } from '../parts/show.tsx';
import { OneCall, type TypeProps } from './model-trial.tsx';

type Ranked = (typeof rerankResult)['_output'] & { readonly documents: readonly string[] };

export default function Rerank({ model }: TypeProps) {
  const [query, setQuery] = useInputState('renting a computer');
  const [text, setText] = useInputState(
    'Bread is baked from flour.\nComputers are rented by the minute.\nIt rains.',
  );
  const documents = text.split('\n').filter((line) => line.trim() !== '');
  return (
    <OneCall
      action="Rank"
      type="rerank"
      path="/v1/rerank"
      body={{ model, query, documents }}
      disabled={documents.length === 0}
      read={async (answer): Promise<Ranked> => ({ ...(await answer.json()), documents })}
      fields={
        <>
          <TextInput label="Query" value={query} onChange={setQuery} required />
          <Textarea label="Documents, one a line" value={text} onChange={setText} autosize minRows={3} />
        </>
      }
    >
      {(ranked) => (
        <DataTable
          label="Documents, best first"
          rows={ranked.results}
          idOf={({ index }) => String(index)}
          columns={[
            { title: 'Document', show: ({ index }) => ranked.documents[index] },
            { title: 'Relevance', number: true, show: (row) => row.relevance_score.toFixed(4) },
          ]}
        />
      )}
    </OneCall>
  );
}
