// One part for each type of model.
import { Tabs } from '@mantine/core';
import { MODEL_TYPES, type ModelType } from '@switchyard/contracts';
import { type ComponentType, useState } from 'react';
import { loadLater } from '../parts/load-later.ts';
import { Page } from '../parts/state.tsx';
import { type TypeProps, WithModel } from '../playground/model-trial.tsx';

const PARTS: Record<ModelType, { label: string; Part: ComponentType<TypeProps> }> = {
  language: { label: 'Chat', Part: loadLater(() => import('../playground/chat.tsx')) },
  image: { label: 'Images', Part: loadLater(() => import('../playground/image.tsx')) },
  video: { label: 'Video', Part: loadLater(() => import('../playground/video.tsx')) },
  speech: { label: 'Speech', Part: loadLater(() => import('../playground/speech.tsx')) },
  transcription: { label: 'Transcription', Part: loadLater(() => import('../playground/transcription.tsx')) },
  embedding: { label: 'Embeddings', Part: loadLater(() => import('../playground/embedding.tsx')) },
  decision: { label: 'Decisions', Part: loadLater(() => import('../playground/decision.tsx')) },
  rerank: { label: 'Rerank', Part: loadLater(() => import('../playground/rerank.tsx')) },
};
const TYPES = Object.keys(MODEL_TYPES) as ModelType[];

export default function Playground() {
  const [type, setType] = useState<ModelType>('language');
  /** They keep their input and answers while another one is shown. */
  const [opened, setOpened] = useState<readonly ModelType[]>(['language']);
  const choose = (chosen: ModelType) => {
    setType(chosen);
    setOpened((before) => [...new Set([...before, chosen])]);
  };
  return (
    <Page title="Playground">
      <Tabs
        value={type}
        onChange={(chosen) => chosen && choose(chosen as ModelType)}
        // React's Activity would end the effects, and with them the audio, of a hidden tab.
        keepMountedMode="display-none"
      >
        <Tabs.List mb="md">
          {TYPES.map((one) => (
            <Tabs.Tab key={one} value={one}>
              {PARTS[one].label}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {TYPES.map((one) => (
          <Tabs.Panel key={one} value={one} maw={820}>
            {opened.includes(one) && <WithModel type={one} Part={PARTS[one].Part} />}
          </Tabs.Panel>
        ))}
      </Tabs>
    </Page>
  );
}
