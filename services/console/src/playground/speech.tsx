import { Textarea, TextInput } from '@mantine/core';
import { useEffect, useState } from 'react';
import { ModelChoice, OneCall, type TypeProps } from './model-trial.tsx';

export default function Speech({ models }: TypeProps) {
  const [model, setModel] = useState(models[0]?.id ?? '');
  const [input, setInput] = useState('Seven three nine one');
  const [voice, setVoice] = useState('alloy');
  return (
    <OneCall
      action="Speak"
      type="speech"
      path="/v1/audio/speech"
      body={{ model, input, voice, response_format: 'wav' }}
      read={async (answer) => URL.createObjectURL(await answer.blob())}
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
      {(url) => <Spoken url={url} text={input} />}
    </OneCall>
  );
}

function Spoken({ url, text }: { url: string; text: string }) {
  useEffect(() => () => URL.revokeObjectURL(url), [url]);
  // biome-ignore lint/a11y/useMediaCaption: the text is above
  return <audio controls src={url} aria-label={text} />;
}
