// Transcription: a chosen or recorded audio file as text.
import { Button, FileInput, Group, Paper, Text } from '@mantine/core';
import { useRef, useState } from 'react';
import { Failure } from '../parts/state.tsx';
import { ModelChoice, OneCall, type TypeProps } from './model-trial.tsx';

export default function Transcription({ models }: TypeProps) {
  const [model, setModel] = useState(models[0]?.id ?? '');
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
      {({ text }) => (
        <Paper withBorder p="sm">
          <Text className="answer">{text}</Text>
        </Paper>
      )}
    </OneCall>
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
