// Transcription: a chosen or recorded audio file as text.
import { Button, FileInput, Group, Paper, Text } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';
import { Failure } from '../parts/state.tsx';
import { OneCall, type TypeProps } from './model-trial.tsx';

export default function Transcription({ model }: TypeProps) {
  const [file, setFile] = useState<File | null>(null);
  const form = () => {
    const made = new FormData();
    made.set('model', model);
    made.set('file', file as File);
    return made;
  };
  return (
    <OneCall
      action="Transcribe"
      type="transcription"
      path="/v1/audio/transcriptions"
      body={{ model, file: `@${file?.name ?? 'speech.wav'}` }}
      form={form}
      disabled={file === null}
      read={(answer): Promise<{ text: string }> => answer.json()}
      fields={
        <>
          <FileInput
            label="Audio"
            placeholder="Choose a file"
            accept="audio/*"
            value={file}
            onChange={setFile}
            clearable
            clearButtonProps={{ 'aria-label': 'Remove the file' }}
          />
          <Recorder onRecorded={setFile} />
        </>
      }
    >
      {({ text }) => (
        <Paper withBorder p="sm">
          <Text className="answer">{text}</Text>
        </Paper>
      )}
    </OneCall>
  );
}

type Recording = 'off' | 'asked' | 'on';

function Recorder({ onRecorded }: { onRecorded: (file: File) => void }) {
  const [state, setState] = useState<Recording>('off');
  const [error, setError] = useState<Error | null>(null);
  const microphone = useRef<MediaStream | null>(null);
  const isUnmounted = useRef(false);
  /** Stopping its tracks ends the recording. */
  const stop = () => {
    for (const track of microphone.current?.getTracks() ?? []) track.stop();
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when the page is left
  useEffect(
    () => () => {
      isUnmounted.current = true;
      stop();
    },
    [],
  );
  const start = async () => {
    setState('asked');
    try {
      microphone.current = await navigator.mediaDevices.getUserMedia({ audio: true });
      if (isUnmounted.current) return stop();
      const parts: Blob[] = [];
      const recorder = new MediaRecorder(microphone.current);
      recorder.ondataavailable = ({ data }) => parts.push(data);
      recorder.onstop = () => {
        const type = recorder.mimeType.split(';')[0] as string;
        onRecorded(new File(parts, `recording.${type.endsWith('mp4') ? 'm4a' : 'webm'}`, { type }));
        setState('off');
      };
      recorder.start();
      setError(null);
      setState('on');
    } catch {
      stop();
      setState('off');
      setError(new Error('There is no microphone, or this page may not use it. Choose a file instead.'));
    }
  };
  return (
    <>
      <Group>
        <Button
          variant="default"
          disabled={state === 'asked'}
          onClick={() => (state === 'on' ? stop() : void start())}
        >
          {state === 'on' ? 'Stop recording' : 'Record'}
        </Button>
      </Group>
      {error && <Failure error={error} />}
    </>
  );
}
