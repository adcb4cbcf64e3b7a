import { Textarea, TextInput } from '@mantine/core';
import { useInputState } from '@mantine/hooks';
import { useEffect } from 'react';
import { OneCall, type TypeProps } from './model-trial.tsx';

export default function Speech({ model }: TypeProps) {
  const [input, setInput] = useInputState('Seven three nine one');
  const [voice, setVoice] = useInputState('alloy');
  return (
    <OneCall
      action="Speak"
      type="speech"
      path="/v1/audio/speech"
      body={{ model, input, voice, response_format: 'wav' }}
      read={async (answer) => URL.createObjectURL(await answer.blob())}
      fields={
        <>
          <Textarea label="Text" value={input} onChange={setInput} required />
          <TextInput label="Voice" value={voice} onChange={setVoice} required />
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
