// Embeddings compared: how alike each pair of texts is.
import { Textarea } from '@mantine/core';
import { useInputState } from '@mantine/hooks';
import { DataTable } from '../parts/show.tsx';
import { OneCall, type TypeProps } from './model-trial.tsx';

interface Compared {
  readonly texts: readonly string[];
  readonly data: readonly { embedding: readonly number[] }[];
}

export default function Embedding({ model }: TypeProps) {
  const [text, setText] = useInputState('heavy rain\na strong wind\nrenting a computer');
  const input = text.split('\n').filter((line) => line.trim() !== '');
  return (
    <OneCall
      action="Compare"
      type="embedding"
      path="/v1/embeddings"
      body={{ model, input }}
      disabled={input.length === 0}
      read={async (answer): Promise<Compared> => ({ ...(await answer.json()), texts: input })}
      fields={<Textarea label="Texts, one a line" value={text} onChange={setText} autosize minRows={3} />}
    >
      {(compared) => <Similarities {...compared} />}
    </OneCall>
  );
}

function Similarities({ texts, data }: Compared) {
  const vectorOf = (at: number) => data[at]?.embedding ?? [];
  return (
    <DataTable
      label="Similarity of each pair of texts"
      rows={texts.map((text, at) => ({ text, at }))}
      idOf={({ at }) => String(at)}
      columns={[
        { title: 'Text', show: ({ text }) => text },
        ...texts.map((other, column) => ({
          title: `${column + 1}. ${other.slice(0, 24)}`,
          number: true as const,
          show: ({ at }: { at: number }) => cosine(vectorOf(at), vectorOf(column)).toFixed(3),
        })),
      ]}
    />
  );
}

function cosine(one: readonly number[], other: readonly number[]): number {
  const dot = (a: readonly number[], b: readonly number[]) =>
    a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0);
  return dot(one, other) / Math.sqrt(dot(one, one) * dot(other, other));
}
