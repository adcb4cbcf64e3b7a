// Transcription: a chosen or recorded audio file as text.
import { Button, FileInput, Group, Paper, Stack, Text } from '@mantine/core';
import { useRef, useState } from 'react';
import { call } from '../api/client.ts';
import { Failure } from '../parts/state.tsx';
import { Cost, costOf, ModelChoice, ModelTrial, type TypeProps, useRun } from './model-trial.tsx';

export default function Transcription({ models }: TypeProps) {
  const [model, setModel] = useState(models[0]?.id ?? '');
  const [file, setFile] = useState<File | null>(null);
  const run = useRun<{ text: string; cost: string | null }>();
  const path = '/v1/audio/transcriptions';
  const transcribe = () =>
    run.start(async (signal) => {
      const form = new FormData();
      form.set('model', model);
      form.set('file', file as File);
      const answer = await call(path, { body: form, signal });
      return { text: ((await answer.json()) as { text: string }).text, cost: costOf(answer) };
    });
  return (
    <ModelTrial
      run={run}
      action="Transcribe"
      onRun={transcribe}
      type="transcription"
      path={path}
      body={{ model, file: `@${file?.name ?? 'speech.wav'}` }}
      disabled={file === null}
      fields={
        <>
          <ModelChoice models={models} value={model} onChange={setModel} />
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
      {run.result && (
        <Stack gap="xs">
          <Paper withBorder p="sm">
            <Text className="answer">{run.result.text}</Text>
          </Paper>
          <Cost of={run.result.cost} />
        </Stack>
      )}
    </ModelTrial>
  );
}

function Recorder({ onRecorded }: { onRecorded: (file: File) => void }) {
  const recorder = useRef<MediaRecorder | null>(null);
  const [recording, setRecording] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const start = async () => {
    try {
      const microphone = await navigator.mediaDevices.getUserMedia({ audio: true });
      const parts: Blob[] = [];
      const mediaRecorder = new MediaRecorder(microphone);
      recorder.current = mediaRecorder;
      mediaRecorder.ondataavailable = ({ data }) => parts.push(data);
      mediaRecorder.onstop = () => {
        for (const track of microphone.getTracks()) track.stop();
        const type = mediaRecorder.mimeType.split(';')[0] as string;
        onRecorded(new File(parts, `recording.${type.endsWith('mp4') ? 'm4a' : 'webm'}`, { type }));
        setRecording(false);
      };
      mediaRecorder.start();
      setError(null);
      setRecording(true);
    } catch {
      setError(new Error('There is no microphone, or this page may not use it. Choose a file instead.'));
    }
  };
  return (
    <>
      <Group>
        <Button variant="default" onClick={() => (recording ? recorder.current?.stop() : void start())}>
          {recording ? 'Stop recording' : 'Record'}
        </Button>
      </Group>
      {error && <Failure error={error} />}
    </>
  );
}
