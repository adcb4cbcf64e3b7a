import { Stack, Textarea, TextInput } from '@mantine/core';
import { useEffect, useState } from 'react';
import { call } from '../api/client.ts';
import { Cost, costOf, ModelChoice, ModelTrial, type TypeProps, useRun } from './model-trial.tsx';

export default function Speech({ models }: TypeProps) {
  const [model, setModel] = useState(models[0]?.id ?? '');
  const [input, setInput] = useState('Seven three nine one');
  const [voice, setVoice] = useState('alloy');
  const run = useRun<{ url: string; cost: string | null }>();
  const path = '/v1/audio/speech';
  const body = { model, input, voice, response_format: 'wav' };
  const url = run.result?.url;
  useEffect(() => (url === undefined ? undefined : () => URL.revokeObjectURL(url)), [url]);
  const speak = () =>
    run.start(async (signal) => {
      const answer = await call(path, { body, signal });
      return { url: URL.createObjectURL(await answer.blob()), cost: costOf(answer) };
    });
  return (
    <ModelTrial
      run={run}
      action="Speak"
      onRun={speak}
      type="speech"
      path={path}
      body={body}
      fields={
        <>
          <ModelChoice models={models} value={model} onChange={setModel} />
          <Textarea
            label="Text"
            value={input}
            onChange={(event) => setInput(event.currentTarget.value)}
            required
          />
          <TextInput
            label="Voice"
            value={voice}
            onChange={(event) => setVoice(event.currentTarget.value)}
            required
          />
        </>
      }
    >
      {run.result && (
        <Stack gap="xs">
          {/* biome-ignore lint/a11y/useMediaCaption: the text is above */}
          <audio controls src={run.result.url} aria-label={input} />
          <Cost of={run.result.cost} />
        </Stack>
      )}
    </ModelTrial>
  );
}
